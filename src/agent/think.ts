import { codeOf, hasCode, problemOf } from "../errors.js";
import type { ModelRequest } from "../model/model.js";
import { modelError } from "../model/model-error.js";
import type { AgentCore, StepOptions } from "./agent-core.js";
import { isBlank } from "./clean.js";
import type { AgentEvent } from "./events.js";
import { throwIfAborted } from "./grace.js";
import { endingOf } from "./interrupt.js";
import { type Received, receive } from "./receive.js";
import { ReplyDraft } from "./reply-draft.js";
import { save, saveFailing } from "./save.js";
import type { State } from "./state.js";
import { callsPendingError, emptyError } from "./state-errors.js";
import { beginStep } from "./step.js";
import type { Tool } from "./tool.js";
import { trimContext } from "./trim-context.js";
import { callId, requestMessages } from "./valid-context.js";

/** A reply that was cut off by a lost connection is asked for again so often. */
const againMax = 2;
const againDelayMs = 300;

/**
 * Asks the model once. The messages are durable before the request goes out, the reply on return. What was already
 * streamed when the request fails or is aborted is kept as a cut-off reply; while it streams the store has a draft of it.
 */
export async function think(
  agent: AgentCore,
  state: State,
  options: StepOptions & { readonly tools?: readonly Tool[] | undefined } = {},
): Promise<void> {
  const signal = beginStep(agent, state, options);
  const pending = state.pendingCalls;
  if (pending.length > 0)
    throw callsPendingError(
      state.id,
      pending.map((call) => call.name),
    );
  // Durable before anything can fail, a model that cannot be opened included.
  await save(agent, state, { signal });
  const tools = (options.tools ?? agent.tools).map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema,
  }));
  for (let again = 0; ; again += 1) {
    const failure = await request(agent, state, { system: agent.system, tools }, signal, again < againMax);
    if (failure === undefined) break;
    if (hasCode(failure, "MODEL_TOO_LARGE")) continue; // It is smaller now.
    const delayMs = againDelayMs * 2 ** again;
    agent.emitter.emit({ type: "retry", attempt: again + 1, delayMs, reason: problemOf(failure) });
    await agent.clock.sleep(delayMs, signal);
    throwIfAborted(signal);
  }
  agent.emitter.throwFailure();
}

/** Undefined when a whole reply came; the failure when the connection was cut and may be tried again. */
async function request(
  agent: AgentCore,
  state: State,
  parts: Omit<ModelRequest, "messages">,
  signal: AbortSignal,
  mayAskAgain: boolean,
): Promise<unknown> {
  const received: Received = { text: "", calls: [], finish: undefined };
  const draft = new ReplyDraft(agent, state, received);
  let reply: ReplyEvent;
  let isRecorded = false;
  try {
    const model = await agent.openModel();
    const messages = requestMessages(state.context);
    if (messages.length === 0) throw emptyError(state.id);
    draft.begin(state.record({ kind: "request", model: model.name }).seq);
    isRecorded = true;
    await save(agent, state, { signal });
    throwIfAborted(signal);
    await receive(agent, model, { ...parts, messages }, received, signal, draft);
    draft.end();
    reply = recordReply(state, received, model.name);
  } catch (error) {
    draft.end();
    const failure = signal.aborted ? signal.reason : error;
    const isCut = codeOf(failure) === "MODEL_STREAM_CUT";
    if (isRecorded) recordFailure(agent, state, received, failure, signal.aborted);
    else if (!signal.aborted) recordError(state, failure);
    if (isCut && mayAskAgain) {
      await save(agent, state, { signal });
      draft.clear();
      return failure;
    }
    if (isRecorded && !signal.aborted && hasCode(failure, "MODEL_TOO_LARGE") && trimContext(agent, state)) {
      await save(agent, state, { signal });
      return failure;
    }
    if (isCut && !isBlank(received.text)) recordError(state, failure);
    await saveFailing(agent, state, failure);
    draft.clear();
    throw failure;
  }
  await save(agent, state, { signal });
  draft.clear();
  // Not before: what is shown as finished cannot be lost any more.
  agent.emitter.emit(reply);
  return undefined;
}

type ReplyEvent = Extract<AgentEvent, { type: "reply" }>;

function recordReply(state: State, received: Received, model: string): ReplyEvent {
  const { text, finish } = received;
  if (finish === undefined)
    throw modelError("MODEL_STREAM_CUT", "The model's reply ended in the middle.", "Ask again.");
  // At the output limit the last call may lack a part of its input: none of them may run.
  const cutOff = finish.reason === "length" && received.calls.length > 0 ? "the output limit was reached" : undefined;
  const seq = state.history.length;
  const calls = cutOff === undefined ? received.calls.map((call, index) => ({ ...call, id: callId(seq, index) })) : [];
  const reply = { kind: "reply", text, calls, model, usage: finish.usage, finish: finish.reason } as const;
  state.record(cutOff === undefined ? reply : { ...reply, cutOff });
  return { type: "reply", text, calls, usage: finish.usage, cutOff };
}

function recordFailure(agent: AgentCore, state: State, received: Received, failure: unknown, isAborted: boolean): void {
  if (isBlank(received.text)) {
    // That somebody stopped it is no error; the end of the run says so.
    if (!isAborted) recordError(state, failure);
    return;
  }
  const cutOff = isAborted ? endingOf(failure).text : problemOf(failure);
  const model = state.model ?? agent.modelName;
  const { text } = received;
  state.record({ kind: "reply", text, calls: [], model, usage: {}, finish: "other", cutOff });
  agent.emitter.emit({ type: "reply", text, calls: [], usage: {}, cutOff });
  if (!isAborted && codeOf(failure) !== "MODEL_STREAM_CUT") recordError(state, failure);
}

/** Closes the request: the message stays, and a later run answers it. */
function recordError(state: State, failure: unknown): void {
  const code = codeOf(failure);
  state.record({
    kind: "error",
    step: "request",
    message: problemOf(failure),
    ...(code === undefined ? {} : { code }),
  });
}
