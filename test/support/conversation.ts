import { expect } from "vitest";
import type { Terminal } from "./terminal.js";

/** The prompt, with nothing typed after it. */
const promptPattern = /^\S{0,20}\s?[>❯›] ?$/;

/** Waits until the conversation takes a line: the prompt stands and nothing is typed. */
export function ready(chat: Terminal, timeoutMs?: number): Promise<void> {
  return chat.waitFor(function prompt(terminal) {
    return promptPattern.test(terminal.cursorLine());
  }, timeoutMs);
}

/** Types a line at the prompt and presses Enter. */
export async function say(chat: Terminal, line: string): Promise<void> {
  await ready(chat);
  chat.type(line);
  chat.key("enter");
}

/** Says a line, waits for this in the answer and for the next prompt. */
export async function talk(chat: Terminal, line: string, answer: string | RegExp): Promise<void> {
  await say(chat, line);
  await chat.waitFor(answer);
  await ready(chat);
}

/** Leaves with `:quit`. */
export async function quit(chat: Terminal): Promise<void> {
  await say(chat, ":quit");
  expect((await chat.exit).status).toBe(0);
}

/** Waits for the question whether a call may run, and answers it: `y`, `a` or `n a reason`. */
export async function permit(chat: Terminal, answer: string): Promise<void> {
  await asked(chat);
  chat.type(answer);
  chat.key("enter");
}

const question = /\balways\b.*\bno?\b/;

export function asked(chat: Terminal): Promise<void> {
  return chat.waitFor((terminal) => question.test(terminal.screen().split("\n").slice(-4).join("\n")));
}

/** The id in the command that the program printed on leaving. */
export function resumeId(output: string): string {
  const id = /chat (?:--resume|-r) ([A-Za-z0-9_-]+)/.exec(output)?.[1];
  if (id === undefined) throw new Error(`no command that resumes in: ${output}`);
  return id;
}
