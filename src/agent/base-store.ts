import type { Entry, SavedRecord, SavedState, Snapshot, Store } from "../store/store.js";
import { bindStore } from "./binding.js";
import { State } from "./state.js";
import { notFoundError } from "./state-errors.js";

/**
 * The State that a store has under this id. It belongs to that store from now on.
 *
 * @throws {PerdureError} STATE_NOT_FOUND, and what the store's `read` throws
 */
export async function loadState(store: Store, id: string): Promise<State> {
  const record = await store.read(id);
  if (record === undefined) throw notFoundError(id);
  const state = State.fromRecord(id, record);
  bindStore(state, store);
  return state;
}

/** For a store of your own: implement `write` and `read` (and `list`, `delete` if you want them); `load` is built on `read`. */
export abstract class BaseStore implements Store {
  readonly key?: string;
  abstract write(
    id: string,
    entries: readonly Entry[],
    snapshot: Snapshot | undefined,
    options?: { create?: boolean },
  ): Promise<void>;
  abstract read(id: string): Promise<SavedRecord | undefined>;
  list?(): Promise<SavedState[]>;
  delete?(id: string): Promise<void>;
  lock?(id: string): Promise<void>;
  unlock?(id: string): Promise<void>;

  /** @throws {PerdureError} STATE_NOT_FOUND */
  load(id: string): Promise<State> {
    return loadState(this, id);
  }
}
