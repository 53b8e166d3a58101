import { statSync } from "node:fs";
import { resolve } from "node:path";
import { quoted, usageError } from "./usage-error.js";

export interface WorkingFolder {
  /** Absolute. */
  readonly cwd: string;
  /** One line for the person when it is not the folder they are in. */
  readonly notice: string | undefined;
}

/**
 * The folder tools work in: `--cwd DIR`, else the current one. A current folder that was removed is no reason not to
 * start: the home folder stands in for it.
 *
 * @throws PerdureError USAGE: --cwd is no folder
 */
export function workingFolder(flag: string | undefined, home: string | undefined): WorkingFolder {
  const current = currentFolder();
  if (flag !== undefined) {
    const cwd = resolve(current ?? "/", flag);
    if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true) return { cwd, notice: undefined };
    throw usageError(`--cwd: there is no folder ${quoted(flag)}`, "name an existing folder", "chat --cwd ../project");
  }
  if (current !== undefined) return { cwd: current, notice: undefined };
  const cwd = home !== undefined && statSync(home, { throwIfNoEntry: false })?.isDirectory() === true ? home : "/";
  return { cwd, notice: `the current folder is gone: working in ${cwd}` };
}

function currentFolder(): string | undefined {
  try {
    const cwd = process.cwd();
    return statSync(cwd, { throwIfNoEntry: false }) === undefined ? undefined : cwd;
  } catch {
    return undefined; // removed, or no longer readable
  }
}
