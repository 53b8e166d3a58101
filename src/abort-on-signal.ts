import { SignalAbort } from "./agent/interrupt.js";

/**
 * Turns process signals into an abort, so that a run ends the usual way: running calls are closed `(aborted: SIGTERM)`
 * and the State is saved. Call `dispose` when the run is over: from then on the signals do what they did before.
 */
export function abortOnSignal(signals: readonly NodeJS.Signals[] = ["SIGTERM"]): {
  readonly signal: AbortSignal;
  dispose(): void;
} {
  const controller = new AbortController();
  const listeners = signals.map((name) => ({ name, listener: () => controller.abort(new SignalAbort(name)) }));
  for (const { name, listener } of listeners) process.on(name, listener);
  return {
    signal: controller.signal,
    dispose: () => {
      for (const { name, listener } of listeners) process.removeListener(name, listener);
    },
  };
}
