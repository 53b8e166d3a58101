import { readFileSync } from "node:fs";
import { uptime } from "node:os";

/**
 * Names this run of the machine. What was on disk but not synced is gone after a restart, so that a file which is missing
 * then proves nothing. Where the system has no such name it is the time of the start, in seconds.
 */
export function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return `t${Math.round(Date.now() / 1000 - uptime())}`;
  }
}

/** False also when nobody can tell: a clock that was set looks like a restart. */
export function isSameBoot(id: string): boolean {
  const now = bootId();
  if (id === now) return true;
  if (!id.startsWith("t") || !now.startsWith("t")) return false;
  return Math.abs(Number(id.slice(1)) - Number(now.slice(1))) <= 2;
}
