import { expect } from "vitest";
import type { Home } from "./chat.js";
import type { Terminal } from "./terminal.js";

const prompt = "> ";

/** Waits until the conversation takes a line: the prompt stands and nothing is typed. */
export function ready(chat: Terminal, timeoutMs?: number): Promise<void> {
  return chat.waitFor(function thePrompt(terminal) {
    return terminal.cursorLine() === prompt;
  }, timeoutMs);
}

/** Types a line at the prompt and presses Enter. Resolves when the line has been taken. */
export async function say(chat: Terminal, line: string): Promise<void> {
  await ready(chat);
  await enter(chat, line);
}

/** The same without waiting for the prompt: during a turn, or at a question. */
export async function enter(chat: Terminal, line: string): Promise<void> {
  const end = line.slice(-10);
  chat.type(line);
  await chat.waitFor((terminal) => terminal.cursorLine().endsWith(end));
  chat.key("enter");
  await chat.waitFor((terminal) => !terminal.cursorLine().endsWith(end));
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

/** Waits for the question whether a call may run. */
export function asked(chat: Terminal): Promise<void> {
  return chat.waitFor(function theQuestion(terminal) {
    return terminal.screen().endsWith("[n]o >");
  });
}

/** Waits for that question and answers it: `y`, `a` or `n a reason`. */
export async function permit(chat: Terminal, answer: string): Promise<void> {
  await asked(chat);
  await enter(chat, answer);
}

/** The id in the command that the program printed on leaving. */
export function resumeId(output: string): string {
  const id = /chat (?:--resume|-r) ([A-Za-z0-9_-]+)/.exec(output)?.[1];
  if (id === undefined) throw new Error(`no command that resumes in: ${output}`);
  return id;
}

/** One turn without a terminal; gives the conversation's id. */
export async function converse(home: Home, message: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await home.run(["-p", message, "--output-format", "json", ...args]);
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
  const { conversationId } = JSON.parse(stdout);
  return String(conversationId);
}
