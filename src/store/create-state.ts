import path from "node:path";
import { hasCode } from "../errors.js";
import type { Disk } from "./disk.js";
import { newFolderPath, pathsIn, statePaths } from "./layout.js";
import { type HeldLock, isHeld } from "./lock.js";
import { encodeEntries, encodeHeader, FORMAT } from "./log-line.js";
import { encodeSnapshot, writeNewFile } from "./snapshot-adapter.js";
import type { Entry, Snapshot } from "./store.js";
import { diskError, naming, StateLockedError, seqGap, stateExists } from "./store-errors.js";
import type { StoreParts } from "./store-parts.js";

/**
 * Makes a conversation, all of it or nothing: everything is written and synced in a hidden folder, which then takes the
 * conversation's name. Its lock is held from before anybody can see it.
 */
export async function createState(
  { root, disk, stamps, takeLock }: StoreParts,
  id: string,
  entries: readonly Entry[],
  snapshot: Snapshot | undefined,
  clock: () => number,
): Promise<HeldLock> {
  const final = statePaths(root, id).folder;
  entries.forEach((entry, index) => {
    if (entry.seq !== index) throw seqGap(id, index, entry.seq);
  });
  await makeRoot(disk, root);
  if (disk.stat(final) !== undefined) throw stateExists(id, final);
  const stamp = await stamps.next(clock);

  const made = pathsIn(newFolderPath(root, id));
  let lock: HeldLock | undefined;
  try {
    await naming(made.folder, () => disk.makeFolder(made.folder));
    const taken = await takeLock(made.lock);
    if (!isHeld(taken)) throw new StateLockedError(id, taken.owner);
    lock = taken;
    const header =
      snapshot === undefined ? { format: FORMAT, id } : { format: FORMAT, id, createdAt: snapshot.createdAt };
    const log = Buffer.from(encodeHeader(header) + encodeEntries(entries, stamp));
    const written = [naming(made.log, () => writeNewFile(disk, made.log, log))];
    if (snapshot !== undefined) {
      const document = { format: FORMAT, stamp, logBytes: log.length, entries: entries.length, snapshot };
      written.push(naming(made.snapshot, () => writeNewFile(disk, made.snapshot, encodeSnapshot(document))));
    }
    await settleAll(written);
    await naming(made.folder, () => disk.syncFolder(made.folder));
    await show(disk, made.folder, final, root, id);
  } catch (error) {
    await lock?.release();
    await disk.remove(made.folder).catch(() => undefined);
    throw error;
  }
  return lock;
}

/** The store's folder and those above it, each durable in its parent. */
export async function makeRoot(disk: Disk, folder: string): Promise<void> {
  if (disk.stat(folder)?.isFolder === true) return;
  const parent = path.dirname(folder);
  if (parent !== folder) await makeRoot(disk, parent);
  await naming(folder, async () => {
    await disk.makeFolder(folder).catch((error: unknown) => {
      if (!hasCode(error, "EEXIST") || disk.stat(folder)?.isFolder !== true) throw error;
    });
    await disk.syncFolder(parent);
  });
}

async function show(disk: Disk, made: string, final: string, root: string, id: string): Promise<void> {
  try {
    await disk.rename(made, final);
  } catch (error) {
    throw hasCode(error, "EEXIST", "ENOTEMPTY", "ENOTDIR") ? stateExists(id, final) : diskError(error, final);
  }
  try {
    await disk.syncFolder(root);
  } catch (error) {
    // Not durable, so not made: back into hiding, and a retry starts anew.
    await disk.rename(final, made).catch(() => undefined);
    throw diskError(error, root);
  }
}

/** Waits for all, so that nothing is written any more when the folder is removed; then rejects as the first did. */
async function settleAll(tasks: Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(tasks)) {
    if (result.status === "rejected") throw result.reason;
  }
}
