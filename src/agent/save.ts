import { hasCode } from "../errors.js";
import type { Store } from "../store/store.js";
import type { AgentCore } from "./agent-core.js";
import { type Binding, bindingOf, bindStore } from "./binding.js";
import { graceMs } from "./grace.js";
import { addSaveNote } from "./notes.js";
import type { State } from "./state.js";

export interface SaveOptions {
  /** Also replaces the snapshot, when something changed since the last one. */
  readonly snapshot?: boolean;
  /** Aborted while the save is under way, it ends the wait for it (after a grace), not the save itself. */
  readonly signal?: AbortSignal | undefined;
  /** The rest is saved without data that is not JSON. */
  readonly dataMayFail?: boolean;
  /** Throws when the store fails, also for an agent that goes on without it. */
  readonly mustBeDurable?: boolean;
}

/**
 * Saves what the store does not have yet, and nothing when nothing changed. Durable on return, unless the agent goes on
 * when saving fails (`save_failed` was emitted then). A failed save loses nothing: the next one writes what is missing.
 *
 * @throws {PerdureError} STATE_DATA_NOT_JSON, STATE_OTHER_STORE, STATE_EXISTS (first save of a new State), STATE_LOCKED
 */
export async function save(agent: AgentCore, state: State, options: SaveOptions = {}): Promise<void> {
  const { store } = agent;
  if (store === undefined) return;
  const binding = bindStore(state, store);
  binding.emitter = agent.emitter;
  recordData(state, options.dataMayFail === true);
  const saved = binding.queue.then(() => write(agent, state, store, binding, options.snapshot === true));
  binding.queue = saved.catch(() => undefined);
  const mayFail = agent.onSaveFailed === "continue" && options.mustBeDurable !== true;
  await untilAborted(agent, mayFail ? saved.catch(() => undefined) : saved, binding, options.signal);
}

/** Becomes the conversation's one writer, when the store has a lock. A new one has nothing to lock before its first save. */
export async function lock(state: State, store: Store): Promise<void> {
  const binding = bindStore(state, store);
  if (binding.isLocked || !binding.isCreated || store.lock === undefined) return;
  await store.lock(state.id);
  binding.isLocked = true;
}

/** Waits for saves and drafts that are under way, then gives the lock back. Nothing is written. */
export async function release(state: State): Promise<void> {
  const binding = bindingOf(state);
  await Promise.all([binding.queue, binding.drafts]);
  if (!binding.isLocked) return;
  await binding.store?.unlock?.(state.id);
  binding.isLocked = false;
}

/**
 * A step or a run has failed: what there is is saved all the same. A failed save becomes a note on the error that is
 * thrown; data that is not JSON is left out, so that it does not keep the rest from being saved.
 */
export async function saveFailing(
  agent: AgentCore,
  state: State,
  error: unknown,
  options: SaveOptions = {},
): Promise<void> {
  if (bindingOf(state).isHanging) return addSaveNote(error, new Error("the store does not answer"));
  try {
    await save(agent, state, options);
  } catch (saveError) {
    if (saveError !== error) addSaveNote(error, saveError);
    if (!hasCode(saveError, "STATE_DATA_NOT_JSON")) return;
    await save(agent, state, { ...options, dataMayFail: true }).catch((again: unknown) => addSaveNote(error, again));
  }
}

async function write(
  agent: AgentCore,
  state: State,
  store: Store,
  binding: Binding,
  withSnapshot: boolean,
): Promise<void> {
  try {
    const create = !binding.isCreated;
    const length = state.history.length;
    const entries = state.history.slice(state.savedLength).filter((entry) => entry.kind !== "missing");
    const snapshot = create || (withSnapshot && length !== binding.snapshotLength) ? state.snapshot() : undefined;
    if (!create && entries.length === 0 && snapshot === undefined) return;
    await lock(state, store);
    await store.write(state.id, entries, snapshot, create ? { create } : undefined);
    binding.isCreated = true;
    if (snapshot !== undefined) binding.snapshotLength = length;
    state.markSaved(length);
    if (create) await lock(state, store);
    agent.emitter.emit({ type: "saved", historyLength: length });
  } catch (error) {
    agent.emitter.emit({ type: "save_failed", error });
    throw error;
  }
}

function recordData(state: State, mayFail: boolean): void {
  try {
    state.recordData();
  } catch (error) {
    if (!mayFail) throw error;
  }
}

/** A store that hangs must not hold a run that was aborted meanwhile. */
async function untilAborted(
  agent: AgentCore,
  saved: Promise<void>,
  binding: Binding,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal === undefined || signal.aborted) return saved;
  const settled = new AbortController();
  const aborted = new Promise<"aborted">((resolve) => {
    signal.addEventListener(
      "abort",
      () => void agent.clock.sleep(graceMs, settled.signal).then(() => resolve("aborted")),
      { once: true, signal: settled.signal },
    );
  });
  try {
    if ((await Promise.race([saved, aborted])) !== "aborted") return;
    binding.isHanging = true;
    const ended = () => {
      binding.isHanging = false;
    };
    saved.then(ended, ended);
    throw signal.reason;
  } finally {
    settled.abort();
  }
}
