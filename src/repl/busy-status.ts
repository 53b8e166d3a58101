const INTERVAL_MS = 1000;

/** What stands in the place of the prompt while the program is busy: with what, and for how long. */
export class BusyStatus {
  readonly #activity: () => string;
  readonly #changed: () => void;
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopping = false;

  /** @param changed the text is another one now; at least each second while busy */
  constructor(activity: () => string, changed: () => void) {
    this.#activity = activity;
    this.#changed = changed;
  }

  get isBusy(): boolean {
    return this.#since !== undefined;
  }

  get isStopping(): boolean {
    return this.#stopping;
  }

  set isStopping(stopping: boolean) {
    this.#stopping = stopping;
    this.#changed();
  }

  set(busy: boolean): void {
    this.end();
    this.#since = busy ? Date.now() : undefined;
    if (!busy) return;
    this.#timer = setInterval(this.#changed, INTERVAL_MS);
    this.#timer.unref();
  }

  /** Nobody looks any more. */
  end(): void {
    clearInterval(this.#timer);
  }

  get text(): string | undefined {
    if (this.#since === undefined) return undefined;
    const seconds = Math.max(0, Math.floor((Date.now() - this.#since) / 1000));
    const what = this.#stopping ? "stopping" : this.#activity();
    return `· ${what}… ${seconds} s${this.#stopping ? "" : " (Ctrl+C stops it)"}`;
  }
}
