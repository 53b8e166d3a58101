import type { JsonObject, JsonValue } from "../json.js";

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input, an object. */
  readonly inputSchema: JsonObject;
}

export interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
  /** What a provider wants back with the call (a thought signature, say), by provider name. */
  readonly provider?: JsonObject;
}

/**
 * What a model is sent: always valid for strict APIs. Each call has exactly one result right after its message, no text
 * is blank, no string holds a lone surrogate, the first message is from the user.
 */
export type ModelMessage =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly ModelCall[] }
  | { readonly role: "tool"; readonly results: readonly ModelToolResult[] };

export interface ModelToolResult {
  readonly callId: string;
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
}

export interface ModelRequest {
  readonly system: string | undefined;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  /** When set, the answer is one JSON value of this shape and no tool is called. */
  readonly outputSchema?: JsonObject;
}

/** Tokens of one request. Undefined where the provider does not say. */
export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cachedInputTokens?: number;
}

export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter" | "other";

export type ModelEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** A whole call: its input has arrived. Only what comes before `finish` counts. */
  | { readonly type: "call"; readonly call: ModelCall }
  /** The request failed before any output and is asked again after `delayMs`. */
  | { readonly type: "retry"; readonly attempt: number; readonly delayMs: number; readonly reason: string }
  | { readonly type: "finish"; readonly reason: FinishReason; readonly usage: Usage };

/**
 * A language model. `stream` yields events and ends after `finish`. It throws a PerdureError with one of the MODEL_*
 * codes of model-error.ts, or the signal's reason when aborted. It retries failures that come before any output by
 * itself (and yields `retry`); a stream cut after output throws MODEL_STREAM_CUT, and the agent keeps the text and asks
 * again.
 */
export interface Model {
  /** `provider/name`, for example `anthropic/claude-sonnet-4-5`. */
  readonly name: string;
  stream(request: ModelRequest, options: { signal: AbortSignal }): AsyncIterable<ModelEvent>;
}
