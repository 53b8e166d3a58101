import { Low } from "lowdb";
import { hasCode } from "../errors.js";
import { createState, type HalfMade, removeHidden } from "./create-state.js";
import { DraftFile } from "./draft-file.js";
import { deletedFolderPath, statePaths } from "./layout.js";
import { type HeldLock, isHeld } from "./lock.js";
import { emptyLog, LogAdapter } from "./log-adapter.js";
import { FORMAT } from "./log-line.js";
import { isStateFolder, readState } from "./read-state.js";
import { noSnapshot, SnapshotAdapter } from "./snapshot-adapter.js";
import type { Draft, Entry, SavedRecord, Snapshot } from "./store.js";
import { naming, StateLockedError, seqGap, stateChangedOutside, stateNotFound } from "./store-errors.js";
import type { StoreParts } from "./store-parts.js";

/**
 * One conversation's files, as this process has them: lock, open log, snapshot. Everything that writes goes one after
 * the other; a read does not wait.
 */
export class StateFiles {
  private readonly paths;
  private readonly logAdapter;
  private readonly log;
  private readonly snapshotAdapter;
  private readonly snapshot;
  private readonly draftFile;
  private lastInLine: Promise<unknown> = Promise.resolve();
  private halfMade: HalfMade | undefined;
  private held: HeldLock | undefined;
  private opened = false;
  /** The folder's name and what it held when it was opened are known to be on the device. */
  private isDurable = false;
  /** Read since we have the lock: from then on only we write. */
  private readLocked = false;

  constructor(
    private readonly store: StoreParts,
    private readonly id: string,
  ) {
    this.paths = statePaths(store.root, id);
    this.logAdapter = new LogAdapter(store.disk, this.paths.log, id);
    this.log = new Low(this.logAdapter, emptyLog);
    this.snapshotAdapter = new SnapshotAdapter(store.disk, this.paths.snapshot);
    this.snapshot = new Low(this.snapshotAdapter, noSnapshot);
    this.draftFile = new DraftFile(store.disk, this.paths.draft);
  }

  create(entries: readonly Entry[], snapshot: Snapshot | undefined, clock: () => number): Promise<void> {
    return this.inLine(async () => {
      const { disk } = this.store;
      // Ours, but removed from outside.
      if (this.held !== undefined && disk.stat(this.paths.folder) === undefined) await this.letGo();
      await this.undoHalfMade();
      this.held = await createState(this.store, this.id, entries, snapshot, clock, (halfMade) => {
        this.halfMade = halfMade;
      });
      this.isDurable = true;
    });
  }

  write(entries: readonly Entry[], snapshot: Snapshot | undefined, clock: () => number): Promise<void> {
    return this.inLine(async () => {
      if (this.held === undefined) await this.takeLock();
      if (!this.opened) await this.open();
      const fresh = this.notSavedYet(entries);
      if (fresh.length === 0 && snapshot === undefined) return;
      const { stamps } = this.store;
      const stamp = stamps.isOpen ? stamps.nextNow(clock) : await stamps.next(clock);
      if (fresh.length > 0) await this.append(fresh, stamp);
      else this.logAdapter.checkUnchanged();
      if (snapshot !== undefined) await this.replaceSnapshot(snapshot, stamp);
    });
  }

  async read(): Promise<SavedRecord | undefined> {
    const { held } = this;
    const record = await readState(this.store.disk, this.paths, this.logAdapter);
    this.readLocked = held !== undefined && held === this.held;
    return record;
  }

  writeDraft(draft: Draft | undefined): Promise<void> {
    return this.inLine(async () => {
      await this.takeLock();
      await (draft === undefined ? this.draftFile.remove() : this.draftFile.write(draft));
    });
  }

  lock(): Promise<void> {
    return this.inLine(() => this.takeLock());
  }

  unlock(): Promise<void> {
    return this.inLine(() => this.letGo());
  }

  /** Out of sight by one rename; then what it held is removed. */
  delete(): Promise<void> {
    return this.inLine(async () => {
      const { disk, root } = this.store;
      await this.takeLock().catch((error: unknown) => {
        if (!hasCode(error, "LOCK_NOT_A_FILE")) throw error;
      });
      const aside = deletedFolderPath(root, this.id);
      try {
        await naming(this.paths.folder, () => disk.rename(this.paths.folder, aside));
      } finally {
        await this.letGo();
      }
      await removeHidden(disk, root, aside);
    });
  }

  private inLine<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.lastInLine.then(task, task);
    this.lastInLine = turn.catch(() => undefined);
    return turn;
  }

  private async takeLock(): Promise<void> {
    if (this.held !== undefined) return;
    await this.undoHalfMade();
    const { disk, root } = this.store;
    try {
      if (!isStateFolder(disk, this.paths.folder)) throw stateNotFound(this.id, root);
      const lock = await this.store.takeLock(this.paths.lock);
      if (!isHeld(lock)) throw new StateLockedError(this.id, lock.owner);
      this.held = lock;
    } catch (error) {
      throw hasCode(error, "ENOENT", "ENOTDIR") ? stateNotFound(this.id, root) : error;
    }
  }

  private async undoHalfMade(): Promise<void> {
    await this.halfMade?.undo();
    this.halfMade = undefined;
  }

  private async letGo(): Promise<void> {
    await this.halfMade?.leave();
    this.halfMade = undefined;
    const lock = this.held;
    this.held = undefined;
    this.opened = false;
    this.isDurable = false;
    this.readLocked = false;
    this.snapshot.data = noSnapshot;
    await this.draftFile.close();
    await this.logAdapter.close();
    await lock?.release();
  }

  /** Under the lock, before the first write. */
  private async open(): Promise<void> {
    if (this.opened) return;
    const { disk, root, stamps } = this.store;
    if (disk.stat(this.paths.folder) === undefined) throw stateChangedOutside(this.id, this.paths.folder, "is gone");
    await naming(this.paths.folder, () => disk.protect(this.paths.folder));
    await this.snapshot.read();
    await this.snapshotAdapter.removeLeftovers();
    await this.logAdapter.open(this.snapshot.data, { isDurable: this.isDurable, asRead: this.readLocked });
    // Whoever made it may have died before its name was durable, and what is saved now must be.
    if (!this.isDurable) await naming(root, () => disk.syncFolder(root));
    this.isDurable = true;
    stamps.see(Math.max(this.snapshot.data.stamp, this.logAdapter.stamp));
    this.opened = true;
  }

  private notSavedYet(entries: readonly Entry[]): readonly Entry[] {
    const { seqNext } = this.logAdapter;
    const fresh = entries.filter((entry) => entry.seq >= seqNext);
    fresh.forEach((entry, index) => {
      if (entry.seq !== seqNext + index) throw seqGap(this.id, seqNext + index, entry.seq);
    });
    return fresh;
  }

  private async append(entries: readonly Entry[], stamp: number): Promise<void> {
    this.log.data = { entries, stamp, damage: [] };
    try {
      await this.log.write();
    } finally {
      this.log.data = emptyLog;
    }
  }

  private async replaceSnapshot(snapshot: Snapshot, stamp: number): Promise<void> {
    const { seqNext, sizeBytes } = this.logAdapter;
    const before = this.snapshot.data;
    this.snapshot.data = { ...before, format: FORMAT, stamp, logBytes: sizeBytes, entries: seqNext, snapshot };
    try {
      await this.snapshot.write();
    } catch (error) {
      this.snapshot.data = before;
      if (hasCode(error, "ENOENT") && this.store.disk.stat(this.paths.folder) === undefined) {
        throw stateChangedOutside(this.id, this.paths.folder, "is gone");
      }
      throw error;
    }
  }
}
