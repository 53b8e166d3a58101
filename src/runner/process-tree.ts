import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** A command and everything it started. */
export interface ProcessTree {
  /** The main process: leader of a process group of its own. Undefined while nobody knows it. */
  pid: number | undefined;
  /** The value of the variable PERDURE_CALL, unique to this tree: it finds children that left the group (`setsid`). */
  mark: string;
  /** When its runner started, in the kernel's ticks: what is older than that is none of it and is not looked into. */
  notBefore?: number | undefined;
  /** Its runner's number, while the tree is so young that no number of it can be smaller. */
  numbersFrom?: number | undefined;
  /** The main process has been waited for: a process with its pid is from now on another one. */
  leaderEnded: boolean;
}

export const MARK_VARIABLE = "PERDURE_CALL";

/**
 * The pids of what still runs of the tree (zombies do not). On Linux: its group and session, every process that carries
 * its mark, and the children of all these. Elsewhere: the group's leader stands for the whole group.
 */
export function livingProcesses(tree: ProcessTree): number[] {
  const table = processTable(smallestNumber(tree));
  if (table === undefined) return tree.pid !== undefined && signalPid(-tree.pid, 0) ? [tree.pid] : [];
  const found = new Set<number>();
  const isRecycled = tree.leaderEnded && table.some((row) => row.pid === tree.pid);
  for (const row of table) {
    const inSession = !isRecycled && (row.group === tree.pid || row.session === tree.pid);
    const isYoung = row.start >= (tree.notBefore ?? 0);
    if (inSession || (isYoung && hasMark(row.pid, tree.mark))) found.add(row.pid);
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const row of table) if (found.has(row.parent)) found.add(row.pid);
  }
  return [...found].sort((a, b) => a - b);
}

/**
 * SIGTERM to the whole tree, SIGKILL to what is left after `graceMs`. Resolves when nothing of it runs any more, or when
 * a second after SIGKILL something still does (a process that waits for a dead disk cannot be ended).
 */
export async function endTree(tree: ProcessTree, graceMs: number): Promise<void> {
  if (await signalUntilGone(tree, "SIGTERM", graceMs, false)) return;
  await signalUntilGone(tree, "SIGKILL", 1000, true);
}

/** SIGKILL to the whole tree, without waiting: for the last moment of a process. */
export function killTree(tree: ProcessTree): void {
  signalTree(tree, livingProcesses(tree), "SIGKILL");
}

async function signalUntilGone(tree: ProcessTree, signal: NodeJS.Signals, withinMs: number, again: boolean) {
  const until = performance.now() + withinMs;
  let pids = livingProcesses(tree);
  if (pids.length === 0) return true;
  signalTree(tree, pids, signal);
  while (performance.now() < until) {
    await delay(20);
    pids = livingProcesses(tree);
    if (pids.length === 0) return true;
    // What was being forked while the first round looked.
    if (again) signalTree(tree, pids, signal);
  }
  return false;
}

function signalTree(tree: ProcessTree, pids: readonly number[], signal: NodeJS.Signals): void {
  if (pids.length === 0) return;
  // The whole group at once, while the group is surely this one.
  if (tree.pid !== undefined && (!tree.leaderEnded || process.platform !== "linux")) signalPid(-tree.pid, signal);
  for (const pid of pids) if (pid !== process.pid) signalPid(pid, signal);
}

/** False when there is no such process. */
function signalPid(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    // EPERM: it is there, but another user's (a setuid program): not ours to end.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly start: number;
}

/** Numbers are given out in order, until they begin anew. */
function smallestNumber({ numbersFrom }: ProcessTree): number {
  if (numbersFrom === undefined) return 0;
  const last = Number(readProc("/proc/loadavg")?.toString("latin1").split(" ")[4]);
  return last >= numbersFrom ? numbersFrom : 0;
}

/** Undefined where there is no /proc. */
function processTable(pidMin: number): ProcessRow[] | undefined {
  if (process.platform !== "linux") return undefined;
  const rows: ProcessRow[] = [];
  try {
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name) || Number(name) < pidMin) continue;
      const row = processRow(Number(name));
      if (row !== undefined) rows.push(row);
    }
  } catch {
    return undefined; // /proc is not mounted: the group is all that can be known
  }
  return rows;
}

function processRow(pid: number): ProcessRow | undefined {
  const stat = readProc(`/proc/${pid}/stat`)?.toString("latin1");
  if (stat === undefined) return undefined;
  // The name in parentheses may hold anything, parentheses too.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, session] = fields;
  if (state === "Z" || state === "X") return undefined;
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), start: Number(fields[19]) };
}

function hasMark(pid: number, mark: string): boolean {
  return readProc(`/proc/${pid}/environ`)?.includes(`${MARK_VARIABLE}=${mark}`) ?? false;
}

/** One for all: a buffer of its own for each of some hundred small files costs more than reading them. */
const buffer = Buffer.allocUnsafeSlow(65_536);

/** Undefined for a process that has ended meanwhile or is another user's. */
function readProc(path: string): Buffer | undefined {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = readSync(file, buffer);
      if (bytes < buffer.length) return buffer.subarray(0, bytes);
      return Buffer.concat([Buffer.from(buffer), readFileSync(file)]);
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}
