import type { JsonValue } from "../json.js";
import type { FinishReason, Model, ModelEvent, ModelRequest, Usage } from "../model/model.js";
import { modelError } from "../model/model-error.js";
import { requestProblems } from "./request-problems.js";

export interface ScriptedCall {
  readonly name: string;
  readonly input?: JsonValue;
  readonly id?: string;
}

/** What the model does at one request. */
export type ScriptedReply =
  /** Answers with this text. */
  | string
  /** Answers with text, calls or both; `chunks` instead of `text` streams them one by one. */
  | {
      readonly text?: string;
      readonly chunks?: readonly string[];
      readonly calls?: readonly ScriptedCall[];
      readonly usage?: Usage;
      readonly finish?: FinishReason;
    }
  /** Streams the chunks, then the connection is cut. */
  | { readonly chunks: readonly string[]; readonly cut: true }
  /** Fails with this error, after the chunks if there are any. */
  | { readonly error: unknown; readonly chunks?: readonly string[] }
  /** Streams the chunks, then nothing more comes until it is aborted. */
  | { readonly stall: true; readonly chunks?: readonly string[] };

export type ScriptedStep = ScriptedReply | ((request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>);

/**
 * A model for tests: it does one step of its script at each request, and refuses a request that a strict API would
 * answer with 400.
 */
export class ScriptedModel implements Model {
  readonly name: string;
  /** Every request so far. */
  readonly requests: ModelRequest[] = [];
  readonly #steps: ScriptedStep[];

  constructor(steps: readonly ScriptedStep[], name = "scripted/model") {
    this.#steps = [...steps];
    this.name = name;
  }

  /** Steps that were not asked for yet. */
  get stepsLeft(): number {
    return this.#steps.length;
  }

  async *stream(request: ModelRequest, options: { signal: AbortSignal }): AsyncGenerator<ModelEvent> {
    this.requests.push(request);
    const problems = requestProblems(request);
    if (problems.length > 0) {
      throw modelError(
        "MODEL_REFUSED_REQUEST",
        `400: ${problems.join("; ")}`,
        "The request is not valid for strict APIs.",
      );
    }
    const step = this.#steps.shift();
    if (step === undefined) throw new Error(`the script has no step for request ${this.requests.length}`);
    const reply = typeof step === "function" ? await step(request) : step;
    yield* play(typeof reply === "string" ? { text: reply } : reply, options.signal);
  }
}

async function* play(reply: Exclude<ScriptedReply, string>, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  for (const text of reply.chunks ?? []) {
    if (signal.aborted) throw signal.reason;
    yield { type: "text", text };
  }
  if ("error" in reply) throw reply.error;
  if ("cut" in reply)
    throw modelError("MODEL_STREAM_CUT", "The connection was lost in the middle of the reply.", "Ask again.");
  if ("stall" in reply) throw await untilAborted(signal);
  if (reply.text !== undefined && reply.text !== "") yield { type: "text", text: reply.text };
  const calls = reply.calls ?? [];
  for (const [index, { name, input, id }] of calls.entries()) {
    yield { type: "call", call: { id: id ?? `scripted-${index}`, name, input: input ?? {} } };
  }
  const reason = reply.finish ?? (calls.length > 0 ? "tool-calls" : "stop");
  yield { type: "finish", reason, usage: reply.usage ?? { inputTokens: 10, outputTokens: 5 } };
}

function untilAborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
}
