import type { HistoryEntry } from "../agent/entries.js";
import { closingText, endingOf, leavesCalls } from "../agent/interrupt.js";
import type { State } from "../agent/state.js";
import { hasCode, problemOf } from "../errors.js";
import { redactKeys } from "../model/default-models.js";
import type { CommandResult, RunningCommand } from "../runner/runner.js";
import type { SessionEvent } from "./session.js";
import type { SessionParts } from "./session-parts.js";
import type { Toolbox } from "./toolbox.js";

/** A person's own command may take long; it must not run for ever when nobody comes back. */
const TIMEOUT_MS = 24 * 60 * 60 * 1000;
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

export interface ShellWork {
  readonly state: State;
  readonly toolbox: Toolbox;
  readonly cwd: string;
  /** Holds the keys that are taken out of what a command prints. */
  readonly env: SessionParts["env"];
  readonly signal: AbortSignal;
  /** Durable on return, unless saving fails, which is told. */
  save(): Promise<void>;
  emit(event: SessionEvent): void;
}

type ShellEnd = Pick<HistoryEntry<"shell">, "output" | "exitCode" | "outcome" | "durationMs">;

/** The person's own command: no permission is asked, its time is the person's, Ctrl+C ends the whole tree. */
export async function runShellCommand(work: ShellWork, command: string): Promise<void> {
  const { state, toolbox, cwd } = work;
  const callId = `shell_${state.history.length}`;
  state.record({ kind: "shell_started", callId, command, boot: toolbox.boot.id });
  // Durable before it starts: a later process takes it up. A disk that is full keeps no person from making room.
  await work.save();
  const running = toolbox.runner.start(callId, {
    command,
    cwd,
    env: toolbox.environment,
    timeoutMs: TIMEOUT_MS,
    folder: toolbox.callFolder(callId),
    outputBytesMax: OUTPUT_BYTES_MAX,
    onOutput: (chunk) => show(work, chunk),
  });
  await finish(work, callId, command, () => follow(running, work.signal));
}

/** A command that an earlier process started: its output enters the conversation all the same. */
export async function takeUpShellCommand(work: ShellWork, start: HistoryEntry<"shell_started">): Promise<void> {
  const { callId, command, boot } = start;
  const { toolbox } = work;
  work.emit({ type: "shell_taken_up", command });
  await finish(work, callId, command, async () => {
    const found = await toolbox.runner.attach(callId, {
      folder: toolbox.callFolder(callId),
      onOutput: (chunk) => show(work, chunk),
    });
    if (found.state === "finished") {
      show(work, found.result.text);
      return endOf(found.result, undefined);
    }
    if (found.state === "running") return follow(found.command, work.signal);
    const isSure = boot !== undefined && toolbox.boot.isSame(boot);
    return found.state === "never_started" && isSure
      ? { output: closingText.notStarted, exitCode: null, outcome: "not_run" }
      : { output: closingText.unknown, exitCode: null, outcome: "unknown" };
  });
}

function show(work: ShellWork, chunk: string): void {
  work.emit({ type: "shell_output", chunk: redactKeys(chunk, work.env) });
}

async function finish(
  work: ShellWork,
  callId: string,
  command: string,
  run: () => Promise<(ShellEnd & { outputFile?: string }) | undefined>,
): Promise<void> {
  const end = await run().catch((error: unknown): ShellEnd => {
    if (hasCode(error, "COMMAND_LOST")) return { output: closingText.unknown, exitCode: null, outcome: "unknown" };
    return { output: `(not run: ${problemOf(error)})`, exitCode: null, outcome: "not_run" };
  });
  // It goes on without this process: the next one takes it up.
  if (end === undefined) return;
  const { output, exitCode, outputFile, ...more } = { outputFile: undefined, ...end };
  work.state.addShell(command, redactKeys(output, work.env), exitCode, { callId, ...more });
  const { outcome } = more;
  if (outcome !== undefined) show(work, `${output}\n`);
  work.emit({ type: "shell_end", exitCode, ...(outcome === undefined ? {} : { outcome }) });
  await work.save();
  // Until its output is durable it may have to be taken up again.
  if (work.state.savedLength < work.state.history.length) return;
  await work.toolbox.runner.settle(work.toolbox.callFolder(callId), outputFile !== undefined);
}

async function follow(
  running: RunningCommand,
  signal: AbortSignal,
): Promise<(ShellEnd & { outputFile?: string }) | undefined> {
  const settled = new AbortController();
  const left = new Promise<undefined>((resolve) => {
    const stop = () => {
      if (leavesCalls(signal.reason)) resolve(undefined);
      else void running.end();
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true, signal: settled.signal });
  });
  try {
    const result = await Promise.race([running.done, left]);
    return result === undefined ? undefined : endOf(result, signal.aborted ? signal.reason : undefined);
  } finally {
    settled.abort();
  }
}

function endOf(result: CommandResult, reason: unknown): ShellEnd & { outputFile?: string } {
  const { text, exitCode, durationMs, outputFile } = result;
  const separator = text === "" || text.endsWith("\n") ? "" : "\n";
  const notes = [
    ...(reason === undefined || leavesCalls(reason) ? [] : [`(${endingOf(reason).text})`]),
    ...(result.timedOut ? ["(ended: its time was over)"] : []),
    ...(outputFile === undefined
      ? []
      : [`(${result.totalBytes > OUTPUT_BYTES_MAX ? "the beginning of the output" : "whole output"}: ${outputFile})`]),
  ];
  const output = notes.length === 0 ? text : `${text}${separator}${notes.join("\n")}`;
  return { output, exitCode, durationMs, ...(outputFile === undefined ? {} : { outputFile }) };
}
