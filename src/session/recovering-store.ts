import type { State } from "../agent/state.js";
import { randomStateId } from "../agent/state-id.js";
import { hasCode } from "../errors.js";
import type { FileStore } from "../store/file-store.js";
import type { Draft, Entry, SavedRecord, Snapshot, Store } from "../store/store.js";
import { type ProblemParts, problemParts } from "./problem-parts.js";

/** Somebody else's doing: the files are not those that we left, and waiting does not bring them back. */
const CHANGED = [
  "STATE_CHANGED_OUTSIDE",
  "STATE_NOT_FOUND",
  "STATE_DAMAGED",
  "STATE_NEWER",
  "STATE_SEQ_GAP",
  "STATE_LOCKED",
];
/** The whole disk or process has this trouble: another conversation on it would fare no better. */
const EVERYWHERE = ["ENOSPC", "EDQUOT", "EROFS", "EMFILE", "ENFILE", "ENOMEM"];
const STUCK_MS = 4000;

export interface Recovered {
  readonly from: string;
  readonly id: string;
  readonly problem: string;
}

export interface RecoveringStoreOptions {
  readonly store: FileStore;
  readonly state: State;
  /** The conversation is saved, whole, under another id from now on. */
  recovered(recovered: Recovered): void;
  /** The entries are durable, but not the snapshot, which the list shows. Told once until it works again. */
  snapshotFailed(problem: ProblemParts): void;
  /** Milliseconds, from any beginning. */
  readonly now?: () => number;
}

/**
 * One State's store that does not stop where its files cannot be written any more: when they were changed or removed from
 * outside, or have refused every write for {@link STUCK_MS} while the rest of the store does not, the whole State goes into a
 * new conversation, whose lock is held, and so does everything after it. The old files are left as they are.
 */
export class RecoveringStore implements Store {
  readonly key: string;
  readonly #options: RecoveringStoreOptions;
  readonly #store: FileStore;
  readonly #now: () => number;
  #id: string;
  #recoveryId: string | undefined;
  #failingSince: number | undefined;
  #snapshotFails = false;
  /** Calls that started before a recovery: their files stay where they are. */
  readonly #startedIn = new Map<string, string>();

  constructor(options: RecoveringStoreOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#now = options.now ?? (() => performance.now());
    this.#id = options.state.id;
    this.key = options.store.key;
  }

  /** The conversation that is written to: the State's own, or the one it was recovered into. */
  get id(): string {
    return this.#id;
  }

  async write(
    _id: string,
    entries: readonly Entry[],
    snapshot: Snapshot | undefined,
    options?: { create?: boolean },
  ): Promise<void> {
    try {
      await this.#store.write(this.#id, entries, snapshot, options);
      if (snapshot !== undefined) this.#snapshotFails = false;
    } catch (error) {
      // What was never saved has no files that could be in the way: it is made anew each time.
      if (options?.create === true) throw error;
      if (hasCode(error, ...CHANGED)) await this.#recover(error);
      else if (snapshot === undefined || !(await this.#isLogWritten(entries, error))) await this.#recoverIfStuck(error);
    }
    this.#failingSince = undefined;
  }

  /** A draft of what streams; where it cannot be written, the save that follows says why. */
  writeDraft(_id: string, draft: Draft | undefined): Promise<void> {
    return this.#store.writeDraft(this.#id, draft);
  }

  read(): Promise<SavedRecord | undefined> {
    return this.#store.read(this.#id);
  }

  lock(): Promise<void> {
    return this.#store.lock(this.#id);
  }

  unlock(): Promise<void> {
    return this.#store.unlock(this.#id);
  }

  /** Where the output of a call is kept. */
  callPath(callId: string): string {
    return this.#store.callPath(this.#startedIn.get(callId) ?? this.#id, callId);
  }

  /** The log alone is the conversation; a snapshot that cannot be replaced costs the list its last row, and time. */
  async #isLogWritten(entries: readonly Entry[], error: unknown): Promise<boolean> {
    try {
      await this.#store.write(this.#id, entries, undefined);
    } catch {
      // The first failure is told.
      return false;
    }
    if (!this.#snapshotFails) this.#options.snapshotFailed(problemParts(error));
    this.#snapshotFails = true;
    return true;
  }

  async #recoverIfStuck(error: unknown): Promise<void> {
    this.#failingSince ??= this.#now();
    if (hasCode(error, ...EVERYWHERE) || this.#now() - this.#failingSince < STUCK_MS) throw error;
    try {
      await this.#recover(error);
    } catch {
      // Nor is there another place to write to: what was wrong first stays what is wrong.
      throw error;
    }
  }

  async #recover(cause: unknown): Promise<void> {
    const { state } = this.#options;
    const from = this.#id;
    this.#recoveryId ??= randomStateId();
    const id = this.#recoveryId;
    const entries = state.history.slice();
    await this.#store.write(id, withOpenCallsUnsure(entries), state.snapshot(), { create: true });
    for (const callId of startedCalls(entries)) if (!this.#startedIn.has(callId)) this.#startedIn.set(callId, from);
    this.#id = id;
    this.#recoveryId = undefined;
    // Its files may be gone; nothing of ours depends on them any more.
    await this.#store.unlock(from).catch(() => undefined);
    state.rename(`recovered ${from}`);
    // All there is was saved before; this name comes with the next save when it does not work now.
    await this.#store.write(id, state.history.slice(entries.length), state.snapshot()).catch(() => undefined);
    this.#options.recovered({ from, id, problem: problemParts(cause).problem });
  }
}

function startedCalls(entries: readonly Entry[]): string[] {
  return entries.flatMap((entry) => (isStart(entry) ? [entry.callId] : []));
}

/**
 * The files of a call that is open now are not with the recovery: without `boot` nobody who resumes it takes that for a call
 * that never started, and runs it again.
 */
function withOpenCallsUnsure(entries: readonly Entry[]): readonly Entry[] {
  const ended = new Set(entries.flatMap((entry) => (isEnd(entry) ? [entry.callId] : [])));
  return entries.map((entry) => {
    if (!isStart(entry) || ended.has(entry.callId)) return entry;
    const { boot: _boot, ...unsure } = entry;
    return unsure;
  });
}

type CallEntry = Entry & { readonly callId: string };

function isStart(entry: Entry): entry is CallEntry {
  return typeof entry.callId === "string" && entry.kind.endsWith("_started");
}

function isEnd(entry: Entry): entry is CallEntry {
  return typeof entry.callId === "string" && (entry.kind === "result" || entry.kind === "shell");
}
