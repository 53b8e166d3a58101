import type { SessionInfo } from "../session/session.js";
import type { SavedState } from "../store/store.js";
import { printableLine } from "../text/printable.js";
import { count, type Display, line, room, spans, titleOf } from "./display.js";
import { formatWhen } from "./time.js";

/** One row of `:list`. */
export function stateLine(saved: SavedState, options: { open: boolean; columns: number; now: Date }): Display {
  const mark = options.open ? "* " : "  ";
  const id = printableLine(saved.id, 128);
  const when = formatWhen(saved.updatedAt, options.now);
  const messages = saved.snapshot?.messageCount;
  const size =
    typeof messages === "number" ? count(messages, "message") : count(saved.historyLength, "entry", "entries");
  const front = `${mark}${id}  ${when}  ${saved.problem === undefined ? `${size}  ` : ""}`;
  const width = room(options.columns, front.length + 1);
  if (saved.problem !== undefined) {
    return spans(
      ["cyan", mark],
      id,
      ["dim", `  ${when}  `],
      ["red", printableLine(`damaged: ${saved.problem}`, width)],
    );
  }
  const title = titleOf(saved.name, saved.task, width);
  return spans(["cyan", mark], id, ["dim", `  ${when}  ${size}  `], title);
}

/** Where one is, on resuming. */
export function resumedLines(info: SessionInfo, columns: number, now: Date): Display[] {
  return [
    spans(["bold", titleOf(info.name, info.task, room(columns, 1))]),
    line(
      [
        info.id,
        count(info.messageCount, "message"),
        `last change ${formatWhen(info.updatedAt, now)}`,
        `model ${printableLine(info.model, 100)}`,
        `folder ${printableLine(info.cwd)}`,
      ].join(" · "),
      "dim",
    ),
  ];
}
