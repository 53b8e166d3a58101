import { readdirSync, readFileSync } from "node:fs";

export interface FoundProcess {
  readonly pid: number;
  readonly command: string;
}

/** Living processes (no zombies) with this text in their environment or command line. Reads /proc: Linux only. */
export function processesWith(text: string): FoundProcess[] {
  const found: FoundProcess[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      if (/^\d+ \(.*\) [ZX] /s.test(stat)) continue;
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      if (command.includes(text) || readFileSync(`/proc/${name}/environ`, "utf8").includes(text)) {
        found.push({ pid: Number(name), command });
      }
    } catch {
      // It ended while we looked, or it is somebody else's.
    }
  }
  return found;
}

export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}

export function endProcess(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
