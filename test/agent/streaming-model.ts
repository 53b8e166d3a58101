import type { Clock } from "../../src/agent/clock.js";
import type { Model, ModelEvent } from "../../src/model/model.js";

/** A model whose one reply the test streams piece by piece. */
export class StreamingModel implements Model {
  readonly name = "streaming/model";
  readonly #events: ModelEvent[] = [];
  #wake: () => void = () => undefined;

  /** Passes on one event. */
  push(event: ModelEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  say(text: string): void {
    this.push({ type: "text", text });
  }

  finish(): void {
    this.push({ type: "finish", reason: "stop", usage: {} });
  }

  async *stream(_request: unknown, { signal }: { signal: AbortSignal }): AsyncGenerator<ModelEvent> {
    signal.addEventListener("abort", () => this.#wake());
    for (;;) {
      const event = this.#events.shift();
      if (signal.aborted) throw signal.reason;
      if (event !== undefined) yield event;
      if (event?.type === "finish") return;
      if (event === undefined && this.#events.length === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

/** A clock that stands still until the test lets time pass. */
export class StandingClock implements Clock {
  readonly #sleepers = new Set<() => void>();
  /** How long each sleep was to take. */
  readonly sleeps: number[] = [];

  now(): number {
    return Date.parse("2026-01-01T00:00:00.000Z");
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeps.push(ms);
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleepers.delete(wake);
        resolve();
      };
      if (signal?.aborted === true) return wake();
      this.#sleepers.add(wake);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }

  /** Everybody who sleeps wakes up. */
  pass(): void {
    for (const wake of [...this.#sleepers]) wake();
  }
}
