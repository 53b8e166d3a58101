import type { JsonObject } from "../../src/json.js";
import type { Conversation, ModelApi, Piece } from "./model-apis/model-api.js";

/** One request that the model server got. */
export interface RecordedRequest {
  /** 1 for the first one. */
  readonly number: number;
  readonly api: ModelApi["name"];
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes as they came, as text. */
  readonly raw: string;
  readonly body: JsonObject;
  readonly conversation: Conversation;
  /** Every text of the request in order (system, messages, call inputs, results), one per line: search it for words. */
  readonly text: string;
  readonly calls: ReadonlyArray<Extract<Piece, { kind: "call" }>>;
  readonly results: ReadonlyArray<Extract<Piece, { kind: "result" }>>;
  /** The texts of the person's messages, notices among them. */
  readonly userTexts: readonly string[];
  readonly assistantTexts: readonly string[];
  /** Why it was answered 400 by the strict rules; undefined when it was not. */
  readonly refusal: string | undefined;
  /** Resolves when the connection of this request has ended, from either side. */
  readonly ended: Promise<void>;
}

export function flatten(conversation: Conversation): string {
  const pieces = conversation.messages.flatMap((message) => message.pieces);
  const lines = pieces.map((piece) => (piece.kind === "call" ? JSON.stringify(piece.input) : piece.text));
  return [conversation.system, ...lines].join("\n");
}

export function piecesOf(
  conversation: Conversation,
): Pick<RecordedRequest, "calls" | "results" | "userTexts" | "assistantTexts"> {
  const pieces = conversation.messages.flatMap((message) => message.pieces);
  const texts = (role: "user" | "assistant"): string[] =>
    pieces.flatMap((piece) => (piece.kind === "text" && piece.role === role ? [piece.text] : []));
  return {
    calls: pieces.filter((piece) => piece.kind === "call"),
    results: pieces.filter((piece) => piece.kind === "result"),
    userTexts: texts("user"),
    assistantTexts: texts("assistant"),
  };
}
