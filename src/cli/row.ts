import { PerdureError } from "../errors.js";
import type { SavedState, Store } from "../store/store.js";
import { printableLine } from "../text/printable.js";

/** All of a store's rows, most recently updated first. */
export async function savedStates(store: Store): Promise<SavedState[]> {
  if (store.list !== undefined) return store.list();
  throw new PerdureError({
    code: "STORE_WITHOUT_LIST",
    problem: "this store does not list its conversations",
    fix: "use a store that has `list`, as a FileStore has",
  });
}

/** What a person knows a conversation by: its name, else how it began. One line. */
export function rowTitle(row: SavedState, widthMax: number): string {
  if (row.problem !== undefined) return printableLine(`damaged: ${row.problem}`, widthMax);
  return printableLine(row.name ?? row.task, widthMax) || "(no text)";
}

/** How many messages the person sent, as far as the snapshot tells. */
export function messageCount(row: SavedState): number | undefined {
  const { snapshot } = row;
  return [snapshot?.messageCount, snapshot?.turn].find((count) => typeof count === "number");
}

/** All of a row but the snapshot, for programs: undefined values are null, so every row has the same fields. */
export function rowJson({ snapshot: _, problem, ...row }: SavedState): Record<string, string | number | null> {
  return {
    ...row,
    name: row.name ?? null,
    stoppedBy: row.stoppedBy ?? null,
    ...(problem === undefined ? {} : { problem }),
  };
}

/** A stamp in local time, to the minute: `2026-11-29 14:50`. */
export function dateTime(iso: string | undefined): string {
  const date = new Date(iso ?? "");
  if (Number.isNaN(date.getTime())) return "-";
  const two = (part: number) => String(part).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
