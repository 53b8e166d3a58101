import type { JsonValue } from "../json.js";

/**
 * One line of a conversation's history, as a store sees it. A store keeps every field and every kind, known or not.
 * `seq` is the entry's position in history: 0, 1, 2, … without gaps.
 */
export interface Entry {
  readonly seq: number;
  /** When it was recorded, ISO 8601 in UTC. Never used for order. */
  readonly at: string;
  readonly kind: string;
  readonly turn: number;
  readonly [field: string]: JsonValue | undefined;
}

/** The rest of a State: constant in size, whatever the length of the history. */
export interface Snapshot {
  readonly task: string;
  readonly name?: string;
  /** ISO 8601 in UTC. */
  readonly createdAt: string;
  /** How many history entries the State had when this snapshot was taken. */
  readonly historyLength: number;
  readonly [field: string]: JsonValue | undefined;
}

/** A part of a saved conversation that could not be read. Its bytes are kept. */
export interface Damage {
  /** The file, absolute. */
  readonly path: string;
  /** 1-based line in that file, when it is one line's damage. */
  readonly line?: number;
  /** In plain words, one line. */
  readonly problem: string;
}

/** What a reply that is still streaming has said so far. */
export interface Draft {
  /** The `seq` of the `request` entry that it answers. */
  readonly requestSeq: number;
  /** All of it, from the beginning of the reply. */
  readonly text: string;
}

export interface SavedRecord {
  /** In `seq` order. Entries lost to damage are missing here: a gap in `seq`. */
  readonly entries: readonly Entry[];
  /** Undefined when none was ever saved or when it is damaged (then `damage` names it). */
  readonly snapshot: Snapshot | undefined;
  readonly damage?: readonly Damage[];
  /** The last one that was written and not removed. Whether it is out of date is for the State to see. */
  readonly draft?: Draft;
}

/** One row of `list()`: small, read without reading the history. */
export interface SavedState {
  readonly id: string;
  readonly task: string;
  readonly name: string | undefined;
  /** ISO 8601 in UTC. `updatedAt` is the stamp of the last write: it orders the list. */
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly stoppedBy: string | undefined;
  readonly historyLength: number;
  /** The last one; a FileStore brings it up to date with the entries after it, and without a usable one makes it of them. */
  readonly snapshot: Snapshot | undefined;
  /** Set when the conversation cannot be read (whole); such a row is listed, hides nothing and cannot be resumed. */
  readonly problem?: string;
}

/**
 * Where States are saved. Implement `write` and `read`; `list` and `delete` when you want them. `perdure/testing` has a
 * conformance kit for your own store.
 */
export interface Store {
  /**
   * Two stores with the same key are the same store (a FileStore: its real path). Without one, a store is only the same
   * as itself.
   */
  readonly key?: string;
  /**
   * Adds entries after those already saved, then replaces the snapshot (undefined keeps the current one).
   * Durable on return. Entries whose `seq` the store already has are skipped, so a retry is harmless.
   * `create` is the first write of a new State: refuse an id you have (STATE_EXISTS); write all of it or nothing.
   */
  write(
    id: string,
    entries: readonly Entry[],
    snapshot: Snapshot | undefined,
    options?: { create?: boolean },
  ): Promise<void>;
  /** Undefined when there is no such conversation. */
  read(id: string): Promise<SavedRecord | undefined>;
  /** Most recently updated first. */
  list?(): Promise<SavedState[]>;
  delete?(id: string): Promise<void>;
  /**
   * Become the one writer of a conversation; STATE_LOCKED when another process is. Optional: a store without it leaves
   * that to its user. Held until `unlock` or the death of the process.
   */
  lock?(id: string): Promise<void>;
  unlock?(id: string): Promise<void>;
  /**
   * Keeps what a reply has said while it streams, in place of the draft before; undefined removes it. It is called several
   * times a second, also while a `write` is under way, so it must be cheap: it outlives the process, and need not outlive
   * the machine. Optional: without it what had streamed is lost with the process.
   */
  writeDraft?(id: string, draft: Draft | undefined): Promise<void>;
}
