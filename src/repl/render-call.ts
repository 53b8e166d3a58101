import type { ModelCall } from "../model/model.js";
import type { SessionEvent } from "../session/session.js";
import { printable, printableLine } from "../text/printable.js";
import { boundLine, boundLines, count, type Display, line, room, spans } from "./display.js";
import type { Style } from "./style.js";
import { formatDuration } from "./time.js";

export type CallResult = Extract<SessionEvent, { type: "call_result" }>["result"];

const OUTPUT_HEAD_LINES = 15;
const OUTPUT_TAIL_LINES = 5;
const DIFF_LINES_MAX = 40;
const ERROR_LINES_MAX = 8;
const PENDING_CHARS_MAX = 4096;

/** The one field of an input that says what a call is about, as a person would; else the whole input. */
export function callSubject(call: ModelCall): string {
  const { input } = call;
  if (typeof input === "object" && input !== null && !Array.isArray(input)) {
    for (const field of ["command", "path", "file", "pattern", "query", "url"]) {
      const value = input[field];
      if (typeof value === "string") return value;
    }
    if (Object.keys(input).length === 0) return "";
  }
  return JSON.stringify(input) ?? "";
}

/** `● bash ls -la`, in one row. */
export function callHeader(call: ModelCall, columns: number): Display {
  const name = printableLine(call.name, room(columns, 3));
  const subject = printableLine(callSubject(call), room(columns, name.length + 4));
  return spans(["cyan", "● "], ["bold", name], ["dim", subject === "" ? "" : ` ${subject}`]);
}

/** A call's live output: the head as it comes, then a count, and the tail at the end. */
export class CallOutput {
  #pending = "";
  #shown = 0;
  #hidden = 0;
  #tail: string[] = [];
  readonly #clean: (chunk: string) => string;

  constructor(clean: (chunk: string) => string) {
    this.#clean = clean;
  }

  get isEmpty(): boolean {
    return this.#shown === 0 && this.#pending === "";
  }

  push(chunk: string): Display[] {
    const parts = (this.#pending + this.#clean(chunk)).split("\n");
    this.#pending = parts.pop() ?? "";
    // A line without an end must not grow without one.
    if (this.#pending.length > PENDING_CHARS_MAX) parts.push(this.#pending);
    if (this.#pending.length > PENDING_CHARS_MAX) this.#pending = "";
    return parts.flatMap((part) => this.#line(part));
  }

  end(): Display[] {
    const shown = this.#pending === "" ? [] : this.#line(this.#pending);
    this.#pending = "";
    const hidden = this.#hidden - this.#tail.length;
    if (hidden > 0) {
      shown.push(line(`  … (${count(hidden, "more line")}; the whole output is in the conversation)`, "dim"));
    }
    shown.push(...this.#tail.map(outputLine));
    this.#tail = [];
    this.#hidden = 0;
    return shown;
  }

  #line(text: string): Display[] {
    if (this.#shown < OUTPUT_HEAD_LINES) {
      this.#shown += 1;
      return [outputLine(text)];
    }
    this.#hidden += 1;
    this.#tail.push(boundLine(text));
    if (this.#tail.length > OUTPUT_TAIL_LINES) this.#tail.shift();
    return [];
  }
}

function outputLine(text: string): Display {
  return line(`  ${boundLine(text)}`, "dim");
}

const OUTCOMES: Record<string, readonly [style: Style, mark: string, words: string]> = {
  ok: ["green", "✓", ""],
  error: ["red", "✗", "failed"],
  refused: ["yellow", "✗", "not allowed"],
  interrupted: ["yellow", "✗", "interrupted"],
  aborted: ["yellow", "✗", "ended with the program"],
  unknown: ["yellow", "?", "may or may not have run"],
  not_run: ["yellow", "–", "did not run"],
};

/** The closing line of a call, `✓ 0.2 s`, with what its output does not say already. */
export function resultLines(result: CallResult, options: { live: boolean; diffShown: boolean }): Display[] {
  const [style, mark, words] = OUTCOMES[result.outcome] ??
    OUTCOMES[result.isError ? "error" : "ok"] ?? ["dim", "·", ""];
  const duration = result.durationMs === undefined ? "" : formatDuration(result.durationMs);
  const shown: Display[] = [];
  let note = words;
  if (result.outcome === "ok" && !options.live) {
    if (isDiff(result.text)) {
      if (options.diffShown) note = printableLine(result.text.split("\n")[0] ?? "", 80);
      else shown.push(...diffLines(result.text));
    } else {
      note = summaryOf(result.text);
    }
  } else if (result.outcome === "error") {
    const all = printable(result.text).trimEnd().split("\n");
    // What was printed stands above; the reason of a command's failure is at the end of its text.
    if (options.live) note = printableLine(all.at(-1) ?? "", 200);
    else shown.push(...boundLines(result.text, ERROR_LINES_MAX, moreLines).map((text) => line(`  ${text}`, "red")));
  }
  const parts = [note, duration].filter((part) => part !== "").join(" · ");
  shown.push(spans("  ", [style, mark], ["dim", parts === "" ? "" : ` ${parts}`]));
  return shown;
}

function summaryOf(text: string): string {
  const shown = printable(text).trim();
  if (shown === "") return "";
  const breaks = shown.split("\n").length;
  return breaks > 1 ? count(breaks, "line") : printableLine(shown, 60);
}

/** `@@` lines, or a head of two `---`, `+++` lines. */
function isDiff(text: string): boolean {
  return /^@@ .*@@/m.test(text) || /^--- .*\n\+\+\+ /m.test(text);
}

export function diffLines(text: string, linesMax: number = DIFF_LINES_MAX): Display[] {
  return boundLines(text, linesMax, moreLines).map((row) => line(`  ${row}`, diffStyle(row)));
}

export function diffStyle(row: string): Style | undefined {
  if (row.startsWith("+++") || row.startsWith("---")) return "dim";
  if (row.startsWith("+")) return "green";
  if (row.startsWith("-")) return "red";
  return row.startsWith("@@") ? "cyan" : "dim";
}

export function moreLines(hidden: number): string {
  return `… (${count(hidden, "more line")})`;
}
