import { PerdureError } from "../errors.js";
import type { SavedState } from "../store/store.js";
import { printableLine } from "../text/printable.js";

/**
 * The conversation a reference means: its id, its name, the beginning of its id, or its name in another case, in this
 * order. Works on rows alone: no path is ever built from what was typed.
 *
 * @throws PerdureError STATE_NOT_FOUND, STATE_AMBIGUOUS (naming the candidates), STATE_DAMAGED unless `damaged` is allowed
 */
export function findState(rows: readonly SavedState[], ref: string, options: { damaged?: "allow" } = {}): SavedState {
  const ways: Array<(row: SavedState) => boolean> = [
    (row) => row.id === ref,
    (row) => row.name === ref,
    (row) => ref !== "" && row.id.startsWith(ref),
    (row) => row.name?.toLowerCase() === ref.toLowerCase(),
  ];
  for (const matches of ways) {
    const [found, ...more] = rows.filter(matches);
    if (found === undefined) continue;
    if (more.length > 0) throw ambiguous(ref, [found, ...more]);
    if (found.problem !== undefined && options.damaged !== "allow") throw damagedState(found, found.problem);
    return found;
  }
  throw new PerdureError({
    code: "STATE_NOT_FOUND",
    problem: `there is no conversation ${shown(ref)}`,
    fix: "give an id, the beginning of one, or a name; `chat list` shows them",
    example: "chat list",
  });
}

/**
 * The most recently updated conversation that can be read.
 *
 * @param rows most recently updated first, as `Store.list` gives them
 * @throws PerdureError STATE_NONE
 */
export function latestState(rows: readonly SavedState[]): SavedState {
  const row = rows.find((each) => each.problem === undefined);
  if (row !== undefined) return row;
  const damaged = rows.length === 0 ? "" : ` that can be read (${rows.length} damaged: see \`chat list\`)`;
  throw new PerdureError({
    code: "STATE_NONE",
    problem: `there is no conversation yet${damaged}`,
    fix: "start one",
    example: "chat",
  });
}

function ambiguous(ref: string, candidates: readonly SavedState[]): PerdureError {
  const shownMax = 5;
  const lines = candidates
    .slice(0, shownMax)
    .map((row) => `  ${printableLine(row.id, 128)}  ${printableLine(row.name ?? row.task, 60)}`);
  const left = candidates.length - shownMax;
  if (left > 0) lines.push(`  and ${left} more`);
  return new PerdureError({
    code: "STATE_AMBIGUOUS",
    problem: [`${shown(ref)} may be any of ${candidates.length} conversations:`, ...lines].join("\n"),
    fix: "give more of the id",
    example: `chat --resume ${printableLine(candidates[0]?.id ?? "", 128)}`,
  });
}

function damagedState(row: SavedState, problem: string): PerdureError {
  return new PerdureError({
    code: "STATE_DAMAGED",
    problem: `the conversation ${printableLine(row.id, 128)} cannot be read: ${printableLine(problem)}`,
    fix: "its files are untouched: repair or restore them, or resume another one",
    example: "chat list",
  });
}

function shown(ref: string): string {
  return `"${printableLine(ref, 160)}"`;
}
