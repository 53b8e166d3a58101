import type { PermissionRequest } from "../agent/permissions.js";
import type { PermissionAnswer, SessionEvent } from "./session.js";

/** Permission questions that wait for the person. A question whose run is aborted is withdrawn. */
export class Questions {
  readonly #waiting = new Map<string, (answer: PermissionAnswer) => void>();
  readonly #emit: (event: SessionEvent) => void;
  #next = 1;

  constructor(emit: (event: SessionEvent) => void) {
    this.#emit = emit;
  }

  /** Resolves with the person's answer; rejects with the signal's reason when the run is aborted first. */
  ask(request: PermissionRequest): Promise<PermissionAnswer> {
    const { signal, call, access, tool } = request;
    const askId = `ask_${this.#next++}`;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const withdraw = () => {
        this.#waiting.delete(askId);
        this.#emit({ type: "ask_withdrawn", askId });
        reject(signal.reason);
      };
      signal.addEventListener("abort", withdraw, { once: true });
      this.#waiting.set(askId, (answer) => {
        this.#waiting.delete(askId);
        signal.removeEventListener("abort", withdraw);
        resolve(answer);
      });
      const where = access?.action !== "run" && access?.inside ? " inside this folder" : "";
      this.#emit({
        type: "ask",
        askId,
        call,
        access,
        always: `always allow ${tool.name}${where} in this conversation`,
      });
    });
  }

  /** An answer to a question that is gone changes nothing. */
  answer(askId: string, answer: PermissionAnswer): void {
    this.#waiting.get(askId)?.(answer);
  }
}
