/** The public API of the library: `import { Agent, FileStore, State } from "perdure"`. */
import { loadState } from "./agent/load-state.js";
import type { RestoreOptions } from "./agent/restore.js";
import type { State } from "./agent/state.js";
import type { Model } from "./model/model.js";
import type { OpenModelOptions } from "./model/open-model.js";
import { FileStore as FileStoreOnDisk } from "./store/file-store.js";

export { abortOnSignal } from "./abort-on-signal.js";
export { Agent, type AgentOptions } from "./agent/agent.js";
export type { BootIdentity, StepOptions } from "./agent/agent-core.js";
export type { AskOptions } from "./agent/ask.js";
export { BaseStore as Store } from "./agent/base-store.js";
export type { Clock } from "./agent/clock.js";
export type { CutOffTurn } from "./agent/cut-off-turn.js";
export { defineTool } from "./agent/define-tool.js";
export {
  type AgentSummary,
  type CallOutcome,
  type EntryBody,
  type EntryKind,
  type HistoryEntry,
  type PermissionRule,
  STOPPED,
} from "./agent/entries.js";
export { isReplayable } from "./agent/entry-check.js";
export type { AgentEvent, AgentListener } from "./agent/events.js";
export type { UsageTotals } from "./agent/facts.js";
export { fold } from "./agent/fold.js";
export { SignalAbort, UserInterrupt } from "./agent/interrupt.js";
export { loadState } from "./agent/load-state.js";
export {
  answered,
  defaultLoop,
  type Loop,
  type LoopBody,
  type LoopFunction,
  type LoopOptions,
  loop,
  type Until,
} from "./agent/loop.js";
export { notesOf } from "./agent/notes.js";
export { type PermissionPolicyOptions, permissionPolicy } from "./agent/permission-policy.js";
export type { Decision, Permission, PermissionRequest } from "./agent/permissions.js";
export type { RestoreOptions } from "./agent/restore.js";
export { State, type StateOptions } from "./agent/state.js";
export {
  type RecoverContext,
  type Recovered,
  type StandardSchema,
  type Tool,
  type ToolAccess,
  type ToolContext,
  ToolError,
  type ToolOutput,
  type WhenUnknown,
} from "./agent/tool.js";
export { codeOf, hasCode, PerdureError } from "./errors.js";
export type { JsonObject, JsonValue } from "./json.js";
export type {
  FinishReason,
  Model,
  ModelCall,
  ModelEvent,
  ModelMessage,
  ModelRequest,
  ModelToolResult,
  ToolSpec,
  Usage,
} from "./model/model.js";
export type { OpenModelOptions } from "./model/open-model.js";
export type { Damage, Draft, Entry, SavedRecord, SavedState, Snapshot, Store as StoreContract } from "./store/store.js";

/** Keeps each State in a folder of its own, readable only by its owner. */
export class FileStore extends FileStoreOnDisk {
  /**
   * The State that is saved under this id, ready to go on.
   *
   * @throws {PerdureError} STATE_NOT_FOUND, STATE_NEWER, STATE_DAMAGED
   */
  load(id: string, options?: RestoreOptions): Promise<State> {
    return loadState(this, id, options);
  }
}

/**
 * Opens a model by its name, `anthropic/claude-sonnet-4-5` for example. The provider's code is loaded when it is used.
 *
 * @throws {PerdureError} MODEL_NOT_FOUND, MODEL_KEY_MISSING
 */
export async function openModel(name: string, options?: OpenModelOptions): Promise<Model> {
  const opener = await import("./model/open-model.js");
  return opener.openModel(name, options);
}
