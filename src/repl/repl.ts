import type { Session, Sessions } from "../session/session.js";
import { LineRepl } from "./line-repl.js";

export interface ReplOptions {
  readonly sessions: Sessions;
  readonly session: Session;
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  /** Sent as the first message; after a cut-off turn that goes on. */
  readonly firstMessage?: string;
  /** The session is one that was saved before: show where one is, and go on with a turn that was cut off. */
  readonly resumed?: boolean;
  /** Do not go on with a cut-off turn by itself. */
  readonly wait?: boolean;
  readonly banner: readonly string[];
  readonly version: string;
  /** Where what was typed is kept; undefined: nowhere. */
  readonly historyPath: string | undefined;
  /** The command that goes on with a conversation, for the last line. */
  resumeCommand(id: string): string;
}

export interface ReplEnd {
  readonly exitCode: number;
  /** Why, when nobody could be told on the screen. */
  readonly reason?: string;
}

export interface Repl {
  /** The conversation that is open now: `:new` and `:resume` change it. */
  readonly session: Session;
  /** Settles when the conversation is closed and the terminal restored. Never rejects. */
  readonly done: Promise<ReplEnd>;
  /** SIGHUP, or a terminal that cannot be read or written: save, and leave with 129. */
  terminalGone(reason?: string): void;
  notice(text: string): void;
  /** Puts the terminal back. Synchronous, for the last moment of the process; harmless when called again. */
  restore(): void;
}

export function startRepl(options: ReplOptions): Repl {
  return new LineRepl(options);
}
