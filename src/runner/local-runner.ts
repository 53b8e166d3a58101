export { toolEnvironment } from "./environment.js";

import { PerdureError } from "../errors.js";
import { LocalCommand } from "./local-command.js";
import type { CommandSpec, Runner, RunningCommand } from "./runner.js";

/**
 * Runs commands as children of this process. They do not outlive it: whoever ends the process calls {@link endAll}
 * (or, in its last moment, {@link killAll}).
 */
export class LocalRunner implements Runner {
  readonly #started = new Set<string>();
  /** Running commands, and ended ones that left something in the background. */
  readonly #commands = new Set<LocalCommand>();

  /** @throws {PerdureError} CALL_STARTED_TWICE */
  start(callId: string, spec: CommandSpec): RunningCommand {
    if (this.#started.has(callId)) {
      throw new PerdureError({
        code: "CALL_STARTED_TWICE",
        problem: `the call ${callId} was started before, and a call starts at most once`,
        fix: "give every call an id of its own",
      });
    }
    this.#started.add(callId);
    const command = new LocalCommand(spec);
    this.#commands.add(command);
    command.done.then(
      (result) => {
        if (result.backgroundPids === undefined) this.#commands.delete(command);
      },
      () => this.#commands.delete(command),
    );
    return command;
  }

  /** Ends every running command and what ended ones left in the background: SIGTERM, SIGKILL after `graceMs`. */
  async endAll(graceMs?: number): Promise<void> {
    await Promise.all([...this.#commands].map((command) => command.end(graceMs)));
  }

  /** SIGKILL to all of it, at once and synchronously: for an `exit` handler. */
  killAll(): void {
    for (const command of this.#commands) command.kill();
  }
}
