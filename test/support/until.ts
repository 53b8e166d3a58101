import { deadlineMs } from "./deadline.js";

/** Polls a condition of the outside world (a file, a process) that nothing announces. Rejects with `what` at the end. */
export async function until<T>(
  what: string | (() => string),
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = deadlineMs,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const found = await condition();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${typeof what === "string" ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
