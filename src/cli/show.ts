import type { Writable } from "node:stream";
import { PerdureError } from "../errors.js";
import type { JsonValue } from "../json.js";
import { findState } from "../session/find-state.js";
import type { Entry, SavedRecord, SavedState, Store } from "../store/store.js";
import { printable, printableLine } from "../text/printable.js";
import { jsonLine, Output } from "./output.js";
import { dateTime, rowJson, rowTitle, savedStates } from "./row.js";

export interface ShowOptions {
  readonly store: Store;
  readonly id: string;
  readonly json: boolean;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Lines of one result that are shown; `--json` has all of them. */
const RESULT_LINES_MAX = 40;

/** `chat show`: the conversation as far as it can be read, locked by nobody, changed in nothing. */
export async function runShow({ store, id, json, stdout, stderr }: ShowOptions): Promise<number> {
  const row = findState(await savedStates(store), id);
  const record = await readRecord(store, row.id);
  const out = new Output(stdout);
  if (json) {
    out.line(jsonLine({ ...rowJson(row), entries: record.entries, damage: record.damage ?? [] }));
  } else {
    showRecord(row, record, out, new Output(stderr));
  }
  await out.flush();
  return out.failure === undefined ? 0 : 1;
}

/** @throws PerdureError STATE_NOT_FOUND: deleted since the list was made */
export async function readRecord(store: Store, id: string): Promise<SavedRecord> {
  const record = await store.read(id);
  if (record === undefined) throw goneError(id);
  return record;
}

export function showRecord(row: SavedState, record: SavedRecord, out: Output, err: Output): void {
  for (const line of heading(row, record)) out.line(line);
  for (const entry of record.entries) {
    for (const line of entryLines(entry)) out.line(line);
  }
  for (const { path, problem } of record.damage ?? []) {
    err.line(printableLine(`damaged: ${path}: ${problem}`));
  }
}

function goneError(id: string): PerdureError {
  return new PerdureError({
    code: "STATE_NOT_FOUND",
    problem: `the conversation ${printableLine(id, 128)} was deleted just now`,
    fix: "show another one; `chat list` lists them",
    example: "chat list",
  });
}

function heading(row: SavedState, { snapshot }: SavedRecord): string[] {
  const facts = [
    printableLine(row.id, 128),
    `begun ${dateTime(row.createdAt)}`,
    `updated ${dateTime(row.updatedAt)}`,
    ...[snapshot?.model, snapshot?.cwd]
      .filter((fact) => typeof fact === "string")
      .map((fact) => printableLine(fact, 200)),
  ];
  return [rowTitle(row, 200), facts.join("  ")];
}

export function entryLines(entry: Entry): string[] {
  switch (entry.kind) {
    case "user":
      return ["", ...marked("> ", text(entry.text))];
    case "reply":
      return [
        ...(text(entry.text).trim() === "" ? [] : ["", ...marked("", text(entry.text))]),
        ...(entry.cutOff === undefined ? [] : [`(cut off: ${printableLine(text(entry.cutOff))})`]),
        ...calls(entry.calls),
      ];
    case "result":
      return resultLines(entry);
    case "shell":
      return ["", `! ${printableLine(text(entry.command))}`, ...shortened(text(entry.output))];
    case "notice":
      return ["", ...marked("", `[notice] ${text(entry.text)}`)];
    case "compaction":
      return ["", "[the part above was summed up for the model]", ...marked("  ", text(entry.summary))];
    case "forked":
      return ["", `[copied from ${printableLine(text(entry.from), 128)}]`];
    case "error":
      return [`[error] ${printableLine(text(entry.message))}`];
    case "finish":
      return ["", ...marked("", typeof entry.answer === "string" ? entry.answer : JSON.stringify(entry.answer))];
    default:
      return [];
  }
}

function calls(value: JsonValue | undefined): string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((call) =>
    typeof call === "object" && call !== null && !Array.isArray(call)
      ? ["", printableLine(`$ ${text(call.name)} ${JSON.stringify(call.input)}`, 400)]
      : [],
  );
}

function resultLines(entry: Entry): string[] {
  const failed = entry.outcome === "ok" ? [] : [`  (${printableLine(text(entry.outcome))})`];
  return [...failed, ...shortened(text(entry.text))];
}

function shortened(output: string): string[] {
  const lines = marked("  ", output.replace(/\n+$/, ""));
  const left = lines.length - RESULT_LINES_MAX;
  return left > 0 ? [...lines.slice(0, RESULT_LINES_MAX), `  … ${left} more lines`] : lines;
}

function marked(mark: string, value: string): string[] {
  const [first = "", ...more] = printable(value).split("\n");
  return [`${mark}${first}`, ...more.map((line) => `${" ".repeat(mark.length)}${line}`)];
}

/** A field of an entry: files may hold anything, also what a newer version wrote. */
function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
}
