export { bootId, isSameBoot } from "./boot-id.js";
export { toolEnvironment } from "./environment.js";

import { setTimeout as delay } from "node:timers/promises";
import { hasCode, PerdureError } from "../errors.js";
import {
  claimRun,
  closeGate,
  isOwnMark,
  isRunnerAlive,
  type RunMark,
  readRun,
  readStatus,
  removeCallFolder,
} from "./call-folder.js";
import { finishedResult, LocalCommand } from "./local-command.js";
import { endTree } from "./process-tree.js";
import type { AttachedCall, AttachSpec, CommandSpec, Runner, RunningCommand } from "./runner.js";

/** How long a runner may take between two lines of its beginning before it counts as dead in between. */
const HALF_MS_MAX = 1000;

/**
 * Runs commands on this machine, each under a runner that outlives this process. What is to end with the process,
 * {@link endAll} (or, in its last moment, {@link killAll}) ends.
 */
export class LocalRunner implements Runner {
  readonly #shell: string | undefined;
  readonly #started = new Set<string>();
  /** Running commands, and ended ones that left something in the background. */
  readonly #commands = new Set<LocalCommand>();
  #isLeft = false;

  /** @param options.shell runs the runner, in place of bash or sh */
  constructor(options: { readonly shell?: string } = {}) {
    this.#shell = options.shell;
  }

  start(callId: string, spec: CommandSpec): RunningCommand {
    if (this.#started.has(callId)) {
      throw new PerdureError({
        code: "CALL_STARTED_TWICE",
        problem: `the call ${callId} was started before, and a call starts at most once`,
        fix: "give every call an id of its own",
      });
    }
    this.#started.add(callId);
    return this.#keep(LocalCommand.start(spec, this.#shell));
  }

  async attach(callId: string, spec: AttachSpec): Promise<AttachedCall> {
    this.#started.add(callId);
    const { folder, fromByte = 0, onOutput } = spec;
    const run = await startOf(folder);
    const status = readStatus(folder);
    if (status !== undefined) return { state: "finished", result: finishedResult(folder, status) };
    if (run === "never" || run === "unknown") return { state: run === "never" ? "never_started" : "unknown" };
    if (!isOwnMark(folder, run.mark)) return { state: "unknown" };
    if (isRunnerAlive(run)) {
      return { state: "running", command: this.#keep(LocalCommand.follow(folder, run, fromByte, onOutput)) };
    }
    if (closeGate(folder)) return { state: "never_started" };
    const last = readStatus(folder);
    if (last !== undefined) return { state: "finished", result: finishedResult(folder, last) };
    // Without its runner nothing would ever end it.
    await endTree({ pid: undefined, mark: run.mark, leaderEnded: true }, 500);
    return { state: "unknown" };
  }

  settle(folder: string, keepOutput: boolean): Promise<void> {
    return removeCallFolder(folder, keepOutput);
  }

  /** Ends every running command and what ended ones left in the background: SIGTERM, SIGKILL after `graceMs`. */
  async endAll(graceMs?: number): Promise<void> {
    await Promise.all([...this.#commands].map((command) => command.end(graceMs)));
  }

  /** SIGKILL to all of it, at once and synchronously: for an `exit` handler. */
  killAll(): void {
    for (const command of this.#commands) command.kill();
  }

  /** Stops following what runs: it goes on without this process. What ended commands left in the background is ended. */
  async leaveAll(graceMs?: number): Promise<void> {
    this.#isLeft = true;
    const commands = [...this.#commands];
    for (const command of commands.filter((each) => !each.hasEnded)) {
      command.leave();
      this.#commands.delete(command);
    }
    await this.endAll(graceMs);
  }

  #keep(command: LocalCommand): LocalCommand {
    // On its way when everything else was left: it does not start any more.
    if (this.#isLeft) {
      command.leave();
      return command;
    }
    this.#commands.add(command);
    command.done.then(
      (result) => {
        if (result.backgroundPids === undefined) this.#commands.delete(command);
      },
      () => this.#commands.delete(command),
    );
    return command;
  }
}

/** Who started the call. When nobody has, nobody can from now on. */
async function startOf(folder: string): Promise<RunMark | "never" | "unknown"> {
  try {
    if (claimRun(folder)) return "never";
  } catch (error) {
    // No folder: a runner works in it from its first moment.
    if (hasCode(error, "ENOENT", "ENOTDIR")) return "never";
    throw error;
  }
  for (const until = performance.now() + HALF_MS_MAX; ; ) {
    const run = readRun(folder);
    if (run === "claimed") return "never";
    if (typeof run === "object") return run;
    if (performance.now() > until) return closeGate(folder) ? "never" : "unknown";
    await delay(20);
  }
}
