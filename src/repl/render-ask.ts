import type { SessionEvent } from "../session/session.js";
import { printable, printableLine } from "../text/printable.js";
import { boundLine, type Display, GAP, line, room, spans } from "./display.js";
import { callSubject, diffStyle, moreLines } from "./render-call.js";

export type Ask = Extract<SessionEvent, { type: "ask" }>;

const SUBJECT_LINES_MAX = 60;
const SUBJECT_CHARS_MAX = 4000;

/** What a person decides on. Control characters are shown, not removed: nothing may hide in it. */
export function askLines(ask: Ask, columns: number, options: { whole?: boolean } = {}): Display[] {
  const action = ask.access?.action;
  const wants = action === "run" ? "wants to run" : action === "write" ? "wants to change" : "wants to read";
  const name = printableLine(ask.call.name, 80);
  const where = action !== undefined && action !== "run" && ask.access?.inside === false;
  const shown = subjectRows(ask);
  const whole = options.whole === true;
  const isDiff = action === "write" && shown.length > 1;
  return [
    GAP,
    spans(["yellow", "? "], ["bold", name], ask.access === undefined ? " wants to run" : ` ${wants}`, [
      "yellow",
      where ? " (outside the working folder)" : "",
    ]),
    ...(whole ? shown : headAndTail(shown)).map((row) =>
      line(`  ${whole ? row : boundLine(row, SUBJECT_CHARS_MAX)}`, isDiff ? diffStyle(row) : undefined),
    ),
    ...(columns < 20 ? [] : [line("  y, a, or n; after n you may say why, for the model", "dim")]),
  ];
}

export function askPrompt(ask: Ask, columns: number): string {
  const always = printableLine(ask.always, room(columns, 4)).replace(/ in this conversation$/, "");
  const means = always === "" ? "" : ` (${always})`;
  const view = isShortened(ask) ? ", [v]iew all of it" : "";
  return `Allow? [y]es once, [a]lways in this conversation${means}, [n]o${view} > `;
}

/** Whether the question shows less than would run: then the person can have the whole before deciding. */
export function isShortened(ask: Ask): boolean {
  const rows = subjectRows(ask);
  return rows.length > SUBJECT_LINES_MAX || rows.some((row) => boundLine(row, SUBJECT_CHARS_MAX) !== row);
}

function subjectRows(ask: Ask): string[] {
  const subject = ask.access?.subject ?? callSubject(ask.call);
  return printable(subject, { controls: "show" }).replace(/\n+$/, "").split("\n");
}

function headAndTail(rows: readonly string[]): readonly string[] {
  if (rows.length <= SUBJECT_LINES_MAX) return rows;
  const tail = SUBJECT_LINES_MAX / 4;
  return [...rows.slice(0, SUBJECT_LINES_MAX - tail), moreLines(rows.length - SUBJECT_LINES_MAX), ...rows.slice(-tail)];
}
