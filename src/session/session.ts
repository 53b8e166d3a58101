import type { CallOutcome, HistoryEntry } from "../agent/entries.js";
import type { AgentEvent } from "../agent/events.js";
import type { ToolAccess } from "../agent/tool.js";
import type { JsonValue } from "../json.js";
import type { ModelCall, Usage } from "../model/model.js";
import type { SavedState } from "../store/store.js";

/** A conversation as a screen sees it: events in, commands out. */
export interface Session {
  readonly info: SessionInfo;
  /** Entries of the history, oldest first: for drawing the last exchanges and `:history`. */
  readonly history: readonly HistoryEntry[];
  on(listener: (event: SessionEvent) => void): () => void;
  /**
   * Adds the person's message. Resolves when it is durable, or when saving it failed (`saving_failed`); the turn then runs by itself (`idle` is the event that it has
   * ended). While a turn runs the message waits for its place and is answered in the same turn.
   */
  send(text: string): Promise<void>;
  /** Asks again after a turn that failed, was interrupted or cut off. RETRY_NOTHING when the last turn is complete. */
  retry(): Promise<void>;
  /** Goes on with a cut-off turn, once; false when there is none or it already went on by itself. */
  continueCutOff(): Promise<boolean>;
  /**
   * Takes in what became of calls and `!` commands that an earlier process left open: results that are there, at once; what
   * still runs is followed, and Ctrl+C ends it. Asks the model nothing. Resolves when all of them are closed and saved;
   * false, at once, when there are none. A message that comes meanwhile is answered afterwards.
   */
  takeUpCalls(): Promise<boolean>;
  /** What ran in this conversation and what runs now, oldest first. */
  calls(): readonly CallRow[];
  /** The person's own command: its output goes into the conversation. */
  shell(command: string): Promise<void>;
  /** Ctrl+C: stops the turn or the `!` command. Resolves when all is closed and saved. */
  interrupt(): Promise<void>;
  /** SIGTERM, SIGHUP, an exception: closes calls, keeps streamed text, saves, unlocks. Bounded by `withinMs`. NOT_SAVED. */
  shutdown(reason: ShutdownReason, withinMs: number): Promise<void>;
  /** Answers an `ask` event. */
  answer(askId: string, answer: PermissionAnswer): void;
  rename(name: string): Promise<void>;
  setModel(name: string): Promise<void>;
  readonly tools: ReadonlyArray<{ name: string; description: string; runs: string }>;
  /** Resolves when no turn and no `!` command runs. */
  idle(): Promise<void>;
  /** The last moment of the process: what still runs is ended, synchronously. */
  killAll(): void;
  /** Leaves: saved, unlocked. Nothing is written when nothing changed. NOT_SAVED when the disk did not take all of it. */
  close(): Promise<void>;
}

export interface CallRow {
  readonly id: string;
  /** The tool's name, `!` for a command of the person's. */
  readonly name: string;
  /** The command, the path, or whatever says what it is about. */
  readonly input: JsonValue;
  readonly state: "running" | CallOutcome;
  /** So far, while it runs. */
  readonly durationMs: number | undefined;
  /** Of a command that has ended; null when a signal ended it. */
  readonly exitCode: number | null | undefined;
}

export type ShutdownReason = "SIGTERM" | "SIGHUP" | "SIGINT" | "exception";

export type PermissionAnswer =
  | { readonly kind: "once" }
  | { readonly kind: "always" }
  | { readonly kind: "no"; readonly reason?: string };

/** Saving fails: what came after so many of the person's messages is in memory only. */
export interface Unsaved {
  readonly afterMessage: number;
}

export interface SessionInfo {
  /** Another one after `recovered`. */
  readonly id: string;
  readonly name: string | undefined;
  readonly task: string | undefined;
  readonly model: string;
  readonly cwd: string;
  /** Nothing is on disk before the first message. */
  readonly saved: boolean;
  /** Undefined when all is on disk. */
  readonly unsaved?: Unsaved | undefined;
  readonly createdAt: string | undefined;
  readonly updatedAt: string | undefined;
  readonly messageCount: number;
  readonly usage: Usage & { readonly requests: number };
  readonly busy: boolean;
}

export type SessionEvent =
  | AgentEvent
  | { readonly type: "busy" }
  | { readonly type: "idle"; readonly reason: string }
  /** One line for the person: what became of interrupted calls, a folder that is gone, damage that was read around. */
  | { readonly type: "notice"; readonly text: string }
  /** Saving fails, and the conversation goes on in memory. Told once for a trouble, until `saving_works`. */
  | { readonly type: "saving_failed"; readonly text: string }
  /** All that was missing is on disk. */
  | { readonly type: "saving_works"; readonly text: string }
  /** Its files were changed from outside or refuse to be written: it is saved, whole, as `id`, and goes on there. */
  | { readonly type: "recovered"; readonly from: string; readonly id: string; readonly text: string }
  /** Something failed; the conversation goes on. `fix` says what to do. */
  | {
      readonly type: "error";
      readonly problem: string;
      readonly fix: string | undefined;
      readonly code: string | undefined;
    }
  | { readonly type: "shell_output"; readonly chunk: string }
  | { readonly type: "shell_end"; readonly exitCode: number | null; readonly outcome?: "unknown" | "not_run" }
  /** A command of the person's that an earlier process started: its output and its end follow. */
  | { readonly type: "shell_taken_up"; readonly command: string }
  | {
      readonly type: "ask";
      readonly askId: string;
      readonly call: ModelCall;
      readonly access: ToolAccess | undefined;
      readonly always: string;
    }
  | { readonly type: "ask_withdrawn"; readonly askId: string };

/** Opens conversations; the REPL's way to `:new`, `:resume`, `:list`, `:delete`. */
export interface Sessions {
  create(): Promise<Session>;
  /** By id, unique prefix or name; undefined: the most recently updated. STATE_NOT_FOUND, STATE_AMBIGUOUS, STATE_LOCKED, STATE_DAMAGED. */
  resume(ref: string | undefined): Promise<Session>;
  list(): Promise<SavedState[]>;
  /** Commands of this conversation that still run; deleting it ends them. */
  runningIn(id: string): Promise<string[]>;
  /** STATE_LOCKED when it is open elsewhere. */
  delete(ref: string): Promise<SavedState>;
  /** The row a reference means, with the same errors as resume. */
  find(ref: string): Promise<SavedState>;
}
