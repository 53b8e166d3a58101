import { LogAdapter } from "../../src/store/log-adapter.js";
import { StateFiles } from "../../src/store/state-files.js";
import type { Entry, Snapshot } from "../../src/store/store.js";
import { OpenFile } from "./crash-disk.js";
import { CrashFolder } from "./crash-node.js";
import type { Invariant } from "./invariants.js";

/** A bug that products of this kind had, put into the store or under it. `seed` returns what takes it out again. */
export interface SeededBug {
  readonly name: string;
  readonly seed: () => () => void;
  /** What the search finds broken by it first. */
  readonly breaks: readonly Invariant[];
}

export const seededBugs: readonly SeededBug[] = [
  {
    name: "no fsync",
    seed: () => all(replace(OpenFile.prototype, "datasync", nothing), replace(OpenFile.prototype, "sync", nothing)),
    breaks: ["acked-is-kept"],
  },
  {
    name: "no folder fsync after a rename",
    seed: () => replace(CrashFolder.prototype, "sync", () => undefined),
    breaks: ["acked-is-kept"],
  },
  {
    name: "a torn tail is cut off only when a log is opened",
    seed: () =>
      all(
        replace(LogAdapter.prototype, "cutBack" as never, nothing as never),
        replace(LogAdapter.prototype, "checkUnchanged", () => undefined),
      ),
    breaks: ["no-gap-no-repeat"],
  },
  {
    name: "a failed fsync is tried again without writing again",
    seed: seedRetriedSync,
    breaks: ["no-gap-no-repeat"],
  },
  { name: "the snapshot is written before the entries", seed: seedSnapshotFirst, breaks: ["list-agrees-with-read"] },
  {
    name: "memory is changed before the disk said yes",
    seed: seedEarlyMemory,
    breaks: ["list-agrees-with-read"],
  },
];

async function nothing(): Promise<void> {}

/** After a failed sync, cutting back and writing the same bytes again do nothing: only the sync is repeated. */
function seedRetriedSync(): () => void {
  const unsynced = new WeakSet<object>();
  const { datasync, truncate, write } = OpenFile.prototype;
  return all(
    replace(OpenFile.prototype, "datasync", async function (this: OpenFile) {
      try {
        await datasync.call(this);
        unsynced.delete(this);
      } catch (error) {
        unsynced.add(this);
        throw error;
      }
    }),
    replace(OpenFile.prototype, "truncate", async function (this: OpenFile, sizeBytes: number) {
      if (!unsynced.has(this)) await truncate.call(this, sizeBytes);
    }),
    replace(OpenFile.prototype, "write", async function (this: OpenFile, bytes: Uint8Array, position: number) {
      if (!unsynced.has(this)) await write.call(this, bytes, position);
    }),
    replace(LogAdapter.prototype, "checkUnchanged", () => undefined),
  );
}

/** What StateFiles.write does, in the wrong order. */
function seedSnapshotFirst(): () => void {
  interface Inside {
    readonly store: { stamps: { next(clock: () => number): Promise<number> } };
    readonly logAdapter: { seqNext: number; sizeBytes: number };
    readonly snapshotAdapter: { write(document: unknown): Promise<void> };
    inLine(task: () => Promise<void>): Promise<void>;
    takeLock(): Promise<void>;
    open(): Promise<void>;
    append(entries: readonly Entry[], stamp: number): Promise<void>;
  }
  async function write(this: Inside, entries: readonly Entry[], snapshot: Snapshot | undefined, clock: () => number) {
    await this.inLine(async () => {
      await this.takeLock();
      await this.open();
      const { seqNext, sizeBytes } = this.logAdapter;
      const fresh = entries.filter((entry) => entry.seq >= seqNext);
      const stamp = await this.store.stamps.next(clock);
      const document = { format: 1, stamp, logBytes: sizeBytes, entries: seqNext + fresh.length, snapshot };
      if (snapshot !== undefined) await this.snapshotAdapter.write(document);
      if (fresh.length > 0) await this.append(fresh, stamp);
    });
  }
  return replace(StateFiles.prototype, "write", write as unknown as StateFiles["write"]);
}

/** The log counts entries as saved before it writes them. */
function seedEarlyMemory(): () => void {
  interface Inside {
    end: { seqNext: number };
  }
  const original = LogAdapter.prototype.write;
  async function write(this: LogAdapter, ...[document]: Parameters<LogAdapter["write"]>) {
    const inside = this as unknown as Inside;
    inside.end = { ...inside.end, seqNext: (document.entries.at(-1)?.seq ?? -1) + 1 };
    await original.call(this, document);
  }
  return replace(LogAdapter.prototype, "write", write);
}

function replace<T extends object, K extends keyof T>(target: T, name: K, method: T[K]): () => void {
  const original = target[name];
  target[name] = method;
  return () => {
    target[name] = original;
  };
}

function all(...undos: (() => void)[]): () => void {
  return () => {
    for (const undo of undos.reverse()) undo();
  };
}
