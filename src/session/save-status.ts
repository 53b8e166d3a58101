import type { AgentEvent } from "../agent/events.js";
import type { State } from "../agent/state.js";
import { PerdureError } from "../errors.js";
import { type ProblemParts, problemParts } from "./problem-parts.js";
import type { SessionEvent, Unsaved } from "./session.js";

/** Space may be made while nobody types. */
const RETRY_MS = 2000;

export interface SaveStatusOptions {
  readonly state: State;
  emit(event: SessionEvent): void;
  /** Saves what is missing; never rejects for what the disk says. */
  retry(): Promise<unknown>;
}

/** Whether what was said is on disk, told once when it changes; tries again by itself while it is not. */
export class SaveStatus {
  readonly #options: SaveStatusOptions;
  #failure: ProblemParts | undefined;
  /** Told with the next save: when that fails too, it is the same trouble. */
  #draftFailure: Extract<AgentEvent, { type: "draft_failed" }> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: SaveStatusOptions) {
    this.#options = options;
  }

  /** What is in memory only; undefined when all is on disk. */
  get unsaved(): Unsaved | undefined {
    return this.#failure === undefined ? undefined : { afterMessage: this.#messagesSaved() };
  }

  /** Throws what a person must know who leaves now: NOT_SAVED. */
  throwUnsaved(): void {
    const failure = this.#failure;
    if (failure === undefined) return;
    const message = this.#messagesSaved();
    const what =
      message === 0 ? "nothing of this conversation is on disk" : `nothing after message ${message} is on disk`;
    throw new PerdureError({
      code: "NOT_SAVED",
      problem: `not saved: ${what}, and what came after it ends with this chat (${failure.problem})`,
      fix: failure.fix ?? "check the disk it is on",
    });
  }

  see(event: AgentEvent): void {
    if (event.type === "draft_failed") this.#draftFailure = event;
    else if (event.type === "save_failed") this.#failed(problemParts(event.error));
    else if (event.type === "saved") this.#worked();
  }

  /** No more tries. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #failed(failure: ProblemParts): void {
    const before = this.#failure;
    this.#failure = failure;
    this.#draftFailure = undefined;
    this.#tryLater();
    // Again only when it is another trouble.
    if (before !== undefined && before.code === failure.code) return;
    const message = this.#messagesSaved();
    const what = message === 0 ? "Nothing of this conversation" : `Nothing after message ${message}`;
    const fix = failure.fix === undefined ? "" : ` (${failure.fix})`;
    this.#options.emit({
      type: "saving_failed",
      text: `not saved: ${failure.problem}${fix}. ${what} is on disk; the chat goes on in memory and tries again`,
    });
  }

  #worked(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#draftFailure !== undefined) this.#options.emit(this.#draftFailure);
    this.#draftFailure = undefined;
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#options.emit({ type: "saving_works", text: "saved: all of this conversation is on disk again" });
  }

  #tryLater(): void {
    if (this.#stopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#options.retry();
    }, RETRY_MS);
    // A chat that has nothing else to do leaves.
    this.#timer.unref();
  }

  /** How many of the person's messages are on disk. */
  #messagesSaved(): number {
    const { history, savedLength } = this.#options.state;
    return history.slice(0, savedLength).filter((entry) => entry.kind === "user").length;
  }
}
