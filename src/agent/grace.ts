/** How long a tool, a model or a store that is told to stop may take before the run goes on without it. */
export const graceMs = 1000;

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw signal.reason;
}

/** Rejects with the signal's reason as soon as it is aborted; else settles as the promise does. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // Whoever loses the race must not become an unhandled rejection.
  promise.catch(() => undefined);
  throwIfAborted(signal);
  const settled = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true, signal: settled.signal });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    settled.abort();
  }
}
