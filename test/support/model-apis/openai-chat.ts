import type { JsonObject, JsonValue } from "../../../src/json.js";
import {
  arrayAt,
  inputJson,
  type Message,
  type ModelApi,
  objectAt,
  type Piece,
  Refused,
  type ReplyStream,
  sse,
  stringAt,
  textAt,
} from "./model-api.js";

const head = { id: "chatcmpl-test", created: 1_700_000_000, model: "gpt-test" };
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

export const openaiChat: ModelApi = {
  name: "openai-chat",
  emptyTextBesideCalls: true,
  callsAreItems: false,
  matches: (method, path) => method === "POST" && path === "/v1/chat/completions",
  streams: (_path, body) => body.stream === true,
  read(body) {
    const system: string[] = [];
    const messages: Message[] = [];
    for (const [index, value] of arrayAt(body.messages, "messages").entries()) {
      const where = `messages.${index}`;
      const message = objectAt(value, where);
      if (message.role === "system" || message.role === "developer") {
        if (messages.length > 0) throw new Refused(`${where}: a system message must come first`);
        system.push(textAt(message.content, `${where}.content`));
      } else {
        messages.push(readMessage(message, where));
      }
    }
    const tools = (body.tools === undefined ? [] : arrayAt(body.tools, "tools")).map((tool, index) => {
      const spec = objectAt(objectAt(tool, `tools.${index}`).function, `tools.${index}.function`);
      const parameters = objectAt(spec.parameters, `tools.${index}.function.parameters`);
      if (parameters.type !== "object") throw new Refused(`Invalid schema for function '${String(spec.name)}'`);
      return stringAt(spec.name, `tools.${index}.function.name`);
    });
    return { system: system.join("\n"), messages, tools };
  },
  errorBody: openaiError,
  stream,
  whole: (text, calls) => ({
    ...head,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text === "" ? null : text,
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map((call) => ({
                  id: call.id,
                  type: "function",
                  function: { name: call.name, arguments: inputJson(call) },
                })),
              }),
        },
        finish_reason: calls.length > 0 ? "tool_calls" : "stop",
      },
    ],
    usage,
  }),
};

export function openaiError(status: number, message: string): JsonObject {
  const type = status === 429 ? "rate_limit_error" : status >= 500 ? "server_error" : "invalid_request_error";
  return { error: { message, type, param: null, code: null } };
}

/** The JSON in a call's `arguments` string: APIs that run on other models' templates refuse what does not parse. */
export function argumentsAt(value: JsonValue | undefined, where: string): JsonValue {
  const text = stringAt(value, where);
  try {
    const parsed: unknown = JSON.parse(text);
    return objectAt(parsed as JsonValue, where);
  } catch {
    throw new Refused(`${where}: not a JSON object: ${text.slice(0, 80)}`);
  }
}

function readMessage(message: JsonObject, where: string): Message {
  const { role, content } = message;
  if (role === "user") {
    return { role, pieces: [{ kind: "text", role, text: textAt(content, `${where}.content`) }] };
  }
  if (role === "tool") {
    const id = stringAt(message.tool_call_id, `${where}.tool_call_id`);
    return { role, pieces: [{ kind: "result", id, text: textAt(content, `${where}.content`), isError: false }] };
  }
  if (role !== "assistant") throw new Refused(`${where}.role: Invalid value: '${String(role)}'`);
  const pieces: Piece[] = [];
  const calls = message.tool_calls === undefined ? [] : arrayAt(message.tool_calls, `${where}.tool_calls`);
  if (content !== null && content !== undefined) {
    pieces.push({ kind: "text", role, text: textAt(content, `${where}.content`) });
  } else if (calls.length === 0) {
    throw new Refused(`${where}.content: expected a string, got null`);
  }
  for (const [position, value] of calls.entries()) {
    const at = `${where}.tool_calls.${position}`;
    const call = objectAt(value, at);
    const made = objectAt(call.function, `${at}.function`);
    const id = stringAt(call.id, `${at}.id`);
    if (id.length > 40) throw new Refused(`${at}.id: string too long, at most 40`);
    const input = argumentsAt(made.arguments, `${at}.function.arguments`);
    pieces.push({ kind: "call", id, name: stringAt(made.name, `${at}.function.name`), input });
  }
  return { role, pieces };
}

function stream(): ReplyStream {
  let calls = -1;
  const chunk = (delta: JsonObject, finish: string | null = null): string =>
    sse({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] });
  return {
    open: () => chunk({ role: "assistant", content: "" }),
    text: (text) => chunk({ content: text }),
    call(call, half = false) {
      calls += 1;
      const json = inputJson(call);
      const middle = Math.floor(json.length / 2);
      const index = calls;
      const part = (text: string): string => chunk({ tool_calls: [{ index, function: { arguments: text } }] });
      const { id, name } = call;
      const begin = chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
      return begin + part(json.slice(0, middle)) + (half ? "" : part(json.slice(middle)));
    },
    close() {
      const finish = chunk({}, calls >= 0 ? "tool_calls" : "stop");
      return finish + sse({ ...head, object: "chat.completion.chunk", choices: [], usage }) + sse("[DONE]");
    },
  };
}
