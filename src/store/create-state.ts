import path from "node:path";
import { hasCode } from "../errors.js";
import type { Disk } from "./disk.js";
import { newFolderPath, pathsIn, type StatePaths, stampPath, statePaths } from "./layout.js";
import { type HeldLock, isHeld } from "./lock.js";
import { encodeEntries, encodeHeader, FORMAT } from "./log-line.js";
import { encodeSnapshot, writeNewFile } from "./snapshot-adapter.js";
import type { Entry, Snapshot } from "./store.js";
import { diskError, naming, StateLockedError, seqGap, stateExists } from "./store-errors.js";
import type { StoreParts } from "./store-parts.js";

const ATTEMPTS_MAX = 5;

/** A conversation that has its name, although that could not be made durable, nor be taken back: its maker tries again. */
export class HalfMade {
  constructor(
    private readonly store: StoreParts,
    private readonly made: string,
    private readonly final: string,
    private readonly lock: HeldLock,
  ) {}

  /** Out of sight, and then out of the way as far as the disk allows. Rejects when it still has its name. */
  async undo(): Promise<void> {
    const { disk, root } = this.store;
    await naming(this.final, () => disk.rename(this.final, this.made));
    await this.lock.release();
    await removeHidden(disk, root, this.made).catch(() => undefined);
  }

  /** For a maker who gives up: undone if that is possible now, else there, whole, for whoever looks. */
  async leave(): Promise<void> {
    await this.undo().catch(() => this.lock.release());
  }
}

/**
 * Makes a conversation, all of it or nothing: everything is written and synced in a hidden folder, which then takes the
 * conversation's name. Its lock is held from before anybody can see it.
 *
 * `onHalfMade` is called when it failed and could not be undone either.
 */
export async function createState(
  store: StoreParts,
  id: string,
  entries: readonly Entry[],
  snapshot: Snapshot | undefined,
  clock: () => number,
  onHalfMade: (halfMade: HalfMade) => void,
): Promise<HeldLock> {
  const { root, disk, stamps } = store;
  const final = statePaths(root, id).folder;
  entries.forEach((entry, index) => {
    if (entry.seq !== index) throw seqGap(id, index, entry.seq);
  });
  await makeRoot(disk, root);
  if (isTaken(disk, final)) throw stateExists(id, final);
  const stamp = await stamps.next(clock);

  const { made, lock } = await makeHidden(store, id);
  try {
    await fill(disk, made, id, entries, snapshot, stamp);
    await disk.rename(made.folder, final).catch((error: unknown) => {
      throw hasCode(error, "EEXIST", "ENOTEMPTY", "ENOTDIR") ? stateExists(id, final) : diskError(error, final);
    });
  } catch (error) {
    await lock.release();
    await disk.remove(made.folder).catch(() => undefined);
    throw error;
  }
  try {
    await naming(root, () => disk.syncFolder(root));
  } catch (error) {
    // Not durable, so not made: back into hiding, and a retry starts anew.
    const halfMade = new HalfMade(store, made.folder, final, lock);
    await halfMade.undo().catch(() => onHalfMade(halfMade));
    throw error;
  }
  return lock;
}

/** A hidden folder with its lock. Again when another process took it for a dead one's before it had its lock. */
async function makeHidden(
  { disk, root, takeLock }: StoreParts,
  id: string,
): Promise<{ made: StatePaths; lock: HeldLock }> {
  for (let attempt = 1; ; attempt++) {
    const made = pathsIn(newFolderPath(root, id));
    await naming(made.folder, () => disk.makeFolder(made.folder));
    try {
      const lock = await takeLock(made.lock);
      if (isHeld(lock)) return { made, lock };
      if (attempt === ATTEMPTS_MAX) throw new StateLockedError(id, lock.owner);
    } catch (error) {
      await disk.remove(made.folder).catch(() => undefined);
      if (!hasCode(error, "ENOENT", "ENOTDIR") || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

async function fill(
  disk: Disk,
  made: StatePaths,
  id: string,
  entries: readonly Entry[],
  snapshot: Snapshot | undefined,
  stamp: number,
): Promise<void> {
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
}

/**
 * Removes what was renamed out of sight. The new name is made durable first: else a power cut could keep the old name, for
 * a folder that is half removed.
 */
export async function removeHidden(disk: Disk, root: string, hidden: string): Promise<void> {
  await naming(root, () => disk.syncFolder(root));
  await naming(hidden, () => disk.remove(hidden));
}

/** Also by what cannot be looked at. */
function isTaken(disk: Disk, path: string): boolean {
  try {
    return disk.stat(path) !== undefined;
  } catch {
    return true;
  }
}

/**
 * The store's folder and those above it, each durable in its parent: also those that somebody made who died, or whose disk
 * failed, before that. Whoever has a stamp file had made sure of it.
 */
export async function makeRoot(disk: Disk, root: string): Promise<void> {
  if (!isTaken(disk, stampPath(root))) await makeDurable(disk, root);
}

async function makeDurable(disk: Disk, folder: string): Promise<void> {
  const parent = path.dirname(folder);
  if (parent === folder) return;
  await makeDurable(disk, parent);
  const isThere = () => disk.stat(folder)?.isFolder === true;
  await naming(folder, async () => {
    const wasThere = isThere();
    if (!wasThere) {
      await disk.makeFolder(folder).catch((error: unknown) => {
        if (!hasCode(error, "EEXIST") || !isThere()) throw error;
      });
    }
    await disk.syncFolder(parent).catch((error: unknown) => {
      // What lies above our own folders is the system's.
      if (!wasThere || !hasCode(error, "EACCES", "EPERM", "EROFS")) throw error;
    });
  });
}

/** Waits for all, so that nothing is written any more when the folder is removed; then rejects as the first did. */
async function settleAll(tasks: Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(tasks)) {
    if (result.status === "rejected") throw result.reason;
  }
}
