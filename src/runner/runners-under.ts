import fs from "node:fs";
import path from "node:path";
import { hasCode } from "../errors.js";

const GONE = " (deleted)";

/** A process that works in a folder of calls, as the runner of a call does. */
export interface FoundRunner {
  /** Its session's first process: a runner has a session of its own, with the command in it. */
  readonly pid: number;
  /** The call's folder, absolute; it may be gone. */
  readonly folder: string;
}

/** The runners of calls that live under a store's folder, one for each call. Reads /proc: nothing elsewhere than on Linux. */
export function runnersUnder(root: string): FoundRunner[] {
  const found = new Map<string, FoundRunner>();
  for (const name of pids()) {
    const cwd = workingFolderOf(name);
    if (cwd === undefined || !cwd.startsWith(root + path.sep)) continue;
    const folder = cwd.endsWith(GONE) ? cwd.slice(0, -GONE.length) : cwd;
    const [, calls, call, ...more] = path.relative(root, folder).split(path.sep);
    if (calls !== "calls" || call === undefined || more.length > 0) continue;
    const pid = sessionOf(name);
    if (pid !== undefined) found.set(folder, { pid, folder });
  }
  return [...found.values()];
}

function pids(): string[] {
  try {
    return fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch (error) {
    if (hasCode(error, "ENOENT", "EACCES")) return [];
    throw error;
  }
}

/** Undefined: it has ended. */
function sessionOf(pid: string): number | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    // After the name, which may hold anything: state, parent, group, session.
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
  } catch {
    return undefined;
  }
}

function workingFolderOf(pid: string): string | undefined {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined; // It ended, or is somebody else's.
  }
}
