import fs from "node:fs";
import os from "node:os";
import { hasCode, problemOf } from "../errors.js";
import { type Flock, findFlock } from "./flock.js";
import { isJsonObject } from "./log-line.js";
import { diskError, lockNotAFile, lockUnavailable } from "./store-errors.js";

/** A second in all: with fifty processes that race on two cores 50 ms were too short for the winner to write its name. */
const OWNER_ATTEMPTS = 100;
const OWNER_PAUSE_MS = 10;
const { O_CREAT, O_NONBLOCK, O_RDONLY, O_RDWR } = fs.constants;

/** What a lock file says about its holder: for messages only, a lock is held by the kernel's word alone. */
export interface LockOwner {
  readonly pid: number;
  /** When it took the lock, ISO 8601 in UTC. */
  readonly since: string;
  /** When the process started, so that another process with the same pid is not taken for it. */
  readonly startedAt?: string;
  readonly host?: string;
  readonly cwd?: string;
}

export interface HeldLock {
  release(): Promise<void>;
}

/**
 * Makes this process the one holder of a lock file, without waiting. It ends with the process, however that ends.
 *
 * @throws {PerdureError} LOCK_UNAVAILABLE; ENOENT when its folder is gone
 */
export type TakeLock = (path: string) => Promise<HeldLock | { owner: LockOwner | undefined }>;

let systemFlock: Promise<Flock> | undefined;

export const takeLock: TakeLock = async (path) => {
  systemFlock ??= findFlock();
  return takeLockWith(await systemFlock, path);
};

export async function takeLockWith(flock: Flock, path: string): ReturnType<TakeLock> {
  // Again when the file was replaced between opening and locking it: the lock must be the one others meet.
  for (;;) {
    const fd = openLockFile(path);
    let keepOpen = false;
    try {
      const release = await flock({ fd, path }).catch((error: unknown) => {
        throw lockUnavailable(path, problemOf(error));
      });
      if (release === "busy") return { owner: await readOwnerSoon(path) };
      if (isStillAt(path, fd)) {
        keepOpen = true;
        writeOwner(fd);
        return {
          async release() {
            // Nobody is to be told of a holder that is none any more.
            forgetOwner(fd);
            await release();
            fs.closeSync(fd);
          },
        };
      }
      await release();
    } finally {
      if (!keepOpen) fs.closeSync(fd);
    }
  }
}

export function isHeld(lock: Awaited<ReturnType<TakeLock>>): lock is HeldLock {
  return "release" in lock;
}

function openLockFile(path: string): number {
  try {
    // Close-on-exec, as all of Node's files: a child does not inherit the lock.
    const fd = fs.openSync(path, O_RDWR | O_CREAT | O_NONBLOCK, 0o600);
    const stats = fs.fstatSync(fd);
    if (!stats.isFile()) {
      fs.closeSync(fd);
      throw lockNotAFile(path);
    }
    if ((stats.mode & 0o777) !== 0o600 && stats.uid === process.getuid?.()) fs.fchmodSync(fd, 0o600);
    return fd;
  } catch (error) {
    if (hasCode(error, "EISDIR", "ELOOP", "ENXIO")) throw lockNotAFile(path);
    throw hasCode(error, "ENOENT", "ENOTDIR") ? error : diskError(error, path);
  }
}

function isStillAt(path: string, fd: number): boolean {
  const there = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
  const ours = fs.fstatSync(fd, { bigint: true });
  return there !== undefined && there.ino === ours.ino && there.dev === ours.dev;
}

function writeOwner(fd: number): void {
  const owner: LockOwner = {
    pid: process.pid,
    since: new Date().toISOString(),
    startedAt: new Date(Date.now() - process.uptime() * 1000).toISOString(),
    host: os.hostname(),
    cwd: workingFolder(),
  };
  try {
    fs.ftruncateSync(fd, 0);
    fs.writeSync(fd, `${JSON.stringify(owner)}\n`, 0);
  } catch {
    // A full disk must not keep anybody from opening a conversation; only the message about the holder is poorer.
  }
}

function forgetOwner(fd: number): void {
  try {
    fs.ftruncateSync(fd, 0);
  } catch {
    // As in writeOwner.
  }
}

/** Who has just taken the lock may not have written its name yet, over that of one who died. */
async function readOwnerSoon(path: string): Promise<LockOwner | undefined> {
  for (let attempt = 0; attempt < OWNER_ATTEMPTS; attempt++) {
    const owner = readOwner(path);
    if (owner !== undefined && mayLive(owner)) return owner;
    await new Promise((resolve) => setTimeout(resolve, OWNER_PAUSE_MS));
  }
  return readOwner(path);
}

function mayLive({ pid, host }: LockOwner): boolean {
  if (host !== undefined && host !== os.hostname()) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !hasCode(error, "ESRCH");
  }
}

export function readOwner(path: string): LockOwner | undefined {
  try {
    const value: unknown = JSON.parse(readOwnerText(path));
    if (!isJsonObject(value) || typeof value.pid !== "number" || typeof value.since !== "string") return undefined;
    const { pid, since } = value;
    const others = ["startedAt", "host", "cwd"].flatMap((field) => {
      const text = value[field];
      return typeof text === "string" ? [[field, text]] : [];
    });
    return { pid, since, ...Object.fromEntries(others) };
  } catch {
    return undefined;
  }
}

function readOwnerText(path: string): string {
  const fd = fs.openSync(path, O_RDONLY | O_NONBLOCK);
  try {
    return fs.fstatSync(fd).isFile() ? fs.readFileSync(fd, "utf8") : "";
  } finally {
    fs.closeSync(fd);
  }
}

/** The folder may be gone. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    return "";
  }
}
