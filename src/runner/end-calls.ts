import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../errors.js";
import { callPaths, closeGate, isOwnMark, isRunnerAlive, readPid, readRun, readStatus } from "./call-folder.js";
import { endTree } from "./process-tree.js";

const END_GRACE_MS = 500;

export interface LivingCall {
  /** The name of the call's folder. */
  readonly name: string;
  readonly command: string;
}

/** The calls in this folder of calls whose command still runs under its runner. */
export async function livingCalls(callsFolder: string): Promise<LivingCall[]> {
  const living: LivingCall[] = [];
  for (const name of await namesIn(callsFolder)) {
    const folder = join(callsFolder, name);
    const run = readRun(folder);
    if (typeof run !== "object" || readStatus(folder) !== undefined || !isRunnerAlive(run)) continue;
    if (!isOwnMark(folder, run.mark)) continue;
    const command = await readFile(callPaths(folder).command, "utf8").catch(() => "");
    living.push({ name, command });
  }
  return living;
}

/** Ends everything that still runs of the calls in this folder, what they left in the background too. None starts any more. */
export async function endCalls(callsFolder: string, graceMs: number = END_GRACE_MS): Promise<void> {
  const ending = (await namesIn(callsFolder)).map(async (name) => {
    const folder = join(callsFolder, name);
    const run = readRun(folder);
    if (typeof run !== "object" || !isOwnMark(folder, run.mark)) return;
    const isNotStarted = closeGate(folder);
    const hasEnded = readStatus(folder) !== undefined || !isRunnerAlive(run);
    if (!isNotStarted) {
      await endTree({ pid: hasEnded ? undefined : readPid(folder), mark: run.mark, leaderEnded: hasEnded }, graceMs);
    }
  });
  await Promise.all(ending);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}
