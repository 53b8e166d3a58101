import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { PerdureError, problemOf } from "../errors.js";
import { CommandOutput } from "./command-output.js";
import { endTree, killTree, livingProcesses, MARK_VARIABLE, type ProcessTree } from "./process-tree.js";
import type { CommandResult, CommandSpec, RunningCommand } from "./runner.js";

const END_GRACE_MS = 500;
/** After the main process: how long its pipes must be silent, and how long that may take, while a child holds them. */
const PIPE_SILENCE_MS = 200;
const PIPE_SILENCE_MS_MAX = 1000;

interface Ending {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** One command, its process tree and its output. */
export class LocalCommand implements RunningCommand {
  readonly done: Promise<CommandResult>;
  readonly #spec: CommandSpec;
  #tree: ProcessTree | undefined;
  #ending: Promise<void> | undefined;
  /** Resolves when `end` has done what it can: a process that cannot be ended does not hold the result. */
  #giveUp: () => void = () => {};
  readonly #gaveUp = new Promise<void>((resolve) => {
    this.#giveUp = resolve;
  });
  #timedOut = false;

  constructor(spec: CommandSpec) {
    this.#spec = spec;
    this.done = this.#run();
  }

  get pid(): number | undefined {
    return this.#tree?.pid;
  }

  end(graceMs: number = END_GRACE_MS): Promise<void> {
    this.#ending ??= this.#endTree(graceMs);
    return this.#ending;
  }

  kill(): void {
    if (this.#tree !== undefined) killTree(this.#tree);
  }

  async #endTree(graceMs: number): Promise<void> {
    if (this.#tree === undefined) return;
    await endTree(this.#tree, graceMs);
    this.#giveUp();
  }

  async #run(): Promise<CommandResult> {
    const spec = this.#spec;
    const startedAt = performance.now();
    const output = new CommandOutput(spec);
    // Loaded here: nothing that runs no command pays for it.
    const { execa } = await import("execa");
    if (this.#ending !== undefined) return this.#result({ exitCode: null, signal: "SIGTERM" }, output, startedAt);
    const mark = randomUUID();
    const child = execa(shell(), ["-c", spec.command], {
      cwd: spec.cwd,
      env: { ...spec.env, [MARK_VARIABLE]: mark },
      extendEnv: false,
      // A session and a group of its own: no terminal to read from, and one signal reaches the whole group.
      detached: true,
      cleanup: false,
      buffer: false,
      reject: false,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    if (child.pid === undefined) throw notStarted(spec, (await child).cause);
    const tree: ProcessTree = { pid: child.pid, mark, leaderEnded: false };
    this.#tree = tree;
    const exited = new Promise<Ending>((resolve, reject) => {
      child.once("exit", (exitCode, signal) => {
        tree.leaderEnded = true;
        resolve({ exitCode, signal });
      });
      child.once("error", (error) => reject(notStarted(spec, error)));
    });
    const streams = [child.stdout, child.stderr];
    for (const stream of streams) output.follow(stream);
    const timeout = setTimeout(() => {
      this.#timedOut = true;
      void this.end();
    }, spec.timeoutMs);
    try {
      const ending = await Promise.race([exited, this.#gaveUp.then(() => delay(100, UNENDING))]);
      clearTimeout(timeout);
      // The rest of what it started dies before the result says that it was ended.
      await this.#ending;
      await pipesSettled(streams, output);
      for (const stream of streams) leaveOpen(stream);
      return await this.#result(ending, output, startedAt);
    } finally {
      clearTimeout(timeout);
    }
  }

  async #result(ending: Ending, output: CommandOutput, startedAt: number): Promise<CommandResult> {
    const written = await output.close();
    const pids = this.#tree === undefined ? [] : livingProcesses(this.#tree);
    return {
      ...ending,
      timedOut: this.#timedOut,
      ...written,
      durationMs: Math.round(performance.now() - startedAt),
      ...(pids.length > 0 ? { backgroundPids: pids } : {}),
    };
  }
}

/** Not even SIGKILL ended it in time. */
const UNENDING: Ending = { exitCode: null, signal: "SIGKILL" };

function shell(): string {
  return ["/bin/bash", "/usr/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh";
}

function notStarted(spec: CommandSpec, cause: unknown): PerdureError {
  const folderGone = !existsSync(spec.cwd);
  return new PerdureError({
    code: "COMMAND_NOT_STARTED",
    problem: folderGone
      ? `the folder ${spec.cwd} is gone, so no command can run in it`
      : `the command could not be started: ${problemOf(cause)}`,
    fix: folderGone
      ? "make the folder again or continue in another one with --cwd DIR"
      : "shorten or change the command",
    cause,
  });
}

/** Resolves when both pipes have ended, or when a background child keeps them open without a word for a while. */
async function pipesSettled(streams: readonly Readable[], output: CommandOutput): Promise<void> {
  const until = performance.now() + PIPE_SILENCE_MS_MAX;
  const silentSince = Math.max(output.lastAt, performance.now());
  while (streams.some((stream) => !stream.readableEnded && !stream.destroyed)) {
    await delay(10);
    // While the disk is behind, the silence is ours.
    if (output.paused) continue;
    const now = performance.now();
    if (now - Math.max(silentSince, output.lastAt) >= PIPE_SILENCE_MS || now >= until) return;
  }
}

/**
 * A background child may go on writing: with the pipe closed it would die, with nobody reading it would hang. So the
 * rest is read and dropped, slowly enough to cost nothing, and without keeping this process alive.
 */
function leaveOpen(stream: Readable): void {
  if (stream.readableEnded || stream.destroyed) return;
  stream.removeAllListeners("data");
  stream.on("data", () => {
    stream.pause();
    setTimeout(() => stream.resume(), 50).unref();
  });
  if ("unref" in stream && typeof stream.unref === "function") stream.unref();
}
