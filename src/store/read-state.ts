import { Low } from "lowdb";
import type { Disk } from "./disk.js";
import { readDraft } from "./draft-file.js";
import type { StatePaths } from "./layout.js";
import { emptyLog, type LogAdapter } from "./log-adapter.js";
import { missing } from "./log-parser.js";
import { noSnapshot, SnapshotAdapter } from "./snapshot-adapter.js";
import type { Damage, SavedRecord } from "./store.js";
import { stateUnreadable } from "./store-errors.js";

/** Undefined when there is no such conversation. Everything that can be read, with what cannot be named. */
export async function readState(
  disk: Disk,
  paths: StatePaths,
  logAdapter: LogAdapter,
): Promise<SavedRecord | undefined> {
  if (!isStateFolder(disk, paths.folder)) return undefined;
  try {
    // The draft first: when its reply is saved meanwhile, the log has it; the other way round neither would.
    const { draft, damage: draftDamage } = await readDraft(disk, paths.draft);
    // The snapshot before the log: a log that is written to meanwhile is then never shorter than it says.
    const snapshotAdapter = new SnapshotAdapter(disk, paths.snapshot);
    const snapshot = new Low(snapshotAdapter, noSnapshot);
    await snapshot.read();
    const log = new Low(logAdapter, emptyLog);
    await log.read();

    const damage: Damage[] = [...log.data.damage];
    const seqNext = (log.data.entries.at(-1)?.seq ?? -1) + 1;
    if (snapshot.data.entries > seqNext) {
      damage.push({ path: paths.log, problem: `${missing(seqNext, snapshot.data.entries)} at its end` });
    }
    if (snapshotAdapter.damage !== undefined) damage.push(snapshotAdapter.damage);
    if (draftDamage !== undefined) damage.push(draftDamage);
    const saved = { entries: log.data.entries, snapshot: snapshot.data.snapshot };
    const record = draft === undefined ? saved : { ...saved, draft };
    return damage.length === 0 ? record : { ...record, damage };
  } catch (error) {
    // Deleted while it was being read.
    if (!isStateFolder(disk, paths.folder)) return undefined;
    throw error;
  }
}

/** @throws {PerdureError} STATE_UNREADABLE where that cannot be told */
export function isStateFolder(disk: Disk, folder: string): boolean {
  try {
    return disk.stat(folder)?.isFolder === true;
  } catch (error) {
    throw stateUnreadable(folder, error);
  }
}
