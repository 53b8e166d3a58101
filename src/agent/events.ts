import type { ModelCall, Usage } from "../model/model.js";
import type { EntryBody, HistoryEntry } from "./entries.js";

/** What happens while an Agent works on a State, for a screen or a log. Listeners cannot change the run. */
export type AgentEvent =
  /** An entry was added to history (in memory; `saved` follows). */
  | { readonly type: "entry"; readonly entry: HistoryEntry }
  | { readonly type: "saved"; readonly historyLength: number }
  | { readonly type: "save_failed"; readonly error: unknown }
  /** What streams cannot be kept until it is whole (told once until it can again). The reply goes on. */
  | { readonly type: "draft_failed"; readonly error: unknown }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** A whole reply, which is durable; or what there is of one that was cut off. */
  | {
      readonly type: "reply";
      readonly text: string;
      readonly calls: readonly ModelCall[];
      readonly usage: Usage;
      readonly cutOff: string | undefined;
    }
  | { readonly type: "retry"; readonly attempt: number; readonly delayMs: number; readonly reason: string }
  | { readonly type: "call_started"; readonly call: ModelCall }
  /** A call of an earlier process: its output, if it still runs, and its result follow. */
  | { readonly type: "call_taken_up"; readonly call: ModelCall }
  | { readonly type: "call_output"; readonly callId: string; readonly chunk: string }
  | {
      readonly type: "call_result";
      readonly callId: string;
      readonly name: string;
      readonly result: Extract<EntryBody, { kind: "result" }>;
    }
  /** The model refused the request as too large; items over `bytesMax` are now shortened in what it is sent. */
  | { readonly type: "trimmed"; readonly bytesMax: number; readonly omittedBytes: number }
  | { readonly type: "compacted"; readonly summary: string }
  /** A different agent than the one that saved it resumes this State; `changes` maps a part to [saved, current]. */
  | {
      readonly type: "agent_changed";
      readonly changes: Readonly<Record<string, readonly [string, string]>>;
      readonly message: string;
    }
  | { readonly type: "run_end"; readonly reason: string };

export type AgentListener = (event: AgentEvent) => void;
