import type { Store } from "../store/store.js";
import { bindStore } from "./binding.js";
import type { RestoreOptions } from "./restore.js";
import { State } from "./state.js";
import { notFoundError } from "./state-errors.js";

/**
 * The State that a store has under this id. It belongs to that store from now on.
 *
 * @throws {PerdureError} STATE_NOT_FOUND, and what the store's `read` throws
 */
export async function loadState(store: Store, id: string, options: RestoreOptions = {}): Promise<State> {
  const record = await store.read(id);
  if (record === undefined) throw notFoundError(id);
  const state = State.fromRecord(id, record, options);
  bindStore(state, store).hasDraft = record.draft !== undefined;
  return state;
}
