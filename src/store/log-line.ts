import type { JsonObject, JsonValue } from "../json.js";
import type { Entry } from "./store.js";

/** The one format of log and snapshot that this program writes, and the newest that it reads. */
export const FORMAT = 1;

export interface LogHeader {
  readonly format: number;
  readonly id: string;
  readonly createdAt?: string;
}

/** A line of the log with what the store adds to it taken off again. */
export interface LogLine {
  readonly entry: Entry;
  /** On the last line of each write: when the write was made, see docs/format/log.md. */
  readonly stamp: number | undefined;
}

export function encodeHeader(header: LogHeader): string {
  return `${JSON.stringify(header)}\n`;
}

/** Undefined when it is no header. A newer format keeps its number, whatever else it has. */
export function toHeader(value: JsonValue): LogHeader | undefined {
  if (!isJsonObject(value) || !isFormat(value.format)) return undefined;
  if (typeof value.id !== "string") return value.format > FORMAT ? { format: value.format, id: "" } : undefined;
  const header = { format: value.format, id: value.id };
  return typeof value.createdAt === "string" ? { ...header, createdAt: value.createdAt } : header;
}

export function isFormat(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}

/** `seq` comes first in every line: so a whole record can be found again after damaged bytes. */
export function encodeEntries(entries: readonly Entry[], stamp: number): string {
  let lines = "";
  entries.forEach((entry, index) => {
    const line = encodeEntry(entry);
    lines += index === entries.length - 1 ? `${line.slice(0, -1)},"${STAMP}":${stamp}}\n` : `${line}\n`;
  });
  return lines;
}

function encodeEntry(entry: Entry): string {
  const line = JSON.stringify(entry);
  // As it is but for what is rare: another order of the fields, or one that could be taken for ours.
  if (line.startsWith('{"seq":') && !line.includes(`${STAMP}":`)) return line;
  const stored: Record<string, JsonValue | undefined> = { seq: entry.seq };
  for (const [field, value] of Object.entries(entry)) stored[toStoredField(field)] = value;
  return JSON.stringify(stored);
}

/** Undefined when the text is not JSON; `value` without `line` when it is JSON but not an entry. */
export function parseLine(text: string): { value: JsonValue; line?: LogLine } | undefined {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return { value };
  // `stamp` is the last field, and deleting the last field keeps the object small in V8.
  const stamp = isStamp(value[STAMP]) ? value[STAMP] : undefined;
  if (stamp !== undefined) delete value[STAMP];
  const object = ESCAPED_STAMP in value ? withFieldNames(value) : value;
  return isEntry(object) ? { value, line: { entry: object, stamp } } : { value };
}

/**
 * The whole record at the end of a line that does not parse: after a half-written record that the next one was glued to,
 * or after bytes that turned to NULs.
 */
export function salvageLine(text: string): LogLine | undefined {
  for (let at = text.lastIndexOf('{"seq":'); at > 0; at = text.lastIndexOf('{"seq":', at - 1)) {
    const line = parseLine(text.slice(at))?.line;
    if (line !== undefined) return line;
  }
  return undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Milliseconds that a Date can hold. */
export function isStamp(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= 8.64e15;
}

function isEntry(value: JsonObject): value is JsonObject & Entry {
  return (
    Number.isSafeInteger(value.seq) &&
    Number(value.seq) >= 0 &&
    typeof value.at === "string" &&
    typeof value.kind === "string" &&
    typeof value.turn === "number"
  );
}

const STAMP = "stamp";
const ESCAPED_STAMP = "~stamp";
const stampLike = /^~*stamp$/;

/** An entry's own field `stamp` is stored as `~stamp` (and `~stamp` as `~~stamp`, …), so that it is not taken for ours. */
function toStoredField(field: string): string {
  return stampLike.test(field) ? `~${field}` : field;
}

function withFieldNames(stored: JsonObject): JsonObject {
  const fields = Object.entries(stored).map(([field, value]): [string, JsonValue] => {
    return [stampLike.test(field) ? field.slice(1) : field, value];
  });
  return Object.fromEntries(fields);
}
