import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { PerdureError, problemOf } from "../errors.js";
import { makeCallFolder } from "./call-folder.js";
import { CALL_SCRIPT } from "./call-script.js";
import type { CommandSpec } from "./runner.js";

export interface StartedRunner {
  readonly process: ChildProcess;
  /**
   * To the runner: a byte from it says that the status is there, a line from us how many processes were left in the
   * background; its end tells the runner that we are gone.
   */
  readonly line: Duplex;
}

/**
 * Starts the runner of a call in its folder. It claims the start itself: when another one has it, it ends at once.
 *
 * @throws {PerdureError} COMMAND_NOT_STARTED; a failure that comes later is an `error` event of the process
 */
export function startRunner(folder: string, mark: string, spec: CommandSpec, shell?: string): StartedRunner {
  if (!existsSync(spec.cwd)) throw notStarted(spec, undefined);
  const runner = shell ?? commandShell();
  // -p: what a person's BASH_ENV and CDPATH say is for the command alone.
  const options = runner.endsWith("bash") ? ["-p", "-c"] : ["-c"];
  try {
    // The script and the command are in the environment: `pkill -f` in a command must not find its own runner.
    const child = spawn(runner, [...options, 'eval "$PERDURE_RUN_SCRIPT"', "perdure"], {
      cwd: folder,
      env: {
        ...spec.env,
        PERDURE_RUN_SCRIPT: CALL_SCRIPT,
        PERDURE_RUN_COMMAND: spec.command,
        PERDURE_RUN_SHELL: commandShell(),
        PERDURE_RUN_CWD: spec.cwd,
        PERDURE_RUN_MARK: mark,
        PERDURE_RUN_TIMEOUT: (spec.timeoutMs / 1000).toFixed(3),
        PERDURE_RUN_CAP: String(spec.outputBytesMax),
        PERDURE_RUN_SHLVL: spec.env.SHLVL ?? "",
      },
      // A session of its own: neither the terminal's end nor ours reaches it.
      detached: true,
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    const line = child.stdio[3];
    if (!(line instanceof Duplex)) throw new Error("no line to the runner");
    line.on("error", () => {}); // The runner may end first.
    return { process: child, line };
  } catch (error) {
    throw notStarted(spec, error);
  }
}

export function notStarted(spec: CommandSpec, cause: unknown): PerdureError {
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

/**
 * The call's folder, with the command in it. Where it cannot be made (a full disk) a temporary one takes its place: the
 * command runs all the same, and cannot be taken up again.
 */
export function folderFor(spec: CommandSpec): { folder: string; isTemporary: boolean } {
  if (spec.folder !== undefined) {
    try {
      makeCallFolder(spec.folder, spec.command);
      return { folder: spec.folder, isTemporary: false };
    } catch {
      // A temporary one, then.
    }
  }
  try {
    const folder = mkdtempSync(join(tmpdir(), "perdure-call-"));
    makeCallFolder(folder, spec.command);
    return { folder, isTemporary: true };
  } catch (error) {
    throw notStarted(spec, error);
  }
}

function commandShell(): string {
  return ["/bin/bash", "/usr/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh";
}
