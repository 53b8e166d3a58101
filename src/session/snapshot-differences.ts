import { isDeepStrictEqual } from "node:util";
import { isMalformed, isReplayable } from "../agent/entry-check.js";
import { restore } from "../agent/restore.js";
import { snapshotOf } from "../agent/snapshot.js";
import { State } from "../agent/state.js";
import type { Entry, Snapshot } from "../store/store.js";

/** The fields of a snapshot that follow from the history. */
const FOLDED = [
  "task",
  "name",
  "stoppedBy",
  "model",
  "cwd",
  "agent",
  "updatedAt",
  "turn",
  "messageCount",
  "finished",
  "usage",
  "data",
] as const;

/**
 * What a snapshot says otherwise than the entries it covers, one text a field. Empty where nobody can tell: entries that
 * were lost, or that this version does not know, may have changed what it says.
 */
export function snapshotDifferences(id: string, entries: readonly Entry[], snapshot: Snapshot): string[] {
  const covered = entries.slice(0, snapshot.historyLength);
  if (covered.length !== snapshot.historyLength || !isWhole(covered)) return [];
  const { facts } = restore(id, { entries: covered, snapshot: undefined });
  const folded = snapshotOf(facts, snapshot.createdAt, covered.length);
  return FOLDED.flatMap((field) => {
    const [said, follows] = [snapshot[field], folded[field]];
    if (said === undefined && field !== "name" && field !== "stoppedBy") return [];
    if (field === "updatedAt" && covered.length === 0) return [];
    return isDeepStrictEqual(said, follows) ? [] : [`${field} is ${shown(said)} where it follows ${shown(follows)}`];
  });
}

/**
 * The snapshot that follows from the entries alone. Undefined when a step in them cannot be replayed: only a resume can leave
 * it out before a snapshot covers it.
 */
export function snapshotFromLog(
  id: string,
  entries: readonly Entry[],
  createdAt: string | undefined,
): Snapshot | undefined {
  if (entries.length === 0 && createdAt === undefined) return undefined;
  if (entries.some(isMalformed)) return undefined;
  const restored = restore(id, { entries, snapshot: undefined });
  const state = new State(undefined, { id }, { ...restored, closing: [], createdAt: createdAt ?? restored.createdAt });
  return state.snapshot();
}

function isWhole(entries: readonly Entry[]): boolean {
  return entries.every((entry, index) => entry.seq === index && isReplayable(entry));
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "absent";
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
