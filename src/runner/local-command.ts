import { existsSync, type FSWatcher, watch, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { PerdureError } from "../errors.js";
import { isSameBoot } from "./boot-id.js";
import {
  type CallStatus,
  callPaths,
  closeGate,
  isRunnerAlive,
  newMark,
  type RunMark,
  readPid,
  readRun,
  readStatus,
  removeCallFolder,
} from "./call-folder.js";
import { CallOutput, outputText } from "./call-output.js";
import { endTree, killTree, livingProcesses, type ProcessTree } from "./process-tree.js";
import type { CommandResult, CommandSpec, RunningCommand } from "./runner.js";
import { folderFor, notStarted, type StartedRunner, startRunner } from "./start-runner.js";

const END_GRACE_MS = 500;
/** How often the files are looked at: at most, and at least where nothing announces a change. */
const LOOK_MS_MIN = 20;
const LOOK_MS_MAX = 500;
/** In this time no machine gives out all its process numbers. */
const YOUNG_MS = 1000;
/** For the runner to say how a command ended that is surely gone. */
const STATUS_GRACE_MS = 2000;

type End =
  | CallStatus
  /** Ended before it started; not even SIGKILL ended it; its runner was ended from outside. */
  | "prevented"
  | "unending"
  | "lost";

interface Place {
  readonly folder: string;
  readonly isTemporary: boolean;
  readonly fromByte: number;
}

/** One command with its runner, its files and its process tree, followed by this process. */
export class LocalCommand implements RunningCommand {
  readonly done: Promise<CommandResult>;
  readonly #place: Place;
  readonly #output: CallOutput;
  readonly #tree: ProcessTree;
  readonly #startedAt = performance.now();
  #runner: StartedRunner | undefined;
  #isOurs = false;
  #isLeft = false;
  #ending: Promise<void> | undefined;
  #watcher: FSWatcher | undefined;
  #interval: NodeJS.Timeout | undefined;
  #nextLook: NodeJS.Timeout | undefined;
  #lookedAt = 0;
  #resolve: (end: End) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  readonly #ended = new Promise<End>((resolve, reject) => {
    this.#resolve = resolve;
    this.#reject = reject;
  });

  private constructor(place: Place, mark: string, onOutput: (chunk: string) => void) {
    this.#place = place;
    this.#tree = { pid: undefined, mark, leaderEnded: false };
    this.#output = new CallOutput(place.folder, place.fromByte, onOutput);
    this.done = this.#finish();
    this.done.catch(() => undefined);
  }

  /** @param shell what the runner is run by, when not by the shell of the commands */
  static start(spec: CommandSpec, shell?: string): LocalCommand {
    const { folder, isTemporary } = folderFor(spec);
    const mark = newMark(folder);
    const command = new LocalCommand({ folder, isTemporary, fromByte: 0 }, mark, spec.onOutput);
    // Whoever ends it in the same breath prevents it.
    queueMicrotask(() => command.#start(spec, mark, shell));
    return command;
  }

  /** Follows one that another process started and that still runs. */
  static follow(folder: string, run: RunMark, fromByte: number, onOutput: (chunk: string) => void): LocalCommand {
    const command = new LocalCommand({ folder, isTemporary: false, fromByte }, run.mark, onOutput);
    writeFileSync(callPaths(folder).attached, `${process.pid}\n`, { mode: 0o600 });
    command.#lookOut();
    return command;
  }

  get pid(): number | undefined {
    this.#tree.pid ??= readPid(this.#place.folder);
    return this.#tree.pid;
  }

  /** Its result is there: what is left of it runs in the background. */
  get hasEnded(): boolean {
    return this.#tree.leaderEnded;
  }

  end(graceMs: number = END_GRACE_MS): Promise<void> {
    this.#ending ??= this.#endTree(graceMs);
    return this.#ending;
  }

  /** SIGKILL to the whole tree, synchronously. */
  kill(): void {
    if (!this.#isGateClosed()) this.#killTree();
  }

  /** Stops following it: it goes on under its runner, and `done` stays open. */
  leave(): void {
    this.#isLeft = true;
    this.#stopLooking();
    this.#runner?.process.unref();
    this.#runner?.line.destroy();
  }

  #start(spec: CommandSpec, mark: string, shell: string | undefined): void {
    if (this.#ending !== undefined || this.#isLeft) return;
    try {
      const runner = startRunner(this.#place.folder, mark, spec, shell);
      this.#runner = runner;
      this.#isOurs = true;
      runner.line.on("data", () => this.#look());
      runner.process.once("error", (error) => this.#reject(notStarted(spec, error)));
      runner.process.once("exit", () => this.#runnerEnded(mark));
      this.#lookOut();
    } catch (error) {
      this.#reject(error);
    }
  }

  /** Without a status: it was ended from outside, or another runner had started the call before. */
  #runnerEnded(mark: string): void {
    this.#isOurs = false;
    const run = readRun(this.#place.folder);
    if (typeof run === "object" && run.mark !== mark) this.#tree.mark = run.mark;
    this.#look();
  }

  #lookOut(): void {
    try {
      this.#watcher = watch(this.#place.folder, () => this.#lookSoon());
      this.#watcher.on("error", () => {}); // No more watches to be had: the interval does.
    } catch {
      // The same.
    }
    this.#interval = setInterval(() => this.#look(), LOOK_MS_MAX);
    this.#look();
  }

  #stopLooking(): void {
    this.#watcher?.close();
    clearInterval(this.#interval);
    clearTimeout(this.#nextLook);
  }

  #lookSoon(): void {
    const waitMs = this.#lookedAt + LOOK_MS_MIN - performance.now();
    if (waitMs <= 0) this.#look();
    else this.#nextLook ??= setTimeout(() => this.#look(), waitMs);
  }

  #look(): void {
    clearTimeout(this.#nextLook);
    this.#nextLook = undefined;
    this.#lookedAt = performance.now();
    try {
      this.#output.catchUp();
      const status = readStatus(this.#place.folder);
      if (status !== undefined) this.#resolve(status);
      else if (!this.#isOurs) this.#resolveWithoutRunner();
    } catch (error) {
      this.#reject(error);
    }
  }

  #resolveWithoutRunner(): void {
    const { folder } = this.#place;
    const run = readRun(folder);
    if (run === "half" || (typeof run === "object" && isRunnerAlive(run))) return;
    // What it wrote in its last moment.
    const status = readStatus(folder);
    if (status !== undefined) this.#resolve(status);
    else this.#resolve(this.#ending !== undefined && this.pid === undefined ? "prevented" : "lost");
  }

  async #endTree(graceMs: number): Promise<void> {
    if (this.#isGateClosed()) {
      this.#resolve("prevented");
      return;
    }
    const until = performance.now() + 1000;
    while (this.pid === undefined && performance.now() < until && readStatus(this.#place.folder) === undefined) {
      await delay(5);
    }
    await endTree(this.#tree, graceMs);
    // Nothing in the background is left to be waited for.
    if (this.hasEnded) this.#runner?.line.end();
    else void delay(STATUS_GRACE_MS, undefined, { ref: false }).then(() => this.#resolve("unending"));
  }

  /** The command has not started, and never will. */
  #isGateClosed(): boolean {
    try {
      return closeGate(this.#place.folder);
    } catch {
      return false; // The folder is gone: what ran in it may run.
    }
  }

  #killTree(): void {
    this.#tree.pid ??= readPid(this.#place.folder);
    killTree(this.#tree);
  }

  async #finish(): Promise<CommandResult> {
    try {
      const end = await this.#ended;
      // The rest of what it started dies before the result says that it was ended.
      await this.#ending;
      return this.#result(end);
    } finally {
      this.#stopLooking();
      this.#runner?.process.unref();
      if (this.#place.isTemporary) await removeCallFolder(this.#place.folder, false);
    }
  }

  #result(end: End): CommandResult {
    const { folder, isTemporary } = this.#place;
    this.#output.end();
    this.#tree.pid ??= readPid(folder);
    this.#tree.leaderEnded = true;
    if (end === "lost") {
      this.#killTree();
      this.#hangUp(0);
      throw lost();
    }
    const written = outputText(folder, typeof end === "object" ? end.restBytes : 0);
    const { output } = callPaths(folder);
    const isKept = written.omittedBytes > 0 && !isTemporary && existsSync(output);
    const run = readRun(folder);
    if (typeof run === "object" && isSameBoot(run.boot)) this.#tree.notBefore = Number(run.start);
    const isYoung = performance.now() - this.#startedAt < YOUNG_MS && this.#runner !== undefined;
    const pids = livingProcesses(isYoung ? { ...this.#tree, numbersFrom: this.#runner?.process.pid } : this.#tree);
    this.#hangUp(pids.length);
    return {
      ...endOf(end, this.#ending !== undefined),
      timedOut: typeof end === "object" && end.timedOut,
      ...written,
      outputFile: isKept ? output : undefined,
      durationMs:
        typeof end === "object" && this.#runner === undefined
          ? end.durationMs
          : Math.round(performance.now() - this.#startedAt),
      ...(pids.length > 0 ? { backgroundPids: pids } : {}),
    };
  }

  /** With processes left in the background the line stays: when it ends, with this process, they end too. */
  #hangUp(pidsLeft: number): void {
    const line = this.#runner?.line;
    if (line === undefined) return;
    line.write(`${pidsLeft}\n`);
    if (pidsLeft === 0) line.end();
    line.removeAllListeners("data");
    if ("unref" in line && typeof line.unref === "function") line.unref();
  }
}

/** The result of a command that has ended, whoever started it. */
export function finishedResult(folder: string, status: CallStatus): CommandResult {
  const written = outputText(folder, status.restBytes);
  return {
    ...endOf(status, false),
    timedOut: status.timedOut,
    ...written,
    outputFile: written.omittedBytes > 0 ? callPaths(folder).output : undefined,
    durationMs: status.durationMs,
  };
}

function endOf(end: Exclude<End, "lost">, isEndedByUs: boolean): Pick<CommandResult, "exitCode" | "signal"> {
  if (end === "prevented") return { exitCode: null, signal: "SIGTERM" };
  if (end === "unending") return { exitCode: null, signal: "SIGKILL" };
  const signal = signalOf(end.exit);
  // 129 is what git says to a wrong option; the others are what a signal leaves.
  if (signal === undefined || (signal === "SIGHUP" && !isEndedByUs)) return { exitCode: end.exit, signal: null };
  return { exitCode: null, signal };
}

function signalOf(exit: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === exit - 128)?.[0];
}

function lost(): PerdureError {
  return new PerdureError({
    code: "COMMAND_LOST",
    problem:
      "the process that watched over the command was ended from outside: nobody knows how the command ended. Check whether " +
      "it took effect before relying on it or running it again",
    fix: "look for what the command should have done",
  });
}
