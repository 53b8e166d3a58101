import type { ModelCall } from "../model/model.js";
import type { AgentCore } from "./agent-core.js";
import { closingText, type Ending } from "./interrupt.js";
import type { ResultBody } from "./run-call.js";
import { save } from "./save.js";
import type { State } from "./state.js";

/** Records a result and saves it at once. A save that fails stops nothing here: the end writes what is missing. */
export async function closeCall(
  agent: AgentCore,
  state: State,
  result: ResultBody,
  signal: AbortSignal,
): Promise<void> {
  state.record(result);
  agent.emitter.emit({ type: "call_result", callId: result.callId, name: result.name, result });
  const isSaved = await save(agent, state, { signal, mustBeDurable: true }).then(
    () => true,
    () => false,
  );
  const tool = agent.tools.find((candidate) => candidate.name === result.name);
  if (!isSaved || tool?.settle === undefined) return;
  const call = { callId: result.callId, outputPath: agent.outputPathOf(result.callId) };
  // Files that nobody needs any more: what is left of them does no harm.
  await tool.settle(call, result.outputFile).catch(() => undefined);
}

/** Gives every pending call its result: none of them started. Those that go on without this process stay open. */
export function closePending(agent: AgentCore, state: State, ending: Pick<Ending, "text" | "leavesCalls">): void {
  const why = ending.text;
  for (const call of state.pendingCalls) {
    const tool = agent.tools.find((candidate) => candidate.name === call.name);
    if (ending.leavesCalls && state.isStarted(call.id) && tool?.recover !== undefined) continue;
    const result = state.isStarted(call.id)
      ? ({ ...resultHead(call), text: closingText.unknown, isError: true, outcome: "unknown" } as const)
      : notRun(call, why);
    state.record(result);
    agent.emitter.emit({ type: "call_result", callId: call.id, name: call.name, result });
  }
}

export function notRun(call: ModelCall, why: string): ResultBody {
  return { ...resultHead(call), text: `(not run: ${why})`, isError: true, outcome: "not_run" };
}

export function resultHead(call: ModelCall): Pick<ResultBody, "kind" | "callId" | "name"> {
  return { kind: "result", callId: call.id, name: call.name };
}
