const WINDOW_MS = 50;
const WINDOW_UNITS_MAX = 65_536;

/**
 * Hands output on for the screen at a pace a screen can take: the first piece at once, then one piece per 50 ms, at most
 * 64 Ki characters each; what is beyond that is left out with a line `…`. The screen is not the record.
 */
export class LiveOutput {
  readonly #show: (chunk: string) => void;
  #waiting = "";
  #leftOut = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(show: (chunk: string) => void) {
    this.#show = show;
  }

  push(text: string): void {
    const room = WINDOW_UNITS_MAX - this.#waiting.length;
    if (text.length > room) this.#leftOut = true;
    if (room > 0) this.#waiting += text.slice(0, room);
    if (this.#timer !== undefined) return;
    this.#flush();
    this.#timer = setTimeout(() => this.#tick(), WINDOW_MS);
    this.#timer.unref();
  }

  /** Shows what waits. No timer is left behind. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flush();
  }

  #tick(): void {
    this.#timer = undefined;
    if (this.#waiting !== "") this.push("");
  }

  #flush(): void {
    const text = this.#leftOut ? `${this.#waiting}\n…\n` : this.#waiting;
    this.#waiting = "";
    this.#leftOut = false;
    if (text !== "") this.#show(text);
  }
}
