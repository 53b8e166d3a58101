import os from "node:os";
import { codeOf, hasCode, PerdureError, problemOf } from "../errors.js";
import { NOT_A_FILE } from "./disk.js";
import type { LockOwner } from "./lock.js";

/** Another process (or another store object with a lock of its own) is the conversation's one writer. */
export class StateLockedError extends PerdureError {
  /** Who holds it, as far as the lock file tells; for the message, never for a decision. */
  readonly owner: LockOwner | undefined;
  readonly id: string;

  constructor(id: string, owner: LockOwner | undefined) {
    super({
      code: "STATE_LOCKED",
      problem: `conversation ${id} is open in another process${holderText(owner)}`,
      fix: "close it there, then try again",
    });
    this.owner = owner;
    this.id = id;
  }
}

/** ` (pid 4711 on ada-pc, since 2026-01-02T03:04:05.678Z, in /home/ada/shop)`; empty when nobody knows. */
export function holderText(owner: LockOwner | undefined): string {
  if (owner === undefined) return "";
  const { pid, host, since, cwd } = owner;
  return ` (pid ${pid}${host ? ` on ${host}` : ""}, since ${since}${cwd ? `, in ${cwd}` : ""})`;
}

export function lockUnavailable(path: string, reason: string): PerdureError {
  return new PerdureError({
    code: "LOCK_UNAVAILABLE",
    problem: `${path} cannot be locked: ${reason}`,
    fix:
      "keep the store in a folder on a local disk, and install the npm package koffi or util-linux (flock); or, when no " +
      'other process writes to it, go on without a lock: --no-lock (in a program: lock: "none")',
  });
}

/** A folder, FIFO or device is where the lock file should be: nobody can hold such a lock. */
export function lockNotAFile(path: string): PerdureError {
  return new PerdureError({
    code: "LOCK_NOT_A_FILE",
    problem: `${path} is not a file, so the conversation cannot be locked`,
    fix: "remove it, then try again",
    example: `rm -r ${path}`,
  });
}

export function stateExists(id: string, folder: string): PerdureError {
  return new PerdureError({
    code: "STATE_EXISTS",
    problem: `there is a conversation ${id} already (${folder})`,
    fix: `load it to continue it, or pick another id`,
  });
}

export function stateNotFound(id: string, root: string): PerdureError {
  return new PerdureError({
    code: "STATE_NOT_FOUND",
    problem: `there is no conversation ${id} in ${root}`,
    fix: "list the conversations and pick one of them",
  });
}

export function stateNewer(path: string, format: unknown): PerdureError {
  return new PerdureError({
    code: "STATE_NEWER",
    problem: `${path} has format ${String(format)}, which is newer than this program knows (1)`,
    fix: "update perdure; the file was left as it is",
  });
}

export function stateDamaged(path: string, problem: string): PerdureError {
  return new PerdureError({
    code: "STATE_DAMAGED",
    problem: `${path} is damaged: ${problem}`,
    fix: "put a good copy of the file in its place, or delete the conversation; nothing was written to it",
  });
}

export function stateUnreadable(path: string, cause: unknown): PerdureError {
  return new PerdureError({
    code: "STATE_UNREADABLE",
    problem: `${path} cannot be read: ${hasCode(cause, NOT_A_FILE, "EISDIR") ? "it is not a file" : reasonOf(cause)}`,
    fix: unreadableFix(cause, path),
    cause,
  });
}

export function stateChangedOutside(id: string, path: string, change: string): PerdureError {
  return new PerdureError({
    code: "STATE_CHANGED_OUTSIDE",
    problem: `conversation ${id} was changed from outside while it was open: ${path} ${change}`,
    fix: "nothing was written; save to another conversation, or close this one and load it again",
  });
}

export function seqGap(id: string, expected: number, got: number): PerdureError {
  return new PerdureError({
    code: "STATE_SEQ_GAP",
    problem: `conversation ${id}: the next entry must have seq ${expected}, not ${got}`,
    fix: "pass entries in seq order without gaps; when the Agent did this, it is a bug in perdure: please report it",
  });
}

/** A failed disk call, with the path in its message. It keeps the system's code (ENOSPC, EACCES, …). */
export function diskError(cause: unknown, path: string): unknown {
  const code = isQuotaUsedUp(cause) ? "EDQUOT" : codeOf(cause);
  if (cause instanceof PerdureError || code === undefined) return cause;
  const reason = code === "EDQUOT" ? "EDQUOT: the disk quota is used up" : reasonOf(cause);
  return new PerdureError({ code, problem: `${path}: ${reason}`, fix: fixFor(code, path), cause });
}

/** Runs disk calls about one path, so that what fails names it. */
export async function naming<T>(path: string, calls: () => Promise<T>): Promise<T> {
  try {
    return await calls();
  } catch (error) {
    throw diskError(error, path);
  }
}

function unreadableFix(cause: unknown, path: string): string {
  if (hasCode(cause, "EACCES", "EPERM")) return `make it readable for you: chmod -R u+rwX ${path}`;
  if (hasCode(cause, NOT_A_FILE, "EISDIR"))
    return "move it away and put the file in its place, or delete the conversation";
  if (hasCode(cause, "ELOOP")) return "remove the link, or let it lead somewhere";
  return "check the disk it is on";
}

/** Node knows no name for it: `Unknown system error -122`. */
function isQuotaUsedUp(cause: unknown): boolean {
  return cause instanceof Error && "errno" in cause && cause.errno === -os.constants.errno.EDQUOT;
}

function fixFor(code: string, path: string): string {
  if (code === "ENOSPC" || code === "EDQUOT")
    return "free some space on that disk; what is not saved yet is saved then";
  if (code === "EACCES" || code === "EPERM") return `make it writable for you, for example: chmod -R u+rwX ${path}`;
  if (code === "EROFS") return "use a folder on a disk that can be written to";
  if (code === "ENOTDIR" || code === "EEXIST") return "use a folder for the store; a file is in the way";
  if (code === NOT_A_FILE) return "move it away";
  if (code === "EMFILE" || code === "ENFILE")
    return "unlock conversations that are no longer written to, or raise ulimit -n";
  return "check the disk it is on";
}

/** `EACCES: permission denied, open '/x'` without call and path: the message has them already. */
function reasonOf(cause: unknown): string {
  return problemOf(cause).replace(/, [a-z]+(?: '.*)?$/, "");
}
