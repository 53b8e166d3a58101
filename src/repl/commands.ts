import type { Session, Sessions } from "../session/session.js";
import { nearest } from "../text/nearest.js";
import { printableLine } from "../text/printable.js";
import { conversationCommands } from "./conversation-commands.js";
import { type Display, line, problemLines, spans } from "./display.js";
import { stateCommands } from "./state-commands.js";

/** What a command works with. */
export interface CommandContext {
  readonly sessions: Sessions;
  readonly session: Session;
  readonly columns: number;
  readonly version: string;
  now(): Date;
  show(items: readonly Display[]): void;
  /** A question to the person; undefined when there is nobody to ask, or Ctrl+C. */
  ask(intro: readonly Display[], prompt: string): Promise<string | undefined>;
  /** Leaves the open conversation for this one. */
  open(next: Session): Promise<void>;
  /** A turn that runs by itself from here on. */
  start(turn: Promise<unknown>): void;
  /** Ends the program. */
  quit(): void;
}

export interface Command {
  readonly name: string;
  /** As the help shows it: `ID`, `[N]`. */
  readonly argument?: string;
  readonly help: string;
  /** Not while a turn runs. */
  readonly idleOnly?: boolean;
  /** Its argument is a conversation, for Tab. */
  readonly completesState?: boolean;
  run(context: CommandContext, argument: string): Promise<void> | void;
}

const help: Command = {
  name: "help",
  help: "this list",
  run(context) {
    const width = Math.max(...COMMANDS.map((command) => usageOf(command).length));
    context.show([
      spans(["bold", "Perdure"], ["dim", ` ${context.version}`]),
      ...COMMANDS.map((command) => spans(["cyan", `  ${usageOf(command).padEnd(width)}`], `  ${command.help}`)),
      spans(
        ["cyan", `  ${"!command".padEnd(width)}`],
        "  run a command yourself; its output goes into the conversation",
      ),
      line("  \\ at the end of a line, or Alt+Enter: a new line; a paste is one message", "dim"),
      line("  :: or a space first sends a text that begins with ':' (a space also for '!')", "dim"),
      line("  Ctrl+C stops the turn, twice leaves; Ctrl+D leaves; Tab completes", "dim"),
    ]);
  },
};

const quit: Command = { name: "quit", help: "leave (saved)", run: (context) => context.quit() };

export const COMMANDS: readonly Command[] = [help, ...stateCommands, ...conversationCommands, quit];

const ALIASES: Record<string, string> = { "?": "help", h: "help", q: "quit", exit: "quit", ls: "list" };

export function usageOf(command: Command): string {
  return command.argument === undefined ? `:${command.name}` : `:${command.name} ${command.argument}`;
}

export function findCommand(name: string): Command | undefined {
  const known = ALIASES[name] ?? name;
  return COMMANDS.find((command) => command.name === known);
}

export function unknownCommand(name: string): Display[] {
  const near = nearest(
    name,
    COMMANDS.map((command) => command.name),
  );
  const fix = near === undefined ? ":help lists the commands" : `did you mean :${near}? (:help lists all)`;
  return problemLines(
    `unknown command :${printableLine(name, 60)}`,
    `${fix}; to send it as a message, type ::${printableLine(name, 60)}`,
  );
}

/** Runs a command by name. Its errors are the caller's to show. */
export async function runCommand(context: CommandContext, name: string, argument: string): Promise<void> {
  const command = findCommand(name);
  if (command === undefined) {
    context.show(unknownCommand(name));
    return;
  }
  if (command.idleOnly === true && context.session.info.busy) {
    context.show(problemLines(`:${command.name} has to wait until the turn has ended`, "Ctrl+C stops the turn"));
    return;
  }
  if (argument === "" && command.argument !== undefined && !command.argument.startsWith("[")) {
    context.show([...problemLines(`:${command.name} needs ${command.argument}`, `usage: ${usageOf(command)}`)]);
    return;
  }
  await command.run(context, argument);
}
