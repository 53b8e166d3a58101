import { createHash, randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, realpathSync, writeFileSync, writeSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../errors.js";
import { isSameBoot } from "./boot-id.js";

/** The files of one call; docs/format/calls.md is the reference. Owner-only, like the folder. */
export interface CallPaths {
  readonly command: string;
  /** Made by whoever has the right to start the call: the runner, or a process that makes sure that nobody will. */
  readonly run: string;
  /** Made right before the command starts. Made by somebody else, the runner does not start it. */
  readonly go: string;
  readonly pid: string;
  readonly output: string;
  readonly tail: string;
  readonly status: string;
  /** The process that follows the call now, when it is not the one that started it. */
  readonly attached: string;
}

export function callPaths(folder: string): CallPaths {
  const at = (name: string) => join(folder, name);
  return {
    command: at("command"),
    run: at("run"),
    go: at("go"),
    pid: at("pid"),
    output: at("output"),
    tail: at("tail"),
    status: at("status"),
    attached: at("attached"),
  };
}

/** Who started a call. */
export interface RunMark {
  readonly pid: number;
  /** Clock ticks since the machine's start, "0" where nobody can tell: with the pid it names a process for good. */
  readonly start: string;
  readonly boot: string;
  /** The value of PERDURE_CALL in the environment of the command. */
  readonly mark: string;
}

export interface CallStatus {
  /** As a shell gives it: 128 and the number of the signal that ended it. */
  readonly exit: number;
  readonly timedOut: boolean;
  readonly durationMs: number;
  /** Undefined: the output was still open. */
  readonly outputBytes: number | undefined;
  readonly restBytes: number;
}

/** Makes the folder and keeps the command in it. */
export function makeCallFolder(folder: string, command: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(callPaths(folder).command, command, { mode: 0o600 });
}

/** Unique to this start, and it tells in which folder: a copy of the folder is not mistaken for it. */
export function newMark(folder: string): string {
  return `${folderMark(folder)}-${randomUUID()}`;
}

export function isOwnMark(folder: string, mark: string): boolean {
  return mark.startsWith(`${folderMark(folder)}-`);
}

function folderMark(folder: string): string {
  return createHash("sha256").update(realpathSync(folder)).digest("hex").slice(0, 16);
}

/** True: nobody had the right to start the call, and nobody can get it any more. */
export function claimRun(folder: string): boolean {
  return create(callPaths(folder).run, '{"format":1,"claimed":true}\n');
}

/** True: the command was not started, and it cannot be any more. */
export function closeGate(folder: string): boolean {
  return create(callPaths(folder).go, "");
}

function create(path: string, content: string): boolean {
  let file: number;
  try {
    file = openSync(path, "wx", 0o600);
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
  try {
    if (content !== "") writeSync(file, content);
  } finally {
    closeSync(file);
  }
  return true;
}

/** `half`: made, but not written yet. */
export function readRun(folder: string): RunMark | "claimed" | "half" | undefined {
  const text = read(callPaths(folder).run);
  if (text === undefined) return undefined;
  const fields = parse(text);
  if (fields === undefined) return "half";
  if (fields.claimed === true) return "claimed";
  const { pid, start, boot, mark } = fields;
  if (typeof pid !== "number" || typeof start !== "string" || typeof boot !== "string" || typeof mark !== "string") {
    return "half";
  }
  return { pid, start, boot, mark };
}

/** Undefined while there is none, also when a crash left half of it. */
export function readStatus(folder: string): CallStatus | undefined {
  const fields = parse(read(callPaths(folder).status) ?? "");
  if (fields === undefined || typeof fields.exit !== "number") return undefined;
  const { exit, timedOut, durationMs, outputBytes, restBytes } = fields;
  return {
    exit,
    timedOut: timedOut === true,
    durationMs: typeof durationMs === "number" ? durationMs : 0,
    outputBytes: typeof outputBytes === "number" ? outputBytes : undefined,
    restBytes: typeof restBytes === "number" ? restBytes : 0,
  };
}

export function readPid(folder: string): number | undefined {
  const pid = Number.parseInt(read(callPaths(folder).pid) ?? "", 10);
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
}

/** Whether the runner that made this mark still lives: not another process that got its number. */
export function isRunnerAlive(run: RunMark): boolean {
  if (run.boot !== "" && !isSameBoot(run.boot)) return false;
  try {
    const stat = readFileSync(`/proc/${run.pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] !== "Z" && fields[0] !== "X" && fields[19] === run.start;
  } catch {
    if (process.platform === "linux") return false;
  }
  try {
    process.kill(run.pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}

/** Removes what was kept to take the call up again; with `keepOutput` all but the output. */
export async function removeCallFolder(folder: string, keepOutput: boolean): Promise<void> {
  if (!keepOutput) return rm(folder, { recursive: true, force: true });
  const names = await readdir(folder).catch(() => []);
  await Promise.all(
    names.filter((name) => name !== "output").map((name) => rm(join(folder, name), { recursive: true, force: true })),
  );
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

function parse(text: string): { readonly [field: string]: unknown } | undefined {
  if (!text.endsWith("\n")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
