import type { Entry } from "../store/store.js";
import type { EntryKind, HistoryEntry } from "./entries.js";

type Check = (entry: Entry) => boolean;

/**
 * What each kind must have to be replayed. Only what the replay itself needs: an entry of a newer version with more
 * fields, or with a new outcome, is still good.
 */
const checks: Record<EntryKind, Check> = {
  user: (entry) => isText(entry.text),
  notice: (entry) =>
    isText(entry.text) && (entry.skip === undefined || isRange(entry.skip, entry.seq)) && isRanges(entry.missing),
  shell: (entry) => isText(entry.command) && isText(entry.output),
  shell_started: (entry) => isText(entry.callId) && isText(entry.command),
  run_start: (entry) => isAgent(entry.agent),
  request: (entry) => isText(entry.model),
  reply: (entry) => isText(entry.text) && isCalls(entry.calls) && isOptionalText(entry.cutOff),
  call_started: (entry) => isText(entry.callId),
  result: (entry) => isText(entry.callId) && isText(entry.text),
  compaction: (entry) =>
    isText(entry.summary) && entry.summary.trim() !== "" && isPosition(entry.keepFrom) && entry.keepFrom <= entry.seq,
  trimmed: (entry) => isPosition(entry.bytesMax) && entry.bytesMax >= 256,
  data: (entry) => isObject(entry.set) && isTexts(entry.removed),
  ask: (entry) => isText(entry.prompt) && entry.answer !== undefined,
  permission: (entry) => isRule(entry.rule),
  model: (entry) => isText(entry.to),
  renamed: (entry) => isText(entry.name),
  folder: (entry) => isText(entry.cwd),
  continued: () => true,
  forked: (entry) => isText(entry.from),
  finish: (entry) => entry.answer !== undefined,
  error: (entry) => isText(entry.step) && isText(entry.message),
  run_end: (entry) => isText(entry.reason),
  missing: () => true,
};

export const kindsOfEntries: readonly string[] = Object.keys(checks);

/** A map: this is asked several times for each entry of a long history, and a kind is any text. */
const checkOf = new Map<string, Check>(Object.entries(checks));

/** True when the kind is one of ours. Others are kept and change nothing. */
export function isKnownKind(kind: string): kind is EntryKind {
  return checkOf.has(kind);
}

/**
 * True for an entry of a known kind with all the fields its kind needs. `State.history` keeps every saved entry, also
 * one that is not (a hand-edited file): check before reading its fields when that matters.
 */
export function isReplayable(entry: Entry): entry is HistoryEntry {
  return checkOf.get(entry.kind)?.(entry) === true;
}

/** A known kind with bad fields: a step that cannot be replayed. */
export function isMalformed(entry: Entry): boolean {
  return checkOf.get(entry.kind)?.(entry) === false;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
function isOptionalText(value: unknown): boolean {
  return value === undefined || isText(value);
}
function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText);
}
function isPosition(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function isRange(value: unknown, before: number): boolean {
  if (!isObject(value)) return false;
  const { from, to } = value;
  return isPosition(from) && isPosition(to) && from <= to && to < before;
}
function isRanges(value: unknown): boolean {
  return (
    value === undefined ||
    (Array.isArray(value) && value.every((range) => isObject(range) && isPosition(range.from) && isPosition(range.to)))
  );
}
function isCalls(value: unknown): boolean {
  return Array.isArray(value) && value.every((call) => isObject(call) && isText(call.id) && isText(call.name));
}
export function isAgent(value: unknown): boolean {
  return isObject(value) && ["name", "model", "systemHash"].every((key) => isText(value[key])) && isTexts(value.tools);
}
function isRule(value: unknown): boolean {
  return isObject(value) && ["tool", "where", "cwd"].every((key) => isText(value[key]));
}
