import type { AgentEvent, AgentListener } from "./events.js";

/**
 * Passes events to the listener. An error it throws does not disturb the step that is under way: the step throws it when
 * it is through ({@link throwFailure}).
 */
export class Emitter {
  readonly #listener: AgentListener | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(listener: AgentListener | undefined) {
    this.#listener = listener;
  }

  emit(event: AgentEvent): void {
    try {
      this.#listener?.(event);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  throwFailure(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
  }
}
