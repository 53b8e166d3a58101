import type { SessionEvent } from "../session/session.js";
import { printable, printableLine } from "../text/printable.js";
import { boundLine, type Display, GAP, line, room, spans } from "./display.js";
import { callSubject, diffStyle, moreLines } from "./render-call.js";

export type Ask = Extract<SessionEvent, { type: "ask" }>;

const SUBJECT_LINES_MAX = 60;
const SUBJECT_CHARS_MAX = 4000;

/** What a person decides on. Control characters are shown, not removed: nothing may hide in it. */
export function askLines(ask: Ask, columns: number): Display[] {
  const action = ask.access?.action;
  const wants = action === "run" ? "wants to run" : action === "write" ? "wants to change" : "wants to read";
  const name = printableLine(ask.call.name, 80);
  const where = action !== undefined && action !== "run" && ask.access?.inside === false;
  const subject = ask.access?.subject ?? callSubject(ask.call);
  const shown = printable(subject, { controls: "show" }).replace(/\n+$/, "").split("\n");
  const isDiff = action === "write" && shown.length > 1;
  return [
    GAP,
    spans(["yellow", "? "], ["bold", name], ask.access === undefined ? " wants to run" : ` ${wants}`, [
      "yellow",
      where ? " (outside the working folder)" : "",
    ]),
    ...headAndTail(shown).map((row) =>
      line(`  ${boundLine(row, SUBJECT_CHARS_MAX)}`, isDiff ? diffStyle(row) : undefined),
    ),
    ...(columns < 20 ? [] : [line("  y, a, or n; after n you may say why, for the model", "dim")]),
  ];
}

export function askPrompt(ask: Ask, columns: number): string {
  const always = printableLine(ask.always, room(columns, 4)).replace(/ in this conversation$/, "");
  const means = always === "" ? "" : ` (${always})`;
  return `Allow? [y]es once, [a]lways in this conversation${means}, [n]o > `;
}

function headAndTail(rows: readonly string[]): readonly string[] {
  if (rows.length <= SUBJECT_LINES_MAX) return rows;
  const tail = SUBJECT_LINES_MAX / 4;
  return [...rows.slice(0, SUBJECT_LINES_MAX - tail), moreLines(rows.length - SUBJECT_LINES_MAX), ...rows.slice(-tail)];
}
