import { isDeepStrictEqual } from "node:util";
import { fold } from "../../src/agent/fold.js";
import { State } from "../../src/agent/state.js";
import { codeOf, problemOf } from "../../src/errors.js";
import type { FileStore } from "../../src/store/file-store.js";
import type { Damage, Entry, SavedRecord, SavedState, Snapshot } from "../../src/store/store.js";
import { messagesProblems } from "../../src/testing/request-problems.js";

/** What was tried and what was acknowledged of one conversation. */
export interface Expected {
  readonly id: string;
  /** Everything that was ever to be saved, in order; the store may have more than was acknowledged, but nothing else. */
  history: readonly Entry[];
  /** What processes that died were about to save when that failed: a power cut may bring it back, until something is acknowledged. */
  lostTries?: readonly Entry[];
  ackedLength: number;
  snapshots: Snapshot[];
  ackedSnapshot: Snapshot | undefined;
  made: "no" | "maybe" | "yes";
  gone: "no" | "maybe" | "yes";
}

export type Invariant =
  | "acked-is-kept"
  | "no-gap-no-repeat"
  | "resume-then-reopen"
  | "no-open-call"
  | "fold-equals-context"
  | "list-agrees-with-read";

export class InvariantBroken extends Error {
  constructor(
    readonly invariant: Invariant,
    detail: string,
  ) {
    super(`${invariant}: ${detail}`);
  }

  /** With the way that led to it. */
  after(way: string): InvariantBroken {
    return new InvariantBroken(this.invariant, `${this.message.slice(this.invariant.length + 2)} (${way})`);
  }
}

function holds(invariant: Invariant, condition: boolean, detail: () => string): asserts condition {
  if (!condition) throw new InvariantBroken(invariant, detail());
}

/** Every acknowledged entry and snapshot is there as it was, and nothing that nobody wrote. */
export function ackedIsKept(record: SavedRecord | undefined, expected: Expected): void {
  const { id, made, gone, history, ackedLength } = expected;
  if (record === undefined) {
    holds("acked-is-kept", made !== "yes" || gone !== "no", () => `${id} is not there any more`);
    return;
  }
  holds("acked-is-kept", made !== "no", () => `${id} is there although nobody made it`);
  holds("acked-is-kept", gone !== "yes", () => `${id} is there although it was deleted`);
  const { entries, snapshot } = record;
  holds("acked-is-kept", entries.length >= ackedLength, () => {
    return `${id}: ${entries.length} entries of ${ackedLength} acknowledged ones; ${damageOf(record)}`;
  });
  entries.forEach((entry, index) => {
    const same =
      isDeepStrictEqual(entry, history[index]) ||
      (index >= ackedLength && expected.lostTries?.some((lost) => isDeepStrictEqual(entry, lost)) === true);
    holds("acked-is-kept", same, () => `${id}: entry ${index} is ${JSON.stringify(entry)}`);
  });
  const known = expected.snapshots.findLastIndex((each) => isDeepStrictEqual(each, snapshot));
  const acked = expected.ackedSnapshot === undefined ? -1 : expected.snapshots.lastIndexOf(expected.ackedSnapshot);
  holds("acked-is-kept", known >= acked, () => `${id}: the snapshot is ${JSON.stringify(snapshot)}`);
}

/** Positions 0, 1, 2, … each once; nothing damaged but a last record that was cut off before it was acknowledged. */
export function noGapNoRepeat(record: SavedRecord, id: string): void {
  const seqs = record.entries.map(({ seq }) => seq);
  holds(
    "no-gap-no-repeat",
    seqs.every((seq, index) => seq === index),
    () => `${id}: seq ${seqs.join(" ")}`,
  );
  const others = damageOfHistory(record).filter(({ problem }) => !problem.startsWith("the last record was cut off"));
  holds("no-gap-no-repeat", others.length === 0, () => `${id}: ${damageOf(record)}`);
  const covered = record.snapshot?.historyLength ?? 0;
  holds(
    "no-gap-no-repeat",
    covered <= seqs.length,
    () => `${id}: the snapshot covers ${covered} of ${seqs.length} entries`,
  );
}

/** A row says what the loaded conversation says; one that cannot be read is a row with its problem. */
export async function listAgreesWithRead(store: FileStore, rows: readonly SavedState[], id: string): Promise<void> {
  const row = rows.find((each) => each.id === id);
  const record = await store.read(id).catch((error: unknown) => {
    holds(
      "list-agrees-with-read",
      row?.problem !== undefined,
      () => `${id}: cannot be read (${problemOf(error)}), the row is silent`,
    );
  });
  if (record === undefined) {
    holds(
      "list-agrees-with-read",
      row === undefined || row.problem !== undefined,
      () => `${id}: listed, but not there`,
    );
    return;
  }
  holds("list-agrees-with-read", row !== undefined, () => `${id}: there, but not listed`);
  const { task, name, stoppedBy, savedLength, messageCount, turn, cwd, model } = State.fromRecord(id, record);
  const loaded = {
    task: task ?? "",
    name,
    stoppedBy,
    historyLength: savedLength,
    messageCount,
    turn,
    cwd,
    model,
    problem: undefined,
  };
  const listed = {
    task: row.task,
    name: row.name,
    stoppedBy: row.stoppedBy,
    historyLength: row.historyLength,
    messageCount: row.snapshot?.messageCount,
    turn: row.snapshot?.turn,
    cwd: row.snapshot?.cwd,
    model: row.snapshot?.model,
    problem: row.problem,
  };
  const same = isDeepStrictEqual(listed, loaded);
  holds("list-agrees-with-read", same, () => `${id}: ${JSON.stringify(listed)}, loaded ${JSON.stringify(loaded)}`);
}

/** Every call has exactly one result, right after the reply that made it. */
export function noOpenCall(state: State): void {
  const open = state.pendingCalls.map((call) => call.id);
  holds("no-open-call", open.length === 0, () => `${state.id}: ${open.join(" ")}`);
  const problems = state.context.length === 0 ? [] : messagesProblems(state.context);
  holds("no-open-call", problems.length === 0, () => `${state.id}: ${problems.join("; ")}`);
}

/** What the model sees is the fold of the history and nothing else. */
export function foldEqualsContext(state: State): void {
  const same = isDeepStrictEqual(fold(state.history), state.context);
  holds("fold-equals-context", same, () => `${state.id}: ${JSON.stringify(state.context)}`);
}

/**
 * Going on writes what loading added and a message; whoever opens it then finds that, once and undamaged, and can go on
 * too. `open` gives the store of another process.
 */
export async function resumeThenReopen(open: () => FileStore, id: string): Promise<void> {
  let before: readonly Entry[] | undefined;
  for (let round = 0; round < 2; round++) {
    const store = open();
    try {
      const record = await store.read(id);
      holds("resume-then-reopen", record !== undefined, () => `${id}: gone in round ${round}`);
      if (before !== undefined) {
        const same = isDeepStrictEqual(record.entries, before) && damageOfHistory(record).length === 0;
        const got = () => `${record.entries.length} entries for ${before?.length}; ${damageOf(record)}`;
        holds("resume-then-reopen", same, () => `${id}: round ${round} finds ${got()}`);
      }
      const state = State.fromRecord(id, record, { clock: frozen });
      noOpenCall(state);
      foldEqualsContext(state);
      state.addUserMessage(`go on ${round}`);
      await store.write(id, state.history.slice(state.savedLength), state.snapshot());
      before = state.history.map((entry) => ({ ...entry }));
    } catch (error) {
      if (error instanceof InvariantBroken) throw error;
      throw new InvariantBroken("resume-then-reopen", `${id}: round ${round}: ${codeOf(error)} ${String(error)}`);
    } finally {
      await store.unlock(id);
    }
  }
}

export const frozen = { now: () => 1_800_000_000_000, sleep: () => Promise.resolve() };

/** Without that of a draft: it is never synced, and a power cut may leave anything of it. */
function damageOfHistory(record: SavedRecord): readonly Damage[] {
  return (record.damage ?? []).filter(({ path }) => !path.endsWith("/streaming"));
}

function damageOf(record: SavedRecord): string {
  return (record.damage ?? []).map(({ problem }) => problem).join("; ");
}
