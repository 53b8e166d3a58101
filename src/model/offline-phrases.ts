import type { JsonObject } from "../json.js";

/** A phrase that the offline model turns into a call. */
export interface PhraseCall {
  readonly tool: string;
  readonly input: JsonObject;
}

export type Phrase =
  | { readonly kind: "help" }
  | { readonly kind: "say"; readonly words: number }
  /** Calls to make: the steps one after the other, the calls of a step together. */
  | { readonly kind: "calls"; readonly steps: readonly (readonly PhraseCall[])[] }
  | { readonly kind: "other" };

export const phraseHelp = [
  "run COMMAND (or: $ COMMAND)",
  "read PATH",
  "write PATH: TEXT",
  "edit PATH: OLD => NEW",
  "list [PATH]",
  "search PATTERN [in PATH]",
  "say N words",
  "help",
] as const;

export const WORDS_MAX = 100_000;

/** Several lines are several calls at once; ` and then ` between phrases is one after the other. */
export function parsePhrase(message: string): Phrase {
  const text = message.trim();
  if (/^(help|\?)$/i.test(text)) return { kind: "help" };
  const words = /^say (\d{1,9}) words?$/i.exec(text)?.[1];
  if (words !== undefined) return { kind: "say", words: Math.min(Number(words), WORDS_MAX) };
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const parallel = everyCall(lines);
  if (lines.length > 1 && parallel !== undefined) return { kind: "calls", steps: [parallel] };
  const sequence = everyCall(text.split(/ and then /i));
  if (sequence !== undefined) return { kind: "calls", steps: sequence.map((call) => [call]) };
  const single = parseCall(text);
  return single === undefined ? { kind: "other" } : { kind: "calls", steps: [[single]] };
}

function everyCall(texts: readonly string[]): PhraseCall[] | undefined {
  const calls = texts.flatMap((text) => parseCall(text.trim()) ?? []);
  return calls.length > 0 && calls.length === texts.length ? calls : undefined;
}

function parseCall(text: string): PhraseCall | undefined {
  const command = match(/^(?:run\s+|\$\s*)(\S[\s\S]*)$/i, text);
  if (command !== undefined) return { tool: "bash", input: { command: command[0] } };
  const write = match(/^write\s+([^:\n]*[^:\s]):(?: |\n|$)([\s\S]*)$/i, text);
  if (write !== undefined) return { tool: "write", input: { path: write[0], content: write[1] } };
  const edit = match(/^edit\s+([^:\n]*[^:\s]):\s*(\S[\s\S]*?)\s*=>\s*([\s\S]*)$/i, text);
  if (edit !== undefined) return { tool: "edit", input: { path: edit[0], oldText: edit[1], newText: edit[2] } };
  const read = match(/^read\s+([^\n]+)$/i, text);
  if (read !== undefined) return { tool: "read", input: { path: read[0].trim() } };
  const list = match(/^list(?:\s+([^\n]+))?$/i, text);
  if (list !== undefined) return { tool: "list", input: list[0] === "" ? {} : { path: list[0].trim() } };
  const place = match(/^search\s+([^\n]+)\s+in\s+(\S+)$/i, text);
  if (place !== undefined) return { tool: "search", input: { pattern: place[0], path: place[1] } };
  const search = match(/^search\s+([^\n]+)$/i, text);
  return search === undefined ? undefined : { tool: "search", input: { pattern: search[0].trim() } };
}

/** The groups of a match; those that did not take part are empty. */
function match(pattern: RegExp, text: string): [string, string, string] | undefined {
  const found = pattern.exec(text);
  return found === null ? undefined : [found[1] ?? "", found[2] ?? "", found[3] ?? ""];
}
