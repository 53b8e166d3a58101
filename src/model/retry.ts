import type { PerdureError } from "../errors.js";
import type { ModelEvent } from "./model.js";

export interface RetryPolicy {
  /** Requests in all, the first one included. */
  readonly triesMax: number;
  /** How long to wait after the given failed try (1, 2, …) when the server does not say. */
  delayMs(attempt: number): number;
  /** Rejects with the signal's reason as soon as it is aborted. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
}

export const defaultRetryPolicy: RetryPolicy = {
  triesMax: 4,
  // 1 s, 2 s, 4 s, less up to half: many clients that failed together must not come back together.
  delayMs: (attempt) => 1000 * 2 ** (attempt - 1) * (1 - Math.random() / 2),
  sleep,
};

/** A server that asks for a longer wait than this is not waited for: the person decides. */
export const RETRY_AFTER_MS_MAX = 60_000;

export interface Failure {
  readonly error: PerdureError;
  /** The same request may work later. */
  readonly again: boolean;
  /** What the server asked for. */
  readonly retryAfterMs?: number;
  /** In a few words, for the screen. */
  readonly reason: string;
}

/**
 * Runs `attempt` until one answers. A failure before any text is tried again when that may help; one after text is cut:
 * what the person has seen cannot be taken back. Reasoning and unfinished calls are no output here, since nobody keeps
 * them: after a `retry` event they begin anew.
 */
export async function* withRetries(
  attempt: () => AsyncIterable<ModelEvent>,
  options: {
    readonly policy: RetryPolicy;
    readonly signal: AbortSignal;
    classify(error: unknown): Failure;
    /** What to throw when the stream failed after text. */
    cut(failure: Failure): PerdureError;
  },
): AsyncGenerator<ModelEvent, void, undefined> {
  const { policy, signal } = options;
  for (let tries = 1; ; tries += 1) {
    let said = false;
    let failure: Failure;
    try {
      signal.throwIfAborted();
      for await (const event of attempt()) {
        said ||= event.type === "text";
        yield event;
      }
      return;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      failure = options.classify(error);
    }
    if (said) throw options.cut(failure);
    const asked = failure.retryAfterMs ?? 0;
    if (!failure.again || tries >= policy.triesMax || asked > RETRY_AFTER_MS_MAX) throw failure.error;
    const delayMs = Math.round(Math.max(asked, failure.retryAfterMs === undefined ? policy.delayMs(tries) : 0));
    yield { type: "retry", attempt: tries + 1, delayMs, reason: failure.reason };
    await policy.sleep(delayMs, signal);
  }
}

export async function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, delayMs);
    signal.addEventListener("abort", stop, { once: true });
  });
}
