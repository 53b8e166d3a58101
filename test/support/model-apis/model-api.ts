import type { JsonObject, JsonValue } from "../../../src/json.js";

/** One piece of what a model was sent, in order, whatever the API's shape. */
export type Piece =
  | { kind: "text"; role: "user" | "assistant"; text: string }
  | { kind: "call"; id: string; name: string; input: JsonValue }
  | { kind: "result"; id: string; text: string; isError: boolean };

/** One message of the request: several pieces with one role. */
export interface Message {
  readonly role: "user" | "assistant" | "tool";
  readonly pieces: readonly Piece[];
}

export interface Conversation {
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly string[];
}

/** A tool call that a scripted reply makes. `rawInput` sends these bytes as the input's JSON, valid or not. */
export interface ScriptedCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
  readonly rawInput?: string;
}

/** Makes the bytes of one streamed reply: `open`, then any number of `text` and `call`, then `close`. */
export interface ReplyStream {
  open(): string;
  text(chunk: string): string;
  /** `half`: the call begins and its input never ends. */
  call(call: ScriptedCall, half?: boolean): string;
  close(): string;
}

export interface ModelApi {
  readonly name: "anthropic" | "openai-chat" | "openai-responses" | "google";
  matches(method: string, path: string): boolean;
  streams(path: string, body: JsonObject): boolean;
  /** Reads a request; throws {@link Refused} for what the API refuses by its shape. */
  read(body: JsonObject, headers: Readonly<Record<string, string>>): Conversation;
  /** Text that may be empty beside a call: this API takes it. */
  readonly emptyTextBesideCalls: boolean;
  /** Each call is an item of its own, so parallel calls are several messages in a row. */
  readonly callsAreItems: boolean;
  errorBody(status: number, message: string): JsonObject;
  stream(): ReplyStream;
  whole(text: string, calls: readonly ScriptedCall[]): JsonObject;
}

/** What a real API answers 400 to. */
export class Refused extends Error {
  override readonly name = "Refused";
}

export function inputJson(call: ScriptedCall): string {
  return call.rawInput ?? JSON.stringify(call.input);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectAt(value: JsonValue | undefined, where: string): JsonObject {
  if (!isObject(value)) throw new Refused(`${where}: Input should be a valid dictionary`);
  return value;
}

export function arrayAt(value: JsonValue | undefined, where: string): JsonValue[] {
  if (!Array.isArray(value)) throw new Refused(`${where}: Input should be a valid list`);
  return value;
}

export function stringAt(value: JsonValue | undefined, where: string): string {
  if (typeof value !== "string") throw new Refused(`${where}: Input should be a valid string`);
  return value;
}

/** A part's text, or the texts of a list of text parts. */
export function textAt(value: JsonValue | undefined, where: string): string {
  if (typeof value === "string") return value;
  return arrayAt(value, where)
    .map((part, index) => stringAt(objectAt(part, `${where}.${index}`).text, `${where}.${index}.text`))
    .join("\n");
}

export function sse(data: JsonObject | "[DONE]", event?: string): string {
  const name = event === undefined ? "" : `event: ${event}\n`;
  return `${name}data: ${data === "[DONE]" ? data : JSON.stringify(data)}\n\n`;
}
