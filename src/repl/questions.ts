import type { Display } from "./display.js";
import type { Terminal } from "./terminal.js";

export interface Question {
  /** For `withdraw`. */
  readonly id: string;
  intro(): Display[];
  prompt(): string;
  /** False: that is no answer, ask again. */
  answered(text: string): boolean;
  /** Ctrl+C, or the end of the program. */
  cancelled(): void;
}

/** Questions to the person, one at a time, in the order they came. */
export class Questions {
  readonly #terminal: Terminal;
  /** Whether the prompt stands once there is nothing left to ask. */
  readonly #waiting: () => boolean;
  #queue: Question[] = [];

  constructor(terminal: Terminal, waiting: () => boolean) {
    this.#terminal = terminal;
    this.#waiting = waiting;
  }

  get isAsking(): boolean {
    return this.#queue.length > 0;
  }

  ask(question: Question): void {
    this.#queue.push(question);
    if (this.#queue.length === 1) this.#present(question);
  }

  entered(text: string): void {
    const question = this.#queue[0];
    if (question === undefined) return;
    if (question.answered(text)) this.#next();
    else this.#terminal.beginQuestion(question.prompt());
  }

  withdraw(id: string): void {
    const isFirst = this.#queue[0]?.id === id;
    if (isFirst) {
      this.#next();
      return;
    }
    this.#queue = this.#queue.filter((question) => question.id !== id);
  }

  /** All of them. */
  cancel(): void {
    const queue = this.#queue;
    if (queue.length === 0) return;
    this.#queue = [];
    this.#terminal.endQuestion(this.#waiting());
    for (const question of queue) question.cancelled();
  }

  #next(): void {
    this.#queue.shift();
    const question = this.#queue[0];
    if (question === undefined) this.#terminal.endQuestion(this.#waiting());
    else this.#present(question);
  }

  #present(question: Question): void {
    this.#terminal.show(question.intro());
    this.#terminal.beginQuestion(question.prompt());
  }
}
