import type { JsonObject, JsonValue } from "../../../src/json.js";
import {
  arrayAt,
  inputJson,
  isObject,
  type Message,
  type ModelApi,
  objectAt,
  type Piece,
  Refused,
  type ReplyStream,
  type ScriptedCall,
  sse,
  stringAt,
  textAt,
} from "./model-api.js";

const model = "claude-test";
const usage = { input_tokens: 10, output_tokens: 5 };

export const anthropic: ModelApi = {
  name: "anthropic",
  emptyTextBesideCalls: false,
  callsAreItems: false,
  matches: (method, path) => method === "POST" && path.split("?")[0] === "/v1/messages",
  streams: (_path, body) => body.stream === true,
  read(body, headers) {
    if (headers["anthropic-version"] === undefined) throw new Refused("anthropic-version: header is required");
    if (typeof body.max_tokens !== "number" || body.max_tokens < 1) throw new Refused("max_tokens: Field required");
    const tools = (body.tools === undefined ? [] : arrayAt(body.tools, "tools")).map((tool, index) => {
      const where = `tools.${index}`;
      const spec = objectAt(tool, where);
      const schema = objectAt(spec.input_schema, `${where}.input_schema`);
      if (schema.type !== "object") throw new Refused(`${where}.input_schema.type: Input should be 'object'`);
      return stringAt(spec.name, `${where}.name`);
    });
    return {
      system: body.system === undefined ? "" : textAt(body.system, "system"),
      messages: arrayAt(body.messages, "messages").map(message),
      tools,
    };
  },
  errorBody: (status, text) => ({ type: "error", error: { type: errorType(status), message: text } }),
  stream,
  whole: (text, calls) => ({
    ...opening(),
    content: [
      ...(text === "" ? [] : [{ type: "text", text }]),
      ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
    ],
    stop_reason: calls.length > 0 ? "tool_use" : "end_turn",
  }),
};

function errorType(status: number): string {
  const types: Record<number, string> = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
  };
  return types[status] ?? "api_error";
}

function message(value: JsonValue, index: number): Message {
  const where = `messages.${index}`;
  const { role, content } = objectAt(value, where);
  if (role !== "user" && role !== "assistant")
    throw new Refused(`${where}.role: Input should be 'user' or 'assistant'`);
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : arrayAt(content, `${where}.content`);
  if (blocks.length === 0) throw new Refused(`${where}: all messages must have non-empty content`);
  const pieces = blocks.map((block, position) => piece(block, role, `${where}.content.${position}`));
  const firstText = pieces.findIndex((each) => each.kind === "text");
  if (firstText >= 0 && pieces.slice(firstText).some((each) => each.kind === "result")) {
    throw new Refused(`${where}: tool_result blocks must come first in the content`);
  }
  return { role, pieces };
}

function piece(value: JsonValue, role: "user" | "assistant", where: string): Piece {
  const block = objectAt(value, where);
  if (block.type === "text") return { kind: "text", role, text: stringAt(block.text, `${where}.text`) };
  if (block.type === "tool_use" && role === "assistant") {
    const id = stringAt(block.id, `${where}.tool_use.id`);
    if (!/^[a-zA-Z0-9_-]+$/.test(id)) throw new Refused(`${where}.tool_use.id: String should match pattern`);
    if (!isObject(block.input)) throw new Refused(`${where}.tool_use.input: Input should be a valid dictionary`);
    return { kind: "call", id, name: stringAt(block.name, `${where}.tool_use.name`), input: block.input };
  }
  if (block.type === "tool_result" && role === "user") {
    return {
      kind: "result",
      id: stringAt(block.tool_use_id, `${where}.tool_use_id`),
      text: textAt(block.content, `${where}.tool_result.content`),
      isError: block.is_error === true,
    };
  }
  throw new Refused(`${where}: Input tag '${String(block.type)}' is not expected here`);
}

function opening(): JsonObject {
  return {
    id: `msg_${Math.random().toString(36).slice(2)}`,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
}

function stream(): ReplyStream {
  let index = -1;
  let textOpen = false;
  let called = false;
  const event = (data: { type: string } & JsonObject): string => sse(data, data.type);
  const endText = (): string => {
    if (!textOpen) return "";
    textOpen = false;
    return event({ type: "content_block_stop", index });
  };
  return {
    open: () => event({ type: "message_start", message: opening() }),
    text(chunk) {
      let out = "";
      if (!textOpen) {
        textOpen = true;
        index += 1;
        out += event({ type: "content_block_start", index, content_block: { type: "text", text: "" } });
      }
      return out + event({ type: "content_block_delta", index, delta: { type: "text_delta", text: chunk } });
    },
    call(call: ScriptedCall, half = false) {
      let out = endText();
      called = true;
      index += 1;
      const { id, name } = call;
      out += event({ type: "content_block_start", index, content_block: { type: "tool_use", id, name, input: {} } });
      const json = inputJson(call);
      const middle = Math.floor(json.length / 2);
      for (const part of half ? [json.slice(0, middle)] : [json.slice(0, middle), json.slice(middle)]) {
        out += event({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: part } });
      }
      return half ? out : out + event({ type: "content_block_stop", index });
    },
    close() {
      const delta = { stop_reason: called ? "tool_use" : "end_turn", stop_sequence: null };
      const end = event({ type: "message_delta", delta, usage: { output_tokens: 5 } });
      return endText() + end + event({ type: "message_stop" });
    },
  };
}
