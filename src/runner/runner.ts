/**
 * Runs shell commands for tools and for `!`. A call starts at most once, whatever races, and is nobody's child: it goes on
 * when the process that started it dies, until it ends or its time is over.
 */
export interface Runner {
  /** @throws {PerdureError} CALL_STARTED_TWICE: it was started in this process before */
  start(callId: string, spec: CommandSpec): RunningCommand;
  /**
   * Takes up a call that an earlier process started, or did not get to start. When the answer is `never_started` it can
   * never start from then on.
   */
  attach(callId: string, spec: AttachSpec): Promise<AttachedCall>;
  /** The result of this call is durable: what was kept of it for {@link attach} goes. The output file stays with `keepOutput`. */
  settle(folder: string, keepOutput: boolean): Promise<void>;
}

export interface CommandSpec {
  /** Given to `bash -c` (`/bin/sh -c` where there is no bash). */
  readonly command: string;
  readonly cwd: string;
  /** The whole environment: nothing is inherited beside it. */
  readonly env: Readonly<Record<string, string>>;
  /** The command and all that it started is ended then, also when nobody is there any more. */
  readonly timeoutMs: number;
  /** The call's own folder, made when absent: output and status are kept there. Undefined: a temporary one. */
  readonly folder: string | undefined;
  /** So much of the output is kept in the folder; the rest is drained and counted. */
  readonly outputBytesMax: number;
  /** Live output, decoded (no character is torn), stdout and stderr as they come. */
  onOutput(chunk: string): void;
}

export interface AttachSpec {
  readonly folder: string;
  /** Live output begins at this byte of the whole output (default 0). */
  readonly fromByte?: number;
  onOutput(chunk: string): void;
}

export type AttachedCall =
  | { readonly state: "running"; readonly command: RunningCommand }
  | { readonly state: "finished"; readonly result: CommandResult }
  /** Nothing ran, and nothing will. */
  | { readonly state: "never_started" }
  /** It had started, and nobody knows how it ended. */
  | { readonly state: "unknown" };

export interface RunningCommand {
  /** The command's main process, when it runs. */
  readonly pid: number | undefined;
  /**
   * Resolves when the command's main process has ended (a short grace for its output). Never rejects for a command's own
   * failure.
   *
   * @throws {PerdureError} COMMAND_NOT_STARTED; COMMAND_LOST: its runner was ended from outside
   */
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
  /** Where all of the output is, up to `outputBytesMax`, when it is more than `text`. */
  readonly outputFile: string | undefined;
  readonly durationMs: number;
  /** What the command left running in the background when it ended by itself. */
  readonly backgroundPids?: readonly number[];
}
