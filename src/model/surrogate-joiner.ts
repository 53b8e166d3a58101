import { wellFormed } from "../text/well-formed.js";

/** Makes streamed text well-formed: a surrogate pair that was cut between two chunks is joined, not replaced. */
export class SurrogateJoiner {
  #held = "";

  push(chunk: string): string {
    const text = this.#held + chunk;
    const last = text.charCodeAt(text.length - 1);
    const open = last >= 0xd800 && last <= 0xdbff;
    this.#held = open ? text.slice(-1) : "";
    return wellFormed(open ? text.slice(0, -1) : text);
  }

  /** What was held back, replaced: its other half never came. */
  end(): string {
    const rest = wellFormed(this.#held);
    this.#held = "";
    return rest;
  }
}
