import type { Writable } from "node:stream";
import { hasCode } from "../errors.js";

/** Standard output whose reader may go away: then the rest is dropped, and nothing else changes. */
export class Output {
  readonly #stream: Writable;
  #closed = false;
  #failure: Error | undefined;
  readonly #onError = (error: Error): void => {
    this.#closed = true;
    if (!hasCode(error, "EPIPE", "ERR_STREAM_DESTROYED")) this.#failure = error;
  };

  constructor(stream: Writable) {
    this.#stream = stream;
    // Never taken off again: an EPIPE may arrive after the last write, and nobody else listens for it.
    stream.on("error", this.#onError);
  }

  /** Why writing failed, other than by a reader that went away: a full disk, say. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  write(text: string): void {
    if (!this.#closed && !this.#stream.destroyed) this.#stream.write(text);
  }

  line(text: string): void {
    this.write(`${text}\n`);
  }

  /** Resolves when everything is handed over, or can no longer be. */
  async flush(): Promise<void> {
    if (this.#closed || this.#stream.destroyed) return;
    await new Promise<void>((resolve) => {
      this.#stream.write("", () => resolve());
    });
  }
}

/**
 * JSON on one line that is safe on a terminal too: what JSON leaves as it is but a terminal obeys (DEL, C1 controls,
 * direction overrides) is escaped, which every JSON parser undoes.
 */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
