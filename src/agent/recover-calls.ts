import { problemOf } from "../errors.js";
import type { ModelCall } from "../model/model.js";
import type { AgentCore, StepOptions } from "./agent-core.js";
import { closeCall } from "./close-call.js";
import { decideCall } from "./decide-call.js";
import type { HistoryEntry } from "./entries.js";
import { closingText, endingOf } from "./interrupt.js";
import type { Decision } from "./permissions.js";
import { contextOf, prepareCall } from "./prepare-call.js";
import { finishCall, type ResultBody, runCall, type Words } from "./run-call.js";
import { save, saveFailing } from "./save.js";
import type { State } from "./state.js";
import { beginStep } from "./step.js";
import type { Recovered, Tool } from "./tool.js";

/**
 * Finds out what became of the calls that an earlier process left open. Each gets its result as it comes, saved at once;
 * calls that still run are waited for. Nothing but what only reads is run again by itself.
 *
 * When the signal is aborted the calls are ended and closed as in any run, and the end is recorded, so that a turn that the
 * person stopped does not go on; a signal that leaves calls running changes nothing.
 *
 * @throws the store's errors; the signal's reason when it is aborted
 */
export async function recoverCalls(agent: AgentCore, state: State, options: StepOptions = {}): Promise<void> {
  const calls = state.openCalls;
  if (calls.length === 0) return;
  const signal = beginStep(agent, state, options);
  await Promise.all(
    calls.map(async (call) => {
      agent.emitter.emit({ type: "call_taken_up", call });
      const result = await recoverCall(agent, state, call, signal);
      if (result !== undefined) await closeCall(agent, state, result, signal);
    }),
  );
  if (signal.aborted) {
    const ending = endingOf(signal.reason);
    if (!ending.leavesCalls) {
      state.record({ kind: "run_end", reason: ending.reason });
      agent.emitter.emit({ type: "run_end", reason: ending.reason });
      await saveFailing(agent, state, signal.reason, { snapshot: true });
    }
    throw signal.reason;
  }
  await save(agent, state, { snapshot: true, signal });
  agent.emitter.throwFailure();
}

async function recoverCall(
  agent: AgentCore,
  state: State,
  call: ModelCall,
  signal: AbortSignal,
): Promise<ResultBody | undefined> {
  const tool = agent.tools.find((candidate) => candidate.name === call.name);
  const start = startOf(state, call);
  const wasStarted = state.isStarted(call.id);
  const nobodyKnows = wasStarted ? unknown() : notStarted;
  if (tool === undefined) return closed(call, nobodyKnows);
  if (tool.recover !== undefined) {
    return finishCall(agent, {
      call,
      tool,
      signal,
      work: () => recovered(agent, state, call, tool, signal, { wasStarted, restarted: isRestarted(agent, start) }),
    });
  }
  if (!wasStarted || tool.whenUnknown === undefined || tool.whenUnknown === "never") return closed(call, nobodyKnows);
  return runAgain(agent, state, call, signal);
}

async function recovered(
  agent: AgentCore,
  state: State,
  call: ModelCall,
  tool: Tool,
  signal: AbortSignal,
  facts: { readonly wasStarted: boolean; readonly restarted: boolean },
): Promise<{ readonly output: Exclude<Recovered, string | { unknown: string }> } | { readonly words: Words }> {
  let outcome: Recovered;
  try {
    const input = tool.parse(structuredClone(call.input));
    outcome = (await tool.recover?.(input, { ...contextOf(agent, state, call, tool, signal), ...facts })) ?? "unknown";
  } catch (error) {
    // That nobody can look is not that it did not run.
    return { words: facts.wasStarted ? unknown(problemOf(error)) : notStarted };
  }
  if (outcome === "not_run") return { words: notStarted };
  if (outcome === "unknown") return { words: unknown() };
  if ("unknown" in outcome) return { words: unknown(outcome.unknown) };
  return { output: outcome };
}

/** For a tool that says so: what only reads runs once more, for the rest a person is asked. */
async function runAgain(
  agent: AgentCore,
  state: State,
  call: ModelCall,
  signal: AbortSignal,
): Promise<ResultBody | undefined> {
  const prepared = await prepareCall(agent, state, call, signal);
  if (prepared.problem !== undefined) return closed(call, unknown());
  const asks = prepared.tool.whenUnknown === "ask";
  let decision: Decision;
  try {
    decision = await decideCall(agent, state, prepared, asks ? { mayHaveRun: true } : {});
  } catch (error) {
    // A permission that throws refuses, here as anywhere; stopping is told by who stopped.
    return closed(call, unknown(signal.aborted ? undefined : `it was not run again: ${problemOf(error)}`));
  }
  if (!decision.allow || signal.aborted) return closed(call, unknown());
  return runCall(agent, prepared, signal);
}

function closed(call: ModelCall, words: Words): ResultBody {
  return { kind: "result", callId: call.id, name: call.name, isError: true, ...words };
}

const notStarted: Words = { text: closingText.notStarted, outcome: "not_run" };

function unknown(known?: string): Words {
  return { text: known === undefined ? closingText.unknown : `${closingText.unknown}\n(${known})`, outcome: "unknown" };
}

function startOf(state: State, call: ModelCall): HistoryEntry<"call_started"> | undefined {
  for (let seq = state.history.length - 1; seq >= 0; seq -= 1) {
    const entry = state.history[seq];
    if (entry?.kind === "call_started" && entry.callId === call.id) return entry;
  }
  return undefined;
}

function isRestarted(agent: AgentCore, start: HistoryEntry<"call_started"> | undefined): boolean {
  return start?.boot === undefined || agent.boot === undefined || !agent.boot.isSame(start.boot);
}
