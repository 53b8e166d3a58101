import type { SavedState } from "../store/store.js";
import { printableLine } from "../text/printable.js";

/** What a person knows a conversation by: its name, else how it began. One line. */
export function rowTitle(row: SavedState, widthMax: number): string {
  if (row.problem !== undefined) return printableLine(`damaged: ${row.problem}`, widthMax);
  return printableLine(row.name ?? row.task, widthMax) || "(no text)";
}
