import { codeOf, problemOf } from "../errors.js";
import type { JsonObject, JsonValue } from "../json.js";
import type { ModelMessage, ModelRequest, Usage } from "../model/model.js";
import { modelError } from "../model/model-error.js";
import type { AgentCore, StepOptions } from "./agent-core.js";
import { isBlank } from "./clean.js";
import { toJsonAnswer } from "./json-check.js";
import { type Received, receive } from "./receive.js";
import { save, saveFailing } from "./save.js";
import { type Checked, checkWith, jsonSchemaOf } from "./schema.js";
import type { State } from "./state.js";
import { beginStep } from "./step.js";
import type { StandardSchema } from "./tool.js";
import { requestMessages, userMessage } from "./valid-context.js";

export interface AskOptions<T> extends StepOptions {
  /** The shape of the answer. Without one the answer is text. */
  readonly schema?: StandardSchema<T>;
}

/** A bad value is asked for again so often. */
const againMax = 1;

/**
 * Asks the model a question about the conversation. The question and its answer go into the history, not into the
 * context. Durable on return.
 *
 * @throws {PerdureError} MODEL_BAD_REPLY when the answer does not fit the schema, also the second time; ANSWER_NOT_JSON
 *   when what the schema makes of it cannot be saved
 */
export async function ask<T>(
  agent: AgentCore,
  state: State,
  prompt: string,
  options: AskOptions<T> = {},
): Promise<T | string> {
  const signal = beginStep(agent, state, options);
  const { schema } = options;
  await save(agent, state, { signal });
  try {
    const outputSchema = schema === undefined ? undefined : jsonSchemaOf(schema);
    const asked = await askUntilGood(agent, state, prompt, schema, outputSchema, signal);
    const answer = toJsonAnswer(asked.value);
    state.record({ kind: "ask", prompt, answer, model: asked.model, usage: asked.usage });
    await save(agent, state, { signal });
    agent.emitter.throwFailure();
    return asked.value;
  } catch (error) {
    const failure = signal.aborted ? signal.reason : error;
    const code = codeOf(failure);
    state.record({ kind: "error", step: "ask", message: problemOf(failure), ...(code === undefined ? {} : { code }) });
    await saveFailing(agent, state, failure);
    throw failure;
  }
}

interface Asked<T> {
  readonly value: T | string;
  readonly model: string;
  readonly usage: Usage;
}

async function askUntilGood<T>(
  agent: AgentCore,
  state: State,
  prompt: string,
  schema: StandardSchema<T> | undefined,
  outputSchema: JsonObject | undefined,
  signal: AbortSignal,
): Promise<Asked<T>> {
  const model = await agent.openModel();
  const tools = agent.tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  let messages: ModelMessage[] = [...requestMessages(state.context), userMessage(prompt)];
  let usage: Usage = {};
  for (let again = 0; ; again += 1) {
    const received: Received = { text: "", calls: [], finish: undefined };
    const shape = outputSchema === undefined ? {} : { outputSchema };
    const request: ModelRequest = { system: agent.system, messages, tools, ...shape };
    await receive(agent, model, request, received, signal);
    if (received.finish === undefined)
      throw modelError("MODEL_STREAM_CUT", "The model's reply ended in the middle.", "Ask again.");
    usage = sum(usage, received.finish.usage);
    const checked = await check(received.text, schema);
    if (checked.problems === undefined) return { value: checked.value, model: model.name, usage };
    const problem = checked.problems.join("; ");
    if (again >= againMax) {
      throw modelError(
        "MODEL_BAD_REPLY",
        `The model's answer does not fit: ${problem}`,
        "Ask in other words, or with a simpler schema.",
      );
    }
    const reply: ModelMessage[] = isBlank(received.text) ? [] : [{ role: "assistant", text: received.text, calls: [] }];
    messages = [
      ...messages,
      ...reply,
      userMessage(`That answer does not fit: ${problem}. Answer again, with the value only.`),
    ];
  }
}

async function check<T>(text: string, schema: StandardSchema<T> | undefined): Promise<Checked<T | string>> {
  if (schema === undefined) return isBlank(text) ? { problems: ["it is empty"] } : { value: text };
  const parsed = parse(text);
  return parsed === undefined ? { problems: ["it is not JSON"] } : checkWith(schema, parsed.value);
}

/** Models put JSON into a code fence now and then. */
function parse(text: string): { readonly value: JsonValue } | undefined {
  const body = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text;
  try {
    return { value: JSON.parse(body) as JsonValue };
  } catch {
    return undefined;
  }
}

function sum(a: Usage, b: Usage): Usage {
  const total: { -readonly [K in keyof Usage]: number } = {};
  for (const key of ["inputTokens", "outputTokens", "cachedInputTokens"] as const) {
    const [left, right] = [a[key], b[key]];
    if (left !== undefined || right !== undefined) total[key] = (left ?? 0) + (right ?? 0);
  }
  return total;
}
