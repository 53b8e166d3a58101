import { problemOf } from "../errors.js";
import type { ModelCall } from "../model/model.js";
import { nearest } from "../text/nearest.js";
import type { AgentCore } from "./agent-core.js";
import { leavesCalls } from "./interrupt.js";
import type { State } from "./state.js";
import { type Tool, type ToolAccess, type ToolContext, ToolError } from "./tool.js";

/** A call that is ready to be decided on, or the words why it cannot run. */
export type PreparedCall =
  | {
      readonly call: ModelCall;
      readonly tool: Tool;
      readonly input: unknown;
      readonly context: ToolContext;
      readonly access: ToolAccess | undefined;
      readonly problem?: undefined;
    }
  | { readonly call: ModelCall; readonly problem: string };

/** Finds the tool, checks the input, asks the tool what the call would do. Changes nothing. */
export async function prepareCall(
  agent: AgentCore,
  state: State,
  call: ModelCall,
  signal: AbortSignal,
): Promise<PreparedCall> {
  const tool = agent.tools.find((candidate) => candidate.name === call.name);
  if (tool === undefined) return { call, problem: unknownTool(agent, call.name) };
  const context = contextOf(agent, state, call, tool, signal);
  try {
    // A copy: what a tool does to its input must not reach the context.
    const input = tool.parse(structuredClone(call.input));
    const access = await tool.access?.(input, context);
    return { call, tool, input, context, access };
  } catch (error) {
    return { call, problem: errorText(error) };
  }
}

/** A tool that can take its calls up again hears nothing of a signal that leaves them running. */
export function contextOf(
  agent: AgentCore,
  state: State,
  call: ModelCall,
  tool: Tool,
  signal: AbortSignal,
): ToolContext {
  return {
    callId: call.id,
    stateId: state.id,
    signal: tool.recover === undefined ? signal : signalThatEnds(signal),
    cwd: agent.cwdOf(state),
    outputPath: agent.outputPathOf(call.id),
    onOutput: (chunk) => agent.emitter.emit({ type: "call_output", callId: call.id, chunk }),
  };
}

function signalThatEnds(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const pass = () => {
    if (!leavesCalls(signal.reason)) controller.abort(signal.reason);
  };
  if (signal.aborted) pass();
  else signal.addEventListener("abort", pass, { once: true });
  return controller.signal;
}

/** What the model reads of an error: a ToolError's own words, else `Name: message`. */
export function errorText(error: unknown): string {
  // By name: a tool may come from another bundle of this library.
  if (error instanceof ToolError || (error instanceof Error && error.name === "ToolError")) return error.message;
  if (!(error instanceof Error)) return `Error: ${problemOf(error)}`;
  return `${error.name}: ${error.message}`;
}

function unknownTool(agent: AgentCore, name: string): string {
  const names = agent.tools.map((tool) => tool.name);
  if (names.length === 0) return `There is no tool named ${JSON.stringify(name)}: this conversation has no tools.`;
  const close = nearest(name, names);
  const meant = close === undefined ? "" : ` Did you mean ${close}?`;
  return `There is no tool named ${JSON.stringify(name)}.${meant} The tools are: ${names.join(", ")}.`;
}
