import { problemOf } from "../errors.js";
import type { Disk } from "./disk.js";
import { statePaths } from "./layout.js";
import { readHeader, readingLog, readLog, readLogAfter } from "./log-file.js";
import { RowFacts } from "./row-facts.js";
import { SnapshotAdapter } from "./snapshot-adapter.js";
import type { Entry, SavedState } from "./store.js";

const AT_ONCE = 16;

/** A row and what orders it. */
export interface StampedState {
  readonly state: SavedState;
  readonly stamp: number;
}

/**
 * The rows of the list, most recently updated first. Costs a small file, a header and what the log got since the last
 * snapshot for each conversation, however long; where the snapshot is damaged, the log is looked through instead. A
 * conversation that cannot be read is a row that says so.
 */
export async function listStates(disk: Disk, root: string, ids: readonly string[]): Promise<StampedState[]> {
  const rows: StampedState[] = [];
  const waiting = ids.values();
  const work = async () => {
    for (const id of waiting) {
      const row = await rowOf(disk, root, id);
      if (row !== undefined) rows.push(row);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return rows.sort((a, b) => b.stamp - a.stamp || (a.state.id < b.state.id ? -1 : 1));
}

async function rowOf(disk: Disk, root: string, id: string): Promise<StampedState | undefined> {
  const paths = statePaths(root, id);
  const row: Row = { id, stamp: 0, createdAt: undefined, historyLength: 0, snapshot: undefined };
  let problem: string | undefined;
  try {
    const document = await new SnapshotAdapter(disk, paths.snapshot).read().catch((error: unknown) => {
      problem = problemOf(error);
      return null;
    });
    if (document !== null) {
      row.stamp = document.stamp;
      row.snapshot = document.snapshot;
      row.historyLength = document.entries;
    }
    const covered = document?.snapshot?.historyLength ?? 0;
    const isWhole = await readingLog(disk, paths.log, async (file) => {
      const header = await readHeader(file, paths.log, id);
      row.createdAt = header?.createdAt;
      if (header === undefined || document === null || covered < document.entries) return false;
      if (file.stat().sizeBytes === document.logBytes) return true;
      const facts = new RowFacts(document.snapshot);
      const from = { bytes: document.logBytes, entries: document.entries };
      const after = await readLogAfter(file, paths.log, from, facts.add);
      if (after === undefined) return false;
      addLog(row, facts, after);
      return true;
    });
    // Without a snapshot that fits, the whole log has the word, also on whether anything in it can be read.
    if (!isWhole) {
      const facts = new RowFacts(document?.snapshot);
      const onEntry = (entry: Entry) => {
        if (entry.seq >= covered) facts.add(entry);
      };
      addLog(row, facts, await readLog(disk, paths.log, id, { onEntry }));
    }
    return exists(disk, paths.folder) ? toStampedState(row, problem) : undefined;
  } catch (error) {
    // Deleted meanwhile: no row.
    return exists(disk, paths.folder) ? toStampedState(row, problem ?? problemOf(error)) : undefined;
  }
}

function addLog(row: Row, facts: RowFacts, log: { seqNext: number; stamp: number }): void {
  row.historyLength = log.seqNext;
  row.stamp = Math.max(row.stamp, log.stamp);
  row.snapshot = facts.toSnapshot(row.createdAt, row.historyLength) ?? row.snapshot;
}

interface Row extends Pick<SavedState, "id" | "snapshot"> {
  stamp: number;
  createdAt: string | undefined;
  historyLength: number;
  snapshot: SavedState["snapshot"];
}

function toStampedState(row: Row, problem?: string): StampedState {
  const { id, snapshot, stamp } = row;
  const updatedAt = new Date(stamp).toISOString();
  const state: SavedState = {
    id,
    task: snapshot?.task ?? "",
    name: snapshot?.name,
    createdAt: snapshot?.createdAt ?? row.createdAt ?? updatedAt,
    updatedAt,
    stoppedBy: typeof snapshot?.stoppedBy === "string" ? snapshot.stoppedBy : undefined,
    historyLength: row.historyLength,
    snapshot,
  };
  return { stamp, state: problem === undefined ? state : { ...state, problem } };
}

function exists(disk: Disk, folder: string): boolean {
  try {
    return disk.stat(folder) !== undefined;
  } catch {
    return true;
  }
}
