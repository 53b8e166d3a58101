import { problemOf } from "../errors.js";
import type { Disk } from "./disk.js";
import { statePaths } from "./layout.js";
import { entriesFromEnd, readHeader, readingLog, readLog } from "./log-file.js";
import { SnapshotAdapter } from "./snapshot-adapter.js";
import type { SavedState } from "./store.js";

const AT_ONCE = 16;

/** A row and what orders it. */
export interface StampedState {
  readonly state: SavedState;
  readonly stamp: number;
}

/**
 * The rows of the list, most recently updated first. Costs a small file, a header and at most a log's last lines for each
 * conversation, however long. A conversation that cannot be read is a row that says so.
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
  try {
    const document = await new SnapshotAdapter(disk, paths.snapshot).read();
    if (document !== null) {
      row.stamp = document.stamp;
      row.snapshot = document.snapshot;
      row.historyLength = document.entries;
    }
    const complete = await readingLog(disk, paths.log, async (file) => {
      const { sizeBytes } = file.stat();
      const header = await readHeader(file, paths.log, id);
      row.createdAt = header?.createdAt;
      if (header !== undefined && sizeBytes === document?.logBytes) return true;
      for await (const { entry, stamp } of entriesFromEnd(file, sizeBytes)) {
        row.historyLength = Math.max(row.historyLength, entry.seq + 1);
        row.stamp = Math.max(row.stamp, stamp ?? 0);
        if (stamp !== undefined) return true;
      }
      return header !== undefined;
    });
    // The whole log has the last word on whether anything in it can be read.
    if (!complete) await readLog(disk, paths.log, id, { keepEntries: false });
    return toStampedState(row);
  } catch (error) {
    // Deleted meanwhile: no row.
    return exists(disk, paths.folder) ? toStampedState(row, problemOf(error)) : undefined;
  }
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
