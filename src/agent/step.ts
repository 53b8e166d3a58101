import type { AgentCore, StepOptions } from "./agent-core.js";
import { bindingOf, bindStore } from "./binding.js";
import { throwIfAborted } from "./grace.js";
import type { State } from "./state.js";
import { busyError, finishedError } from "./state-errors.js";

/**
 * What every step begins with. Returns the signal it runs under: its own, else that of the run that is under way.
 *
 * @throws {PerdureError} STATE_FINISHED, STATE_OTHER_STORE; the signal's reason when it is aborted already
 */
export function beginStep(agent: AgentCore, state: State, options: StepOptions): AbortSignal {
  if (state.finished) throw finishedError(state.id);
  if (agent.store !== undefined) bindStore(state, agent.store);
  const binding = bindingOf(state);
  binding.emitter = agent.emitter;
  const signal = options.signal ?? binding.signal ?? new AbortController().signal;
  throwIfAborted(signal);
  return signal;
}

/**
 * Runs a step that must have the State to itself: two at once would ask twice, or run a call twice.
 *
 * @throws {PerdureError} STATE_BUSY
 */
export async function alone<T>(state: State, step: () => Promise<T>): Promise<T> {
  const binding = bindingOf(state);
  if (binding.isStepping) throw busyError(state.id);
  binding.isStepping = true;
  try {
    return await step();
  } finally {
    binding.isStepping = false;
  }
}
