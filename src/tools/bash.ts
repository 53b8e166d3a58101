import { dirname } from "node:path";
import { z } from "zod";
import { defineTool } from "../agent/define-tool.js";
import { type Recovered, type Tool, ToolError, type ToolOutput } from "../agent/tool.js";
import { hasCode, problemOf } from "../errors.js";
import type { CommandResult, Runner, RunningCommand } from "../runner/runner.js";
import { workingFolder } from "./paths.js";

const TIMEOUT_MS = 120_000;
const TIMEOUT_MS_MAX = 3_600_000;
/** Of the whole output that goes to the call's own file. The rest is drained and counted. */
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

export interface BashOptions {
  readonly runner: Runner;
  readonly env: Readonly<Record<string, string>>;
  /** Without `timeoutMs` in the call. */
  readonly timeoutMs?: number;
}

export function bashTool(options: BashOptions): Tool {
  return defineTool({
    name: "bash",
    description:
      "Runs a command with bash in the working folder and returns its output (stdout and stderr) and its exit code. " +
      "There is no terminal and no input: pass flags that keep programs from asking. Long output is cut in the middle; " +
      "the result then names the file that holds all of it.",
    input: z.object({
      command: z.string().min(1).describe("The command, as one would type it"),
      timeoutMs: z
        .number()
        .int()
        .min(1)
        .max(TIMEOUT_MS_MAX)
        .optional()
        .describe(`When to end it, in milliseconds (default ${options.timeoutMs ?? TIMEOUT_MS})`),
    }),
    access: ({ command }) => ({ action: "run", inside: false, subject: command }),
    run: async ({ command, timeoutMs = options.timeoutMs ?? TIMEOUT_MS }, context) => {
      if (command.includes("\0")) throw new ToolError("a command cannot hold a NUL character");
      context.signal.throwIfAborted();
      const cwd = await workingFolder(context.cwd);
      try {
        const running = options.runner.start(context.callId, {
          command,
          cwd,
          env: { ...options.env, CHAT_CONVERSATION: context.stateId },
          timeoutMs,
          folder: folderOf(context),
          outputBytesMax: OUTPUT_BYTES_MAX,
          onOutput: (chunk) => context.onOutput(chunk),
        });
        return commandOutput(await untilDone(running, context.signal), timeoutMs, context.signal.aborted);
      } catch (error) {
        if (hasCode(error, "COMMAND_NOT_STARTED", "COMMAND_LOST")) {
          throw new ToolError(problemOf(error), { cause: error });
        }
        throw error;
      }
    },
    recover: async ({ timeoutMs = options.timeoutMs ?? TIMEOUT_MS }, context): Promise<Recovered> => {
      const folder = folderOf(context);
      if (folder === undefined) return "unknown";
      const found = await options.runner.attach(context.callId, {
        folder,
        onOutput: (chunk) => context.onOutput(chunk),
      });
      switch (found.state) {
        case "finished":
          context.onOutput(found.result.text);
          return { ...commandOutput(found.result, timeoutMs, false), durationMs: found.result.durationMs };
        case "running": {
          const result = await untilDone(found.command, context.signal);
          return { ...commandOutput(result, timeoutMs, context.signal.aborted), durationMs: result.durationMs };
        }
        case "never_started":
          // Its start was saved; that it was prepared may have been lost when the machine went down.
          return context.wasStarted && context.restarted ? "unknown" : "not_run";
        case "unknown":
          return "unknown";
      }
    },
    settle: async (call, outputFile) => {
      const folder = folderOf(call);
      if (folder !== undefined) await options.runner.settle(folder, outputFile !== undefined);
    },
  });
}

function folderOf(call: { readonly outputPath: string | undefined }): string | undefined {
  return call.outputPath === undefined ? undefined : dirname(call.outputPath);
}

async function untilDone(running: RunningCommand, signal: AbortSignal): Promise<CommandResult> {
  const end = () => void running.end();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    return await running.done;
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** What the file holds: all of the output, or its beginning. */
function whichBytes(totalBytes: number): string {
  const bytes = (count: number) => `${count.toLocaleString("en-US")} bytes`;
  if (totalBytes <= OUTPUT_BYTES_MAX) return `whole output, ${bytes(totalBytes)}`;
  return `the first ${bytes(OUTPUT_BYTES_MAX)} of ${bytes(totalBytes)} of output`;
}

/** `stopped`: the run was stopped, and who closes the call says so. */
function commandOutput(result: CommandResult, timeoutMs: number, stopped: boolean): ToolOutput {
  const notes: string[] = [];
  if (stopped) {
    if (result.text === "") return { text: "", isError: true };
  } else if (result.timedOut) {
    notes.push(`timed out after ${seconds(timeoutMs)}: the command and everything it had started were ended`);
  } else if (result.signal !== null) notes.push(`ended by ${result.signal}`);
  else if (result.exitCode !== 0) notes.push(`exit code ${result.exitCode}`);
  const pids = result.backgroundPids ?? [];
  if (pids.length > 0) {
    const some = pids.slice(0, 20).join(", ") + (pids.length > 20 ? ", …" : "");
    const processes =
      pids.length === 1 ? "1 background process still runs" : `${pids.length} background processes still run`;
    notes.push(`${processes}: ${pids.length === 1 ? "pid" : "pids"} ${some}`);
  }
  if (result.outputFile !== undefined) {
    notes.push(`${whichBytes(result.totalBytes)}: ${result.outputFile}`);
  }
  const output = result.text === "" && notes.length === 0 ? "(no output)" : result.text;
  const separator = output === "" || output.endsWith("\n") ? "" : "\n";
  const text = notes.length === 0 ? output : `${output}${separator}${notes.map((note) => `(${note})`).join("\n")}`;
  return {
    text,
    isError: result.timedOut || result.exitCode !== 0,
    omittedBytes: result.omittedBytes,
    exitCode: result.exitCode,
    ...(result.outputFile === undefined ? {} : { outputFile: result.outputFile }),
  };
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toLocaleString("en-US", { maximumFractionDigits: 1 })} s`;
}
