import type { JsonObject, JsonValue } from "../json.js";
import type { FinishReason, ModelCall, Usage } from "../model/model.js";
import type { Entry } from "../store/store.js";

/**
 * The kinds of history entries. docs/format/entries.md is the reference; unknown kinds are kept and change nothing.
 * Every entry also has `seq`, `at`, `kind`, `turn`.
 */
export type EntryBody =
  /** A message from the person. It begins a new turn unless one is under way. */
  | { kind: "user"; text: string }
  /**
   * A message from the program, for the model (prefixed `[notice] `) and the person. `skip` leaves history out of the
   * context: a half-written step. `missing` names entries that could not be read. Both ends are inclusive.
   */
  | { kind: "notice"; text: string; skip?: SeqRange; missing?: SeqRange[] }
  /** A command of the person's is about to start. Durable before it does. `boot`: see call_started. */
  | { kind: "shell_started"; callId: string; command: string; boot?: string }
  /**
   * A command the person ran with `!`; its output is part of the conversation. `outcome`: nobody knows how it ended, or it
   * did not run.
   */
  | {
      kind: "shell";
      command: string;
      output: string;
      exitCode: number | null;
      callId?: string;
      outcome?: "unknown" | "not_run";
      durationMs?: number;
    }
  | { kind: "run_start"; agent: AgentSummary }
  | { kind: "request"; model: string }
  /** `cutOff`: why the reply is not whole. A cut-off reply has text and no calls. */
  | {
      kind: "reply";
      text: string;
      calls: ModelCall[];
      model: string;
      usage: Usage;
      finish: FinishReason;
      cutOff?: string;
    }
  /**
   * The call is about to start. Durable before it does. `boot` names this run of the machine: after a restart a file that is
   * missing proves nothing.
   */
  | { kind: "call_started"; callId: string; name: string; boot?: string }
  | {
      kind: "result";
      callId: string;
      name: string;
      text: string;
      isError: boolean;
      outcome: CallOutcome;
      durationMs?: number;
      omittedBytes?: number;
      outputFile?: string;
      exitCode?: number | null;
    }
  | { kind: "compaction"; summary: string; keepFrom: number; model: string; usage: Usage }
  /** The model refused the context as too large: every item before this one is shortened to `bytesMax` for it. */
  | { kind: "trimmed"; bytesMax: number }
  /** The top-level keys of `data` that changed. */
  | { kind: "data"; set: JsonObject; removed: string[] }
  | { kind: "ask"; prompt: string; answer: JsonValue; model: string; usage: Usage }
  | { kind: "permission"; rule: PermissionRule }
  | { kind: "model"; from: string; to: string }
  | { kind: "renamed"; name: string }
  | { kind: "folder"; cwd: string }
  /** A cut-off turn is about to go on by itself; once per turn. */
  | { kind: "continued" }
  /** The entries before it were copied from another conversation, which goes its own way since. */
  | { kind: "forked"; from: string }
  | { kind: "finish"; answer: JsonValue }
  /** A failed step. `step`: request, compaction, ask, run. */
  | { kind: "error"; step: string; message: string; code?: string }
  | { kind: "run_end"; reason: string }
  /** The place of an entry that was lost to damage. In memory only, but for a copy: there it holds the place. */
  | { kind: "missing" };

/** Positions in history, both ends inclusive. */
export type SeqRange = { from: number; to: number };

export type EntryKind = EntryBody["kind"];
export type HistoryEntry<K extends EntryKind = EntryKind> = Entry & Extract<EntryBody, { kind: K }>;

/**
 * ok, error: the tool ran. refused: the person or a rule said no. interrupted: Ctrl+C. aborted: a signal or an exception
 * ended the run. unknown: it may or may not have run. not_run: it never started.
 */
export type CallOutcome = "ok" | "error" | "refused" | "interrupted" | "aborted" | "unknown" | "not_run";

export interface PermissionRule {
  /** A tool's name. A type alias of JsonObject-compatible fields only. */
  [field: string]: JsonValue;
  tool: string;
  /** inside: only in the working folder; anywhere. */
  where: "inside" | "anywhere";
  /** The folder it was given in: a rule does not hold in another one. */
  cwd: string;
}

/** Which agent ran: enough to see that another one resumes. The system prompt is only a hash. */
export type AgentSummary = { name: string; model: string; systemHash: string; tools: string[] };

/**
 * Why a run ended (`run_end.reason`, `State.stoppedBy`). Beside these: the name of the until function that stopped it,
 * `aborted:<signal or Error name>`, and `returned` for a loop function of one's own.
 */
export const STOPPED = {
  answered: "answered",
  finish: "finish",
  limit: "limit",
  interrupted: "interrupted",
  denied: "denied",
  error: "error",
  returned: "returned",
  /** A copy was made while the run was under way; it may go on in the original. */
  forked: "forked",
} as const;
