import type { Draft, Entry, SavedRecord, SavedState, Snapshot, Store } from "../store/store.js";
import { loadState } from "./load-state.js";
import type { RestoreOptions } from "./restore.js";
import type { State } from "./state.js";

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
  writeDraft?(id: string, draft: Draft | undefined): Promise<void>;

  /** @throws {PerdureError} STATE_NOT_FOUND */
  load(id: string, options?: RestoreOptions): Promise<State> {
    return loadState(this, id, options);
  }
}
