import { STOPPED } from "./entries.js";

/** The reason to abort with when the person stops a run (Ctrl+C): running calls are closed `(interrupted by user)`. */
export class UserInterrupt extends Error {
  override readonly name = "UserInterrupt";
  constructor(message = "interrupted by user") {
    super(message);
  }
}

/**
 * The reason to abort with when a signal ends the program: running calls are closed `(aborted: SIGTERM)`. With
 * `leavesCalls` those that can be taken up again ({@link Tool.recover}) are left running, and open in the history.
 */
export class SignalAbort extends Error {
  override readonly name = "SignalAbort";
  readonly signal: string;
  readonly leavesCalls: boolean;
  constructor(signal: string, options: { readonly leavesCalls?: boolean } = {}) {
    super(`aborted: ${signal}`);
    this.signal = signal;
    this.leavesCalls = options.leavesCalls === true;
  }
}

/** Why a run was ended from outside or by an exception, in the words that close its calls. */
export interface Ending {
  readonly outcome: "interrupted" | "aborted";
  /** `interrupted by user`, `aborted: SIGTERM`, `aborted: TypeError`. */
  readonly text: string;
  /** For `run_end`: `interrupted`, `aborted:SIGTERM`. */
  readonly reason: string;
  /** Running calls that can be taken up again go on, and stay open. */
  readonly leavesCalls: boolean;
}

/** By name, not by class: the reason may come from another bundle of this library. */
export function endingOf(reason: unknown): Ending {
  const name = nameOf(reason);
  if (name === "UserInterrupt") {
    return { outcome: "interrupted", text: "interrupted by user", reason: STOPPED.interrupted, leavesCalls: false };
  }
  return { outcome: "aborted", text: `aborted: ${name}`, reason: `aborted:${name}`, leavesCalls: leavesCalls(reason) };
}

/** Whether what ends the run leaves calls running that can be taken up again. */
export function leavesCalls(reason: unknown): boolean {
  return typeof reason === "object" && reason !== null && "leavesCalls" in reason && reason.leavesCalls === true;
}

function nameOf(reason: unknown): string {
  if (typeof reason !== "object" || reason === null) return String(reason);
  if ("signal" in reason && typeof reason.signal === "string") return reason.signal;
  if ("name" in reason && typeof reason.name === "string" && reason.name !== "") return reason.name;
  return "Error";
}

/** The results that close calls which have none. Part of the file format: a second load gives the same words. */
export const closingText = {
  unknown:
    "(unknown: the run stopped before this result was saved, so the tool may or may not have run. Check whether it took effect before relying on it or running it again)",
  notStarted: "(not run: the run stopped before this call started)",
  running: (ending: Ending) => `(${ending.text})`,
  waiting: (ending: Ending) => `(not run: ${ending.text})`,
} as const;

/** Why a reply is not whole whose draft was all that its process left. Part of the file format too. */
export const killedText = "the program was killed";
