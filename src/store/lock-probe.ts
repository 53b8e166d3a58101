import fs from "node:fs";
import { hasCode, problemOf } from "../errors.js";
import { findFlock } from "./flock.js";
import { type LockOwner, readOwner } from "./lock.js";

export type LockState =
  | { readonly state: "free" }
  | { readonly state: "held"; readonly owner: LockOwner | undefined }
  | { readonly state: "unknown"; readonly reason: string };

/**
 * Whether somebody holds a lock. Nothing is written: the file is opened to read, and the lock, if it is free, is had for the
 * microseconds between two system calls.
 */
export async function probeLock(path: string): Promise<LockState> {
  let fd: number;
  try {
    fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return { state: "free" };
    return { state: "unknown", reason: problemOf(error) };
  }
  try {
    const flock = await findFlock();
    const release = await flock({ fd, path });
    if (release === "busy") return { state: "held", owner: readOwner(path) };
    await release();
    return { state: "free" };
  } catch (error) {
    return { state: "unknown", reason: problemOf(error) };
  } finally {
    fs.closeSync(fd);
  }
}
