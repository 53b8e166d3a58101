import type { Toolbox } from "./toolbox.js";

export interface ShellRun {
  readonly output: string;
  readonly exitCode: number | null;
}

/** The person's own command: no permission is asked, its time is the person's, Ctrl+C ends the whole tree. */
export async function runShellCommand(options: {
  command: string;
  callId: string;
  cwd: string;
  toolbox: Toolbox;
  outputPath: string | undefined;
  signal: AbortSignal;
  onOutput(chunk: string): void;
}): Promise<ShellRun> {
  const { command, cwd, toolbox, signal } = options;
  const running = toolbox.runner.start(options.callId, {
    command,
    cwd,
    env: toolbox.environment,
    timeoutMs: 24 * 60 * 60 * 1000,
    outputPath: options.outputPath,
    outputBytesMax: 256 * 1024 * 1024,
    onOutput: options.onOutput,
  });
  const end = () => void running.end();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    const result = await running.done;
    const cut = signal.aborted ? "\n(interrupted by user)" : "";
    return { output: result.text + cut, exitCode: result.exitCode };
  } finally {
    signal.removeEventListener("abort", end);
  }
}
