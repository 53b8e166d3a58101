import type { JsonObject } from "../json.js";
import type { ModelCall, ModelMessage, ModelToolResult } from "../model/model.js";
import { cutText } from "../text/cut.js";
import { cleanJson, cleanObject, cleanText, isBlank } from "./clean.js";

/*
 * What makes a context valid for strict APIs, whatever is in the history it is folded from. fold.ts puts the messages
 * in their places; the messages themselves are made here and nowhere else.
 */

/** No single item may make every later request fail. Bytes of UTF-8. */
export const textBytesMax = {
  user: 4 << 20,
  assistant: 1 << 20,
  result: 128 << 10,
  input: 1 << 20,
  inputString: 64 << 10,
};

const idPattern = /^[A-Za-z0-9_-]{1,64}$/;
const namePattern = /^[A-Za-z0-9_-]{1,64}$/;

export function userMessage(text: string): ModelMessage {
  return { role: "user", text: filled(text, textBytesMax.user, "(an empty message)") };
}

export function noticeMessage(text: string): ModelMessage {
  return userMessage(`[notice] ${text}`);
}

export function shellMessage(command: string, output: string, exitCode: unknown, outcome?: unknown): ModelMessage {
  const head = `[the person ran a command]\n$ ${command}\n${output === "" ? "(no output)" : output}`;
  // Nobody knows how it ended: the output says so.
  if (outcome !== undefined) return userMessage(head);
  const end = typeof exitCode === "number" ? `exit code ${exitCode}` : "ended by a signal";
  return userMessage(`${head}\n(${end})`);
}

export function summaryMessage(summary: string): ModelMessage {
  return userMessage(`[summary of the conversation so far]\n${summary}`);
}

/** Undefined when there is nothing in it: a blank assistant message is refused by APIs. */
export function assistantMessage(text: string, calls: readonly ModelCall[]): ModelMessage | undefined {
  if (isBlank(text)) return calls.length === 0 ? undefined : { role: "assistant", text: "", calls };
  return { role: "assistant", text: fitting(text, textBytesMax.assistant), calls };
}

export function toolResult(call: ModelCall, text: string, isError: boolean): ModelToolResult {
  return { callId: call.id, name: call.name, text: filled(text, textBytesMax.result, "(no output)"), isError };
}

/** Calls with ids that are unique in the context, names and inputs that every API takes. */
export function validCalls(calls: readonly ModelCall[], seq: number, usedIds: Set<string>): ModelCall[] {
  // A new id must not be the old one of another call: a result with it would find the wrong call.
  const savedIds = new Set(calls.map((call) => call.id));
  return calls.map((call, index) => {
    let id = call.id;
    for (let round = 0; !idPattern.test(id) || usedIds.has(id) || (round > 0 && savedIds.has(id)); round += 1) {
      id = round === 0 ? callId(seq, index) : `${callId(seq, index)}_${round}`;
    }
    usedIds.add(id);
    const provider = isObject(call.provider) ? { provider: cleanObject(call.provider) } : {};
    return { id, name: validName(call.name), input: validInput(call.input), ...provider };
  });
}

/** The agent's own ids: unique in a conversation, and safe as a file's name. */
export function callId(replySeq: number, index: number): string {
  return `call_${replySeq}_${index}`;
}

/** The context as it is sent: APIs want a message from the user at the end. */
export function requestMessages(context: readonly ModelMessage[]): ModelMessage[] {
  const last = context.at(-1);
  return last?.role === "assistant" ? [...context, { role: "user", text: "Continue." }] : [...context];
}

/** The message with every text of it shortened, head and tail kept. */
export function trimmed(message: ModelMessage, bytesMax: number): ModelMessage {
  if (message.role === "user") return { ...message, text: fitting(message.text, bytesMax) };
  if (message.role === "tool") {
    return {
      ...message,
      results: message.results.map((result) => ({ ...result, text: fitting(result.text, bytesMax) })),
    };
  }
  const calls = message.calls.map((call) => ({ ...call, input: cutStrings(call.input, bytesMax) }));
  return { ...message, text: fitting(message.text, bytesMax), calls };
}

function validName(name: string): string {
  if (namePattern.test(name)) return name;
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed";
}

/** APIs want an object; what a model gave instead stays readable in it. */
function validInput(input: ModelCall["input"] | undefined): JsonObject {
  const cleaned = cleanJson(input ?? {});
  const object = isObject(cleaned) ? cleaned : { value: cleaned };
  if (JSON.stringify(object).length <= textBytesMax.input) return object;
  const cut = cutStrings(object, textBytesMax.inputString);
  return JSON.stringify(cut).length <= textBytesMax.input && isObject(cut)
    ? cut
    : { note: "(this input was too large to keep)" };
}

function cutStrings(value: ModelCall["input"], bytesMax: number): ModelCall["input"] {
  if (typeof value === "string") return fitting(value, bytesMax);
  if (Array.isArray(value)) return value.map((item) => cutStrings(item, bytesMax));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cutStrings(item, bytesMax)]));
}

function filled(text: string, bytesMax: number, placeholder: string): string {
  return isBlank(text) ? placeholder : fitting(text, bytesMax);
}

function fitting(text: string, bytesMax: number): string {
  // A UTF-16 unit has at most three bytes of UTF-8, so most texts need no counting.
  return cleanText(text.length * 3 <= bytesMax ? text : cutText(text, bytesMax).text);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
