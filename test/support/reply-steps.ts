import { randomBytes } from "node:crypto";
import type { JsonValue } from "../../src/json.js";
import type { ScriptedCall } from "./model-apis/model-api.js";
import type { RecordedRequest } from "./recorded-request.js";

/** A piece of streamed text, or something to wait for before the next piece goes out. */
export type Chunk = string | Promise<unknown>;

/** What the server does with one request. */
export type ReplyStep =
  | { kind: "answer"; chunks: readonly Chunk[]; calls: readonly ScriptedCall[] }
  /** Accepts, sends nothing, never ends. */
  | { kind: "stall" }
  /** Sends the chunks (and half of a call), then nothing more until the client goes away. */
  | { kind: "drip"; chunks: readonly Chunk[]; halfCall: ScriptedCall | undefined }
  /** Sends the chunks (and half of a call), then destroys the connection. */
  | { kind: "cut"; chunks: readonly Chunk[]; halfCall: ScriptedCall | undefined }
  | {
      kind: "error";
      status: number;
      message: string;
      body: JsonValue | undefined;
      headers: Readonly<Record<string, string>>;
    };

export type ReplyScript = ReplyStep | ((request: RecordedRequest) => ReplyStep);

/** A whole answer in these pieces; a promise among them holds the stream back until it resolves. */
export function text(...chunks: Chunk[]): ReplyStep {
  return { kind: "answer", chunks, calls: [] };
}

/** One tool call for {@link calls}. Ids are unique unless one is given. */
export function call(name: string, input: JsonValue, options: { id?: string; rawInput?: string } = {}): ScriptedCall {
  const id = options.id ?? `call_${randomBytes(6).toString("hex")}`;
  return { id, name, input, ...(options.rawInput === undefined ? {} : { rawInput: options.rawInput }) };
}

/** Text (may be empty) and then these calls, all in one reply. */
export function calls(before: string, ...made: ScriptedCall[]): ReplyStep {
  return { kind: "answer", chunks: before === "" ? [] : [before], calls: made };
}

export function stall(): ReplyStep {
  return { kind: "stall" };
}

export function drip(chunks: readonly Chunk[], halfCall?: ScriptedCall): ReplyStep {
  return { kind: "drip", chunks, halfCall };
}

export function cut(chunks: readonly Chunk[], halfCall?: ScriptedCall): ReplyStep {
  return { kind: "cut", chunks, halfCall };
}

/** `body` replaces the vendor's error shape. */
export function httpError(
  status: number,
  options: { message?: string; body?: JsonValue; headers?: Readonly<Record<string, string>> } = {},
): ReplyStep {
  const { message = `scripted error ${status}`, body, headers = {} } = options;
  return { kind: "error", status, message, body, headers };
}

/** A promise to put among the chunks of a step, and the function that lets the stream go on. */
export function gate(): { wait: Promise<void>; open: () => void } {
  let open = (): void => {};
  const wait = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { wait, open };
}
