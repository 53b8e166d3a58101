import type { Disk } from "./disk.js";
import { callOutputPath } from "./layout.js";
import type { TakeLock } from "./lock.js";
import { noLock } from "./no-lock.js";
import { nodeDisk } from "./node-disk.js";
import { SharedStore } from "./shared-store.js";
import { checkStateId } from "./state-id.js";
import type { Draft, Entry, SavedRecord, SavedState, Snapshot, Store } from "./store.js";

export interface FileStoreOptions {
  /** Milliseconds since 1970; the list stays in order when it jumps. */
  clock?: () => number;
  /** Another disk, for tests of faults. */
  disk?: Disk;
  /**
   * none: nothing keeps a second process from writing to the same conversation, for a disk that knows no locks. Its writes are
   * noticed before the next one of ours (STATE_CHANGED_OUTSIDE).
   */
  lock?: "kernel" | "none";
  /** Another way to lock, for a disk that is none. */
  takeLock?: TakeLock;
}

/**
 * Keeps each State in a folder of its own under `root`: a log that only grows, a small snapshot, a lock. All of it is
 * readable by its owner only. See docs/format/store.md.
 *
 * One process writes a conversation at a time: from its first `write`, `create` or `lock` on until `unlock`, or until it
 * ends, however it ends. Two FileStores for one folder are the same store.
 */
export class FileStore implements Store {
  /** The real path of its folder. */
  readonly key: string;
  private readonly shared: SharedStore;
  private readonly clock: () => number;

  /** Touches nothing: the folder is made by the first write. */
  constructor(root: string, options: FileStoreOptions = {}) {
    const disk = options.disk ?? nodeDisk;
    this.key = disk.realpath(root);
    this.clock = options.clock ?? Date.now;
    this.shared = SharedStore.of(disk, this.key, options.takeLock ?? (options.lock === "none" ? noLock : undefined));
  }

  /**
   * Adds the entries that are new, then replaces the snapshot. Durable on return: bytes and folder entries are synced.
   * After an error nothing of what was saved before is lost, and the same write can be tried again.
   *
   * @throws {PerdureError} STATE_ID_INVALID, STATE_EXISTS (with `create`), STATE_NOT_FOUND (without), STATE_LOCKED,
   *   LOCK_UNAVAILABLE, STATE_CHANGED_OUTSIDE, STATE_NEWER, STATE_DAMAGED, STATE_UNREADABLE, STATE_SEQ_GAP, and the disk's
   *   own codes (ENOSPC, EACCES, …) with the path in the message
   */
  async write(
    id: string,
    entries: readonly Entry[],
    snapshot: Snapshot | undefined,
    options: { create?: boolean } = {},
  ): Promise<void> {
    checkStateId(id);
    if (options.create === true) return this.shared.create(id, entries, snapshot, this.clock);
    if (entries.length === 0 && snapshot === undefined) return;
    return this.shared.files(id).write(entries, snapshot, this.clock);
  }

  /**
   * Everything of a conversation that can be read; `damage` names the rest. Undefined when there is none.
   *
   * @throws {PerdureError} STATE_ID_INVALID; STATE_NEWER, STATE_DAMAGED, STATE_UNREADABLE when it cannot be read at all
   */
  async read(id: string): Promise<SavedRecord | undefined> {
    checkStateId(id);
    return this.shared.files(id).read();
  }

  /** Most recently updated first. What cannot be read is a row with `problem`, and hides no other. */
  async list(): Promise<SavedState[]> {
    return (await this.shared.list()).map(({ state }) => state);
  }

  /**
   * Removes a conversation with all its files. When this returns it is gone for good; a crash on the way leaves all or
   * nothing of it in the list.
   *
   * @throws {PerdureError} STATE_ID_INVALID, STATE_NOT_FOUND, STATE_LOCKED (open in another process)
   */
  async delete(id: string): Promise<void> {
    checkStateId(id);
    return this.shared.delete(id);
  }

  /** @throws {PerdureError} STATE_ID_INVALID, STATE_NOT_FOUND, STATE_LOCKED (a StateLockedError with `owner`), LOCK_UNAVAILABLE */
  async lock(id: string): Promise<void> {
    checkStateId(id);
    return this.shared.files(id).lock();
  }

  /** After the writes that are under way. Nothing held: nothing happens. */
  async unlock(id: string): Promise<void> {
    checkStateId(id);
    return this.shared.unlock(id);
  }

  /**
   * Keeps what a reply has said while it streams, in a file of its own. An append of what is new, in place when this
   * returns but not synced.
   *
   * @throws {PerdureError} STATE_ID_INVALID, STATE_NOT_FOUND, STATE_LOCKED, LOCK_UNAVAILABLE, and the disk's own codes
   */
  async writeDraft(id: string, draft: Draft | undefined): Promise<void> {
    checkStateId(id);
    return this.shared.files(id).writeDraft(draft);
  }

  /** Where the output of a call is kept. Whatever a model calls its call, the path is inside the conversation. */
  callPath(id: string, callId: string): string {
    checkStateId(id);
    return callOutputPath(this.key, id, callId);
  }
}
