/** Runs shell commands for tools and for `!`. A call id starts at most once. */
export interface Runner {
  start(callId: string, spec: CommandSpec): RunningCommand;
}

export interface CommandSpec {
  /** Given to `/bin/sh -c` (bash where it exists). */
  readonly command: string;
  readonly cwd: string;
  /** The whole environment: nothing is inherited beside it. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The whole output goes here, up to `outputBytesMax`; the rest is drained and counted. */
  readonly outputPath: string | undefined;
  readonly outputBytesMax: number;
  /** Live output, decoded (one decoder per pipe: no character is torn), stdout and stderr as they come. */
  onOutput(chunk: string): void;
}

export interface RunningCommand {
  readonly pid: number | undefined;
  /** Resolves when the command's main process has ended (a short grace for its pipes). Never rejects for a command's own failure. */
  readonly done: Promise<CommandResult>;
  /** Ends the whole tree: SIGTERM to the group, SIGKILL after `graceMs`. Idempotent. */
  end(graceMs?: number): Promise<void>;
}

export interface CommandResult {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** Head and tail, at most the history limit, well-formed. */
  readonly text: string;
  readonly totalBytes: number;
  readonly omittedBytes: number;
  readonly outputFile: string | undefined;
  readonly durationMs: number;
  /** What the command left running in the background when it ended by itself. */
  readonly backgroundPids?: readonly number[];
}
