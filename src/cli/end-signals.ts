import { onExit } from "signal-exit";
import { leavingLine } from "../session/leaving.js";
import type { Session, ShutdownReason } from "../session/session.js";
import { errorText } from "./error-text.js";
import { exitCodeOfSignal } from "./exit-code.js";

export interface EndSignalsOptions {
  /** The conversation that is open when it happens. */
  session(): Session;
  /** Puts the terminal back. Synchronous; called on every way out. */
  restore(): void;
  resumeCommand(id: string): string;
}

/** What is promised is 2 s; the rest of that is for leaving. */
const SHUTDOWN_MS = 1700;

/**
 * The one way out for SIGTERM, SIGHUP, SIGINT and exceptions that nobody caught: running calls are closed, streamed text
 * is kept, everything is saved, the terminal is put back, the exit code is 128 + n (1 for an exception). A second signal
 * leaves at once.
 *
 * SIGINT comes as a signal only from outside: on a terminal Ctrl+C is a key.
 */
export class EndSignals {
  readonly #options: EndSignalsOptions;
  readonly #removeOnExit: () => void;
  readonly #handlers: Array<[NodeJS.Signals, () => void]> = [];
  readonly #onException = (error: unknown): void => {
    this.#end("exception", 1, error);
  };
  #exitCode: number | undefined;

  constructor(options: EndSignalsOptions) {
    this.#options = options;
    // signal-exit gives the terminal back also where something else ends the process.
    this.#removeOnExit = onExit(() => {
      options.restore();
      options.session().killAll();
    });
    for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"] as const) {
      const handler = () => this.#end(signal, exitCodeOfSignal(signal) ?? 1);
      this.#handlers.push([signal, handler]);
      process.on(signal, handler);
    }
    process.on("uncaughtException", this.#onException);
    process.on("unhandledRejection", this.#onException);
  }

  /** Set once something ends the program. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  dispose(): void {
    for (const [signal, handler] of this.#handlers) process.removeListener(signal, handler);
    process.removeListener("uncaughtException", this.#onException);
    process.removeListener("unhandledRejection", this.#onException);
    this.#removeOnExit();
  }

  #end(reason: ShutdownReason, exitCode: number, error?: unknown): void {
    if (this.#exitCode !== undefined) {
      // A second signal, or a failure while leaving.
      this.#options.restore();
      process.exit(exitCode);
    }
    this.#exitCode = exitCode;
    const session = this.#options.session();
    session.shutdown(reason, SHUTDOWN_MS).then(
      () => this.#leave(session, error),
      (failure: unknown) => this.#leave(session, error ?? failure),
    );
  }

  #leave(session: Session, error: unknown): void {
    this.#options.restore();
    if (error !== undefined) say(errorText(error));
    const last = leavingLine(session.info, (id) => this.#options.resumeCommand(id));
    if (last !== undefined) say(last);
    process.exit(this.#exitCode);
  }
}

/** The terminal may be gone: then nobody reads it, and that is no error. */
function say(line: string): void {
  if (process.stderr.destroyed || !process.stderr.writable) return;
  process.stderr.once("error", () => undefined);
  process.stderr.write(`${line}\n`);
}
