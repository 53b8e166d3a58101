import type { Store } from "../store/store.js";
import type { Emitter } from "./emitter.js";
import type { State } from "./state.js";
import { otherStoreError } from "./state-errors.js";

/** What belongs to a State while this process has it, whichever agents work on it. */
export interface Binding {
  store: Store | undefined;
  /** The store has this conversation: the next write is not its first. */
  isCreated: boolean;
  isLocked: boolean;
  /** Saves of one State follow each other. Never rejects. */
  queue: Promise<unknown>;
  /** A save was given up on because the run was aborted, and it has not ended yet: nothing waits behind it. */
  isHanging: boolean;
  /** Drafts of one State follow each other. Never rejects. */
  drafts: Promise<unknown>;
  /** The store may hold a draft of a reply, up to date or not. */
  hasDraft: boolean;
  /** The last draft could not be written; that was said. */
  draftFails: boolean;
  /** How long the history was in the last snapshot that was saved or loaded. */
  snapshotLength: number;
  /** The agent that works on it now hears of its entries. */
  emitter: Emitter | undefined;
  /** The signal of the run that is under way. */
  signal: AbortSignal | undefined;
  /** think, use_tools and compact of one State exclude each other. */
  isStepping: boolean;
  /** A loaded State was compared with the agent that runs it. */
  isAgentCompared: boolean;
}

const bindings = new WeakMap<State, Binding>();

export function bindingOf(state: State): Binding {
  const known = bindings.get(state);
  if (known !== undefined) return known;
  const binding: Binding = {
    store: undefined,
    isCreated: state.isLoaded,
    isLocked: false,
    queue: Promise.resolve(),
    isHanging: false,
    drafts: Promise.resolve(),
    hasDraft: false,
    draftFails: false,
    snapshotLength: state.savedLength,
    emitter: undefined,
    signal: undefined,
    isStepping: false,
    isAgentCompared: false,
  };
  state.onEntry((entry) => binding.emitter?.emit({ type: "entry", entry }));
  bindings.set(state, binding);
  return binding;
}

/**
 * A State belongs to one store from its first save or its loading on.
 *
 * @throws {PerdureError} STATE_OTHER_STORE
 */
export function bindStore(state: State, store: Store): Binding {
  const binding = bindingOf(state);
  if (binding.store === undefined) binding.store = store;
  else if (!isSameStore(binding.store, store)) throw otherStoreError(state.id);
  return binding;
}

function isSameStore(a: Store, b: Store): boolean {
  return a === b || (a.key !== undefined && a.key === b.key);
}
