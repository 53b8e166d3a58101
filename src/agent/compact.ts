import { codeOf, problemOf } from "../errors.js";
import type { Usage } from "../model/model.js";
import { modelError } from "../model/model-error.js";
import type { AgentCore, StepOptions } from "./agent-core.js";
import { isBlank } from "./clean.js";
import { type CompactionPlan, planCompaction } from "./compaction-plan.js";
import { type Received, receive } from "./receive.js";
import { save, saveFailing } from "./save.js";
import type { State } from "./state.js";
import { callsPendingError } from "./state-errors.js";
import { beginStep } from "./step.js";

const instructions =
  "You summarise conversations between a person and an assistant that uses tools. Write what the assistant must know to go on: what the person wants, what was decided and found out, what was done (files, commands, results), what is still open. Keep names, paths, numbers and exact words that matter. Write the summary only.";

/**
 * Replaces the older part of the context by a summary of the model's. The history keeps everything. Durable on return;
 * nothing changes when the request fails, is aborted or brings nothing.
 *
 * @returns whether there was anything to summarise
 * @throws {PerdureError} CALLS_PENDING, MODEL_BAD_REPLY for an empty summary, and what the model throws
 */
export async function compact(agent: AgentCore, state: State, options: StepOptions = {}): Promise<boolean> {
  const signal = beginStep(agent, state, options);
  const pending = state.pendingCalls;
  if (pending.length > 0)
    throw callsPendingError(
      state.id,
      pending.map((call) => call.name),
    );
  await save(agent, state, { signal });
  const plan = planCompaction(state.contextPositions);
  if (plan === undefined) return false;
  try {
    await summarise(agent, state, plan, signal);
  } catch (error) {
    const failure = signal.aborted ? signal.reason : error;
    const code = codeOf(failure);
    const message = problemOf(failure);
    state.record({ kind: "error", step: "compaction", message, ...(code === undefined ? {} : { code }) });
    await saveFailing(agent, state, failure);
    throw failure;
  }
  await save(agent, state, { snapshot: true, signal });
  agent.emitter.throwFailure();
  return true;
}

async function summarise(agent: AgentCore, state: State, plan: CompactionPlan, signal: AbortSignal): Promise<void> {
  const model = await agent.openModel();
  const received: Received = { text: "", calls: [], finish: undefined };
  const text = `Summarise this conversation:\n\n${plan.transcript}`;
  const request = { system: instructions, messages: [{ role: "user", text }] as const, tools: [] };
  await receive(agent, model, request, received, signal);
  if (received.finish === undefined || isBlank(received.text)) {
    throw modelError(
      "MODEL_BAD_REPLY",
      "The model wrote no summary; nothing was changed.",
      "Ask again, or use another model.",
    );
  }
  const usage: Usage = received.finish.usage;
  const summary =
    plan.openMessage === undefined ? received.text : `${received.text}\n\n${openMessagePart(plan.openMessage)}`;
  state.record({ kind: "compaction", summary, keepFrom: plan.keepFrom, model: model.name, usage });
  agent.emitter.emit({ type: "compacted", summary });
}

function openMessagePart(message: string): string {
  return `The person's message that is being worked on, word for word:\n${message}`;
}
