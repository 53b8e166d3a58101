import { codeOf } from "../errors.js";
import type { JsonValue } from "../json.js";
import type { Agent } from "./agent.js";
import type { AgentCore, StepOptions } from "./agent-core.js";
import { compareAgent, summaryOf } from "./agent-summary.js";
import { bindingOf } from "./binding.js";
import { closePending } from "./close-call.js";
import { STOPPED } from "./entries.js";
import { endingOf } from "./interrupt.js";
import { asLoop, type Loop, type LoopFunction } from "./loop.js";
import { recoverCalls } from "./recover-calls.js";
import { lock, save, saveFailing } from "./save.js";
import type { State } from "./state.js";
import { busyError } from "./state-errors.js";
import { beginStep } from "./step.js";

/**
 * Runs the loop until it stops. Everything is saved at the start and at the end, however it ends; what the steps save in
 * between is theirs.
 *
 * @returns the answer, or undefined when there is none
 * @throws what ended the run: the same error object, the signal's reason when it was aborted
 */
export async function run(
  agent: AgentCore & Agent,
  state: State,
  loop: LoopFunction,
  options: StepOptions = {},
): Promise<JsonValue | undefined> {
  if (state.isRunning) throw busyError(state.id);
  const signal = beginStep(agent, state, options);
  const binding = bindingOf(state);
  state.markRunning(true);
  binding.signal = signal;
  try {
    if (agent.store !== undefined) await lock(state, agent.store);
    if (state.openCalls.length > 0) await recoverCalls(agent, state, { signal });
    // A State that needs no step is saved, but a run that does nothing leaves no trace.
    const checked = asLoop(loop);
    const already = checked === undefined ? undefined : await stopsAlready(checked, state);
    if (already !== undefined) {
      await save(agent, state, { snapshot: true, signal });
      state.stopBy(already);
      return state.answer;
    }
    compareAgent(agent, state);
    state.record({ kind: "run_start", agent: summaryOf(agent) });
    await runLoop(agent, state, loop, signal);
  } finally {
    state.markRunning(false);
    binding.signal = undefined;
  }
  agent.emitter.throwFailure();
  return state.answer;
}

async function stopsAlready(loop: Loop, state: State): Promise<string | undefined> {
  if (state.stoppedBy === STOPPED.denied) state.stopBy(undefined);
  return loop.stopsNow(state);
}

async function runLoop(agent: AgentCore & Agent, state: State, loop: LoopFunction, signal: AbortSignal): Promise<void> {
  await saveStart(agent, state, signal);
  try {
    await loop(agent, state);
  } catch (error) {
    throw await fail(agent, state, signal.aborted ? signal.reason : error, signal);
  }
  if (state.finished) closePending(agent, state, { text: "the conversation was finished", leavesCalls: false });
  end(agent, state, state.stoppedBy ?? (state.isAnswered() ? STOPPED.answered : STOPPED.returned));
  await save(agent, state, { snapshot: true, signal });
}

/** A run whose start cannot be saved (an id that is taken, a full disk) does not begin: no request is made. */
async function saveStart(agent: AgentCore, state: State, signal: AbortSignal): Promise<void> {
  try {
    await save(agent, state, { snapshot: true, signal });
  } catch (error) {
    if (signal.aborted) throw await fail(agent, state, signal.reason, signal);
    end(agent, state, STOPPED.error);
    throw error;
  }
}

/** Ends the run the usual way all the same: calls are closed, everything is saved. Returns the error to throw. */
async function fail(agent: AgentCore, state: State, error: unknown, signal: AbortSignal): Promise<unknown> {
  const wasAborted = signal.aborted;
  const ending = endingOf(error);
  closePending(agent, state, ending);
  // An error with a code is one that somebody can act on (the model's, the store's); others are accidents.
  end(agent, state, !wasAborted && codeOf(error) !== undefined ? STOPPED.error : ending.reason);
  await saveFailing(agent, state, error, { snapshot: true, signal });
  return !wasAborted && signal.aborted ? signal.reason : error;
}

function end(agent: AgentCore, state: State, reason: string): void {
  state.record({ kind: "run_end", reason });
  agent.emitter.emit({ type: "run_end", reason });
}
