import { cutText, HISTORY_BYTES_MAX } from "../text/cut.js";
import type { AgentCore } from "./agent-core.js";
import { cleanText, isBlank } from "./clean.js";
import type { EntryBody } from "./entries.js";
import { graceMs } from "./grace.js";
import { closingText, endingOf } from "./interrupt.js";
import { errorText, type PreparedCall } from "./prepare-call.js";
import type { ToolOutput } from "./tool.js";

export type ResultBody = Extract<EntryBody, { kind: "result" }>;

/**
 * Runs one call and says what becomes of it; never throws. When the signal is aborted, a tool has a short grace to end by
 * itself; then the call is closed without it.
 */
export async function runCall(
  agent: AgentCore,
  prepared: Exclude<PreparedCall, { problem: string }>,
): Promise<ResultBody> {
  const { call, tool, input, context } = prepared;
  const { signal } = context;
  const startedAt = agent.clock.now();
  const settled = new AbortController();
  const outcome = await Promise.race([
    started(() => tool.run(input, context)),
    untilGraceIsOver(agent, signal, settled.signal),
  ]);
  settled.abort();
  const durationMs = Math.max(0, agent.clock.now() - startedAt);
  const head = { kind: "result", callId: call.id, name: call.name, durationMs } as const;
  if (signal.aborted) {
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

type Outcome = { readonly output: ToolOutput } | { readonly error: unknown } | { readonly graceIsOver: true };

async function started(run: () => Promise<ToolOutput>): Promise<Outcome> {
  try {
    const output: unknown = await run();
    if (isToolOutput(output)) return { output };
    return { error: new TypeError("the tool returned no text") };
  } catch (error) {
    return { error };
  }
}

function untilGraceIsOver(agent: AgentCore, signal: AbortSignal, settled: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    const wait = () => void agent.clock.sleep(graceMs, settled).then(() => resolve({ graceIsOver: true }));
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true, signal: settled });
  });
}

/** A result as history keeps it: well-formed, at most 64 KiB, with what was left out counted. */
export function fitting(output: ToolOutput): Pick<ResultBody, "text" | "omittedBytes" | "outputFile"> {
  const cut = cutText(cleanText(output.text), HISTORY_BYTES_MAX);
  const omittedBytes = cut.omittedBytes + (output.omittedBytes ?? 0);
  return {
    text: cut.text,
    ...(omittedBytes > 0 ? { omittedBytes } : {}),
    ...(output.outputFile === undefined ? {} : { outputFile: output.outputFile }),
  };
}

function isToolOutput(value: unknown): value is ToolOutput {
  return typeof value === "object" && value !== null && "text" in value && typeof value.text === "string";
}
