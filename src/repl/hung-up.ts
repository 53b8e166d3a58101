import { closeSync, fstatSync, openSync } from "node:fs";
import { isatty } from "node:tty";

/**
 * Puts /dev/null where standard streams were a terminal that has hung up. On exit Node sets the modes of the terminals it
 * was started with, and aborts (exit code 134, with a dump) when the kernel says EIO; streams that are something else by
 * then are left alone.
 */
export function releaseHungUpTerminal(): void {
  if (process.platform === "win32") return;
  for (const fd of [0, 1, 2]) {
    if (!isHungUp(fd)) continue;
    closeSync(fd);
    // The lowest free number, which is the one just closed.
    openSync("/dev/null", "r+");
  }
}

/** A character device that was a terminal; /dev/null passes too, which changes nothing. */
function isHungUp(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice() && !isatty(fd);
  } catch {
    return false; // Closed: nothing to put back.
  }
}
