import { type Clock, systemClock } from "../agent/clock.js";
import { type EntryBody, STOPPED } from "../agent/entries.js";
import { restore } from "../agent/restore.js";
import { State } from "../agent/state.js";
import { randomStateId } from "../agent/state-id.js";
import { PerdureError } from "../errors.js";
import type { FileStore } from "../store/file-store.js";
import type { SavedState } from "../store/store.js";
import { printableLine } from "../text/printable.js";
import { findState, latestState } from "./find-state.js";

const TITLE_LENGTH_MAX = 60;
const copied = / \(copy(?: \d+)?\)$/;

export interface ForkOptions {
  /** Of the copy. Default: the original's, with "(copy)". */
  readonly name?: string;
  readonly clock?: Clock;
}

/**
 * Copies a conversation as far as it is saved into a new one, whose lock is held then; durable on return. The original is only
 * read, so it may be open in another process. In the copy its open calls are closed as after a crash, and its running turn has
 * ended: it goes on there, and nothing of it runs twice.
 *
 * @returns the id of the copy
 * @throws {PerdureError} STATE_NOT_FOUND, STATE_AMBIGUOUS, STATE_NONE, STATE_DAMAGED, STATE_NEWER; the store's errors
 */
export async function forkState(store: FileStore, ref: string | undefined, options: ForkOptions = {}): Promise<string> {
  const rows = await store.list();
  const from = ref === undefined ? latestState(rows) : findState(rows, ref);
  const record = await store.read(from.id);
  if (record === undefined) {
    throw new PerdureError({
      code: "STATE_NOT_FOUND",
      problem: `there is no conversation ${from.id} any more`,
      fix: "list the conversations and pick one of them",
    });
  }
  const id = randomStateId();
  const restored = restore(from.id, record);
  const closing = restored.closing.map(inCopy);
  const state = new State(undefined, { id, clock: options.clock ?? systemClock }, { ...restored, closing });
  if (state.cutOffTurn !== undefined) state.record({ kind: "run_end", reason: STOPPED.forked });
  state.record({ kind: "forked", from: from.id });
  state.rename(options.name ?? copyName(state.name ?? state.task ?? from.id, rows));
  await store.write(id, state.history, state.snapshot(), { create: true });
  return id;
}

/** What had streamed until now: of a reply that may go on in the original. */
function inCopy(body: EntryBody): EntryBody {
  return body.kind === "reply" ? { ...body, cutOff: "the conversation was copied while it streamed" } : body;
}

/** `the parser (copy)`, `the parser (copy 2)`: a name of its own, so that it can be resumed by it. */
function copyName(title: string, rows: readonly SavedState[]): string {
  const base = printableLine(title, TITLE_LENGTH_MAX).replace(copied, "");
  const taken = new Set(rows.map(({ name }) => name));
  let name = `${base} (copy)`;
  for (let number = 2; taken.has(name); number++) name = `${base} (copy ${number})`;
  return name;
}
