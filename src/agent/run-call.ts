import type { ModelCall } from "../model/model.js";
import { cutText, HISTORY_BYTES_MAX } from "../text/cut.js";
import type { AgentCore } from "./agent-core.js";
import { cleanText, isBlank } from "./clean.js";
import type { EntryBody } from "./entries.js";
import { graceMs } from "./grace.js";
import { closingText, endingOf, leavesCalls } from "./interrupt.js";
import { errorText, type PreparedCall } from "./prepare-call.js";
import type { Tool, ToolOutput } from "./tool.js";

export type ResultBody = Extract<EntryBody, { kind: "result" }>;

/** One call at work: it ends with output, an error, or words of the one who finds out about it. */
export interface CallWork {
  readonly call: ModelCall;
  readonly tool: Tool;
  /** The signal of the run. */
  readonly signal: AbortSignal;
  work(): Promise<{ readonly output: ToolOutput } | { readonly words: Words }>;
}

/** A result that says why there is no output. */
export type Words = Pick<ResultBody, "text" | "outcome">;

/**
 * Runs one call and says what becomes of it; never throws. When the signal is aborted, a tool has a short grace to end by
 * itself; then the call is closed without it. Undefined: the call goes on without this process, and stays open.
 */
export function runCall(
  agent: AgentCore,
  prepared: Exclude<PreparedCall, { problem: string }>,
  signal: AbortSignal,
): Promise<ResultBody | undefined> {
  const { call, tool, input, context } = prepared;
  return finishCall(agent, { call, tool, signal, work: async () => ({ output: await tool.run(input, context) }) });
}

/** The same for any work that a call is. */
export async function finishCall(
  agent: AgentCore,
  { call, tool, signal, work }: CallWork,
): Promise<ResultBody | undefined> {
  const startedAt = agent.clock.now();
  const settled = new AbortController();
  const outcome = await Promise.race([
    started(work),
    untilGraceIsOver(agent, signal, settled.signal, tool.recover !== undefined),
  ]);
  settled.abort();
  if ("isLeft" in outcome) return undefined;
  const durationMs = Math.max(0, agent.clock.now() - startedAt);
  const head = { kind: "result", callId: call.id, name: call.name, durationMs } as const;
  if ("words" in outcome) {
    const { durationMs: _, ...rest } = head;
    return { ...rest, ...fitting({ text: outcome.words.text }), isError: true, outcome: outcome.words.outcome };
  }
  const isLeaving = tool.recover !== undefined && leavesCalls(signal.reason);
  if (signal.aborted && !isLeaving) {
    const ending = endingOf(signal.reason);
    const closing = closingText.running(ending);
    // What a tool returns when it is told to stop is kept, before the words that it was.
    const output = "output" in outcome && !isBlank(outcome.output.text) ? outcome.output : undefined;
    const closed = { isError: true, outcome: ending.outcome } as const;
    if (output === undefined) return { ...head, ...closed, text: closing };
    const kept = fitting(output);
    return { ...head, ...closed, ...kept, text: `${kept.text}\n${closing}` };
  }
  if ("output" in outcome) {
    const isError = outcome.output.isError === true;
    return { ...head, ...fitting(outcome.output), isError, outcome: isError ? "error" : "ok" };
  }
  const text = "error" in outcome ? errorText(outcome.error) : "";
  return { ...head, ...fitting({ text }), isError: true, outcome: "error" };
}

type Outcome =
  | { readonly output: ToolOutput }
  | { readonly words: Words }
  | { readonly error: unknown }
  | { readonly graceIsOver: true }
  | { readonly isLeft: true };

async function started(work: CallWork["work"]): Promise<Outcome> {
  try {
    const ended = await work();
    if ("words" in ended || isToolOutput(ended.output)) return ended;
    return { error: new TypeError("the tool returned no text") };
  } catch (error) {
    return { error };
  }
}

function untilGraceIsOver(
  agent: AgentCore,
  signal: AbortSignal,
  settled: AbortSignal,
  canBeLeft: boolean,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const wait = () => {
      if (canBeLeft && leavesCalls(signal.reason)) return resolve({ isLeft: true });
      void agent.clock.sleep(graceMs, settled).then(() => resolve({ graceIsOver: true }));
    };
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true, signal: settled });
  });
}

/** A result as history keeps it: well-formed, at most 64 KiB, with what was left out counted. */
export function fitting(
  output: ToolOutput,
): Pick<ResultBody, "text" | "omittedBytes" | "outputFile" | "exitCode" | "durationMs"> {
  const cut = cutText(cleanText(output.text), HISTORY_BYTES_MAX);
  const omittedBytes = cut.omittedBytes + (output.omittedBytes ?? 0);
  return {
    text: cut.text,
    ...(omittedBytes > 0 ? { omittedBytes } : {}),
    ...(output.outputFile === undefined ? {} : { outputFile: output.outputFile }),
    ...(output.exitCode === undefined ? {} : { exitCode: output.exitCode }),
    ...(output.durationMs === undefined ? {} : { durationMs: output.durationMs }),
  };
}

function isToolOutput(value: unknown): value is ToolOutput {
  return typeof value === "object" && value !== null && "text" in value && typeof value.text === "string";
}
