import type { HistoryEntry } from "../agent/entries.js";
import type { ModelCall } from "../model/model.js";
import { printable, printableLine } from "../text/printable.js";
import { boundLines, type Display, GAP, line, lines, spans } from "./display.js";
import { callHeader, moreLines, resultLines } from "./render-call.js";

export interface HistoryOptions {
  /** How many exchanges, counted from the end. */
  readonly count: number;
  /** Bounded: a look at where one is. Otherwise everything. */
  readonly bounded: boolean;
  readonly columns: number;
}

const TEXT_LINES_MAX = 12;
const LINES_MAX = 60;

/**
 * The last exchanges of a conversation: what the person said and all that came of it. Looks at no more of the history
 * than it shows.
 */
export function historyLines(history: readonly HistoryEntry[], options: HistoryOptions): Display[] {
  const shown: Display[] = [];
  const calls = new Map<string, ModelCall>();
  for (let at = startOf(history, options.count); at < history.length; at += 1) {
    const entry = history[at];
    if (entry !== undefined) shown.push(...entryLines(entry, calls, options));
  }
  if (!options.bounded || shown.length <= LINES_MAX) return shown;
  return [line("… (:history shows all of it)", "dim"), ...shown.slice(-LINES_MAX)];
}

/** Where the last `count` exchanges begin. */
function startOf(history: readonly HistoryEntry[], count: number): number {
  let left = count;
  for (let at = history.length - 1; at >= 0; at -= 1) {
    const kind = history[at]?.kind;
    if (kind !== "user" && kind !== "shell") continue;
    left -= 1;
    if (left <= 0) return at;
  }
  return 0;
}

function entryLines(entry: HistoryEntry, calls: Map<string, ModelCall>, options: HistoryOptions): Display[] {
  switch (entry.kind) {
    case "user":
      return [GAP, ...said("> ", textLines(entry.text, options))];
    case "shell":
      return [GAP, ...said("> !", textLines(entry.command, options)), ...indented(entry.output, options)];
    case "notice":
      return lines(printable(entry.text), "dim");
    case "reply":
      return replyLines(entry, calls, options);
    case "result": {
      const call = calls.get(entry.callId);
      const header = call === undefined ? [] : [callHeader(call, options.columns)];
      if (options.bounded) return [...header, ...resultLines(entry, { live: true, diffShown: true })];
      const text = entry.text === "" ? [] : indented(entry.text, options);
      return [...header, ...text, ...resultLines(entry, { live: true, diffShown: true })];
    }
    case "compaction":
      return [line("(the part before this is a summary for the model)", "dim")];
    case "error":
      return lines(printableLine(entry.message), "red");
    default:
      return [];
  }
}

function replyLines(entry: HistoryEntry<"reply">, calls: Map<string, ModelCall>, options: HistoryOptions): Display[] {
  for (const call of entry.calls) calls.set(call.id, call);
  const text = entry.text.trim();
  const shown = text === "" ? [] : textLines(text, options).map((row) => line(row));
  if (entry.cutOff !== undefined) shown.push(line(`(cut off: ${printableLine(entry.cutOff, 200)})`, "yellow"));
  return shown;
}

function said(mark: string, rows: readonly string[]): Display[] {
  return rows.map((row, index) => spans(["cyan", index === 0 ? mark : "  "], row));
}

function indented(text: string, options: HistoryOptions): Display[] {
  return textLines(text, options).map((row) => line(`  ${row}`, "dim"));
}

function textLines(text: string, options: HistoryOptions): string[] {
  return options.bounded
    ? boundLines(text, TEXT_LINES_MAX, moreLines)
    : printable(text).replace(/\n+$/, "").split("\n");
}
