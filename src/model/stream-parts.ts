import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider";
import type { JsonObject, JsonValue } from "../json.js";
import { wellFormed } from "../text/well-formed.js";
import { takeCallId } from "./call-ids.js";
import { FailedAnswerError, StreamEndedError } from "./classify-error.js";
import { extractJson } from "./json-answer.js";
import type { FinishReason, ModelCall, ModelEvent, ModelRequest, Usage } from "./model.js";
import { type Dialect, isObject } from "./prompt.js";
import { SurrogateJoiner } from "./surrogate-joiner.js";

/**
 * The events of one request. Calls wait for the finish: some libraries end a cut stream with the calls as far as they
 * came, and half an input must not look like a whole one.
 *
 * @throws StreamEndedError when the stream ends without a finish; an error part as it is
 */
export async function* readParts(
  parts: AsyncIterable<LanguageModelV3StreamPart>,
  request: ModelRequest,
  dialect: Dialect,
): AsyncGenerator<ModelEvent, void, undefined> {
  const text = new SurrogateJoiner();
  const reasoning = new SurrogateJoiner();
  const asked = request.outputSchema !== undefined;
  const taken = callIdsOf(request);
  const calls: ModelCall[] = [];
  let held = "";
  const say = function* (chunk: string): Generator<ModelEvent> {
    if (chunk === "") return;
    if (asked && dialect.answerFormat === "instructed") held += chunk;
    else yield { type: "text", text: chunk };
  };
  for await (const part of parts) {
    if (part.type === "text-delta") yield* say(text.push(part.delta));
    else if (part.type === "text-end") yield* say(text.end());
    else if (part.type === "reasoning-delta") {
      const chunk = reasoning.push(part.delta);
      if (chunk !== "") yield { type: "reasoning", text: chunk };
    } else if (part.type === "tool-call" && part.providerExecuted !== true && !asked) {
      calls.push(toCall(part, takeCallId(part.toolCallId, taken), dialect));
    } else if (part.type === "error") throw part.error;
    else if (part.type === "finish") {
      checkFinish(part.finishReason);
      yield* say(text.end());
      if (held !== "") yield { type: "text", text: extractJson(held) };
      for (const call of calls) yield { type: "call", call };
      yield { type: "finish", reason: toReason(part.finishReason, calls.length > 0), usage: toUsage(part.usage) };
      return;
    }
  }
  throw new StreamEndedError("the stream ended without a finish");
}

/** Most libraries make up a finish when the stream just ends: it has no reason that the server gave. */
function checkFinish(reason: LanguageModelV3FinishReason): void {
  if (reason.unified === "error") throw new FailedAnswerError(reason.raw ?? "an error in the stream");
  if (reason.unified === "other" && reason.raw === undefined) throw new StreamEndedError("no reason for the finish");
}

function toReason(reason: LanguageModelV3FinishReason, called: boolean): FinishReason {
  if (called && (reason.unified === "stop" || reason.unified === "other")) return "tool-calls";
  return reason.unified === "error" ? "other" : reason.unified;
}

function toUsage(usage: LanguageModelV3Usage): Usage {
  const { inputTokens, outputTokens } = usage;
  return {
    ...(inputTokens.total === undefined ? {} : { inputTokens: inputTokens.total }),
    ...(outputTokens.total === undefined ? {} : { outputTokens: outputTokens.total }),
    ...(inputTokens.cacheRead === undefined ? {} : { cachedInputTokens: inputTokens.cacheRead }),
  };
}

function toCall(
  part: Extract<LanguageModelV3StreamPart, { type: "tool-call" }>,
  id: string,
  dialect: Dialect,
): ModelCall {
  const metadata = part.providerMetadata?.[dialect.key];
  return {
    id,
    name: wellFormed(part.toolName),
    input: parseInput(part.input),
    ...(dialect.keepsCallMetadata && metadata !== undefined
      ? { provider: wellFormedJson({ [dialect.key]: metadata as JsonObject }) as JsonObject }
      : {}),
  };
}

/** What cannot be parsed is passed on as it came: the tool's own check then tells the model what is wrong. */
function parseInput(input: string): JsonValue {
  if (input.trim() === "") return {};
  try {
    return wellFormedJson(JSON.parse(input) as JsonValue);
  } catch {
    return wellFormed(input);
  }
}

function wellFormedJson(value: JsonValue): JsonValue {
  if (typeof value === "string") return wellFormed(value);
  if (Array.isArray(value)) return value.map(wellFormedJson);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [wellFormed(key), wellFormedJson(item)]));
}

function callIdsOf(request: ModelRequest): Set<string> {
  return new Set(
    request.messages.flatMap((message) => (message.role === "assistant" ? message.calls.map((call) => call.id) : [])),
  );
}
