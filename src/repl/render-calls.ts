import type { CallRow } from "../session/session.js";
import { printableLine } from "../text/printable.js";
import { type Display, room, spans } from "./display.js";
import { callSubject } from "./render-call.js";
import type { Style } from "./style.js";
import { formatDuration } from "./time.js";

const STATES: Readonly<Record<string, readonly [Style, string]>> = {
  running: ["cyan", "running"],
  ok: ["green", "finished"],
  error: ["red", "failed"],
  refused: ["yellow", "not allowed"],
  interrupted: ["yellow", "interrupted"],
  aborted: ["yellow", "ended with the chat"],
  unknown: ["yellow", "unknown"],
  not_run: ["yellow", "did not run"],
};

/** `call_6_0  running  12.0 s  bash npm test`, a row for each call. */
export function callLines(rows: readonly CallRow[], columns: number): Display[] {
  const cells = rows.map((row) => ({ row, id: printableLine(row.id, 20), state: stateOf(row) }));
  const idWidth = Math.max(...cells.map(({ id }) => id.length));
  const stateWidth = Math.max(...cells.map(({ state }) => state.text.length));
  return cells.map(({ row, id, state }) => {
    const duration = (row.durationMs === undefined ? "" : formatDuration(row.durationMs)).padStart(10);
    const subject = callSubject({ id: row.id, name: row.name, input: row.input });
    const what = printableLine(`${row.name} ${subject}`, room(columns, idWidth + stateWidth + 18));
    return spans(
      ["dim", `  ${id.padEnd(idWidth)}  `],
      [state.style, state.text.padEnd(stateWidth)],
      `${duration}  `,
      what,
    );
  });
}

function stateOf({ state, exitCode }: CallRow): { style: Style; text: string } {
  const [style, words] = STATES[state] ?? ["dim", state];
  return { style, text: typeof exitCode === "number" && exitCode !== 0 ? `${words} (exit ${exitCode})` : words };
}
