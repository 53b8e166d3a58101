import type { JsonValue } from "../../src/json.js";
import { type Conversation, type ModelApi, type Piece, Refused } from "./model-apis/model-api.js";

export type ApiTraits = Pick<ModelApi, "emptyTextBesideCalls" | "callsAreItems">;

const loneSurrogate = /\p{Surrogate}/u;

/** The body as text; refused when its bytes are not UTF-8 or its JSON holds half a surrogate pair anywhere. */
export function parseStrictly(bytes: Uint8Array): JsonValue {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Refused("The request body is not valid UTF-8");
  }
  let body: JsonValue;
  try {
    body = JSON.parse(text) as JsonValue;
  } catch {
    throw new Refused("The request body is not valid JSON");
  }
  refuseLoneSurrogates(body);
  return body;
}

export function refuseLoneSurrogates(value: JsonValue): void {
  if (typeof value === "string") {
    if (loneSurrogate.test(value)) throw new Refused("The request body is not valid JSON: no low surrogate in string");
  } else if (Array.isArray(value)) {
    for (const item of value) refuseLoneSurrogates(item);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      refuseLoneSurrogates(key);
      refuseLoneSurrogates(item);
    }
  }
}

/** Throws {@link Refused} for a conversation that the real APIs answer 400 to. */
export function refuseInvalid(conversation: Conversation, api: ApiTraits): void {
  const { messages } = conversation;
  const first = messages[0];
  const last = messages.at(-1);
  if (first === undefined || last === undefined) throw new Refused("messages: at least one message is required");
  if (first.role !== "user") throw new Refused("messages: first message must use the user role");
  if (last.role === "assistant") throw new Refused("messages: the conversation must end with a user message");

  const seen = new Set<string>();
  const open = new Map<string, string>();
  let position = 0;
  for (const message of messages) {
    const where = `messages.${position}`;
    position += 1;
    const calls = message.pieces.filter((piece) => piece.kind === "call");
    const parallel = api.callsAreItems && calls.length === message.pieces.length;
    if (message.role === "assistant" && open.size > 0 && !parallel) missing(open, where);
    for (const piece of message.pieces) {
      if (piece.kind === "text" && isBlank(piece, calls.length > 0, api)) {
        throw new Refused(`${where}: text content blocks must contain non-whitespace text`);
      }
      if (piece.kind === "text" && piece.role === "user" && open.size > 0) missing(open, where);
      if (piece.kind === "call") {
        if (seen.has(piece.id)) throw new Refused(`${where}: tool_use ids must be unique: ${piece.id}`);
        refuseLoneSurrogates(piece.input);
        seen.add(piece.id);
        open.set(piece.id, piece.name);
      }
      if (piece.kind === "result") {
        if (!open.delete(piece.id)) {
          const why = seen.has(piece.id) ? "has more than one result or one in the wrong place" : "has no call";
          throw new Refused(`${where}: the result of '${piece.id}' ${why}`);
        }
        if (piece.text.trim() === "") throw new Refused(`${where}: the result of '${piece.id}' is blank`);
      }
    }
  }
  if (open.size > 0) missing(open, "the end");
}

function isBlank(piece: Extract<Piece, { kind: "text" }>, besideCalls: boolean, api: ApiTraits): boolean {
  if (piece.text === "" && besideCalls && api.emptyTextBesideCalls) return false;
  return piece.text.trim() === "";
}

function missing(open: ReadonlyMap<string, string>, where: string): never {
  throw new Refused(`${where}: tool_use ids were found without tool_result blocks right after: ${[...open.keys()]}`);
}
