import type { JsonObject, JsonValue } from "../../../src/json.js";
import {
  arrayAt,
  inputJson,
  type Message,
  type ModelApi,
  objectAt,
  Refused,
  type ReplyStream,
  type ScriptedCall,
  sse,
  stringAt,
  textAt,
} from "./model-api.js";
import { argumentsAt, openaiError } from "./openai-chat.js";

const usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
};

/** Items that were streamed, by id: a request may refer to them instead of repeating them. */
const stored = new Map<string, JsonObject>();

export const openaiResponses: ModelApi = {
  name: "openai-responses",
  emptyTextBesideCalls: false,
  callsAreItems: true,
  matches: (method, path) => method === "POST" && path === "/v1/responses",
  streams: (_path, body) => body.stream === true,
  read(body) {
    const system: string[] = typeof body.instructions === "string" ? [body.instructions] : [];
    const messages: Message[] = [];
    const items = typeof body.input === "string" ? [{ role: "user", content: body.input }] : body.input;
    for (const [index, value] of arrayAt(items, "input").entries()) {
      const where = `input[${index}]`;
      const item = resolve(objectAt(value, where), where);
      if (item.role === "system" || item.role === "developer") system.push(textAt(item.content, `${where}.content`));
      else messages.push(readItem(item, where));
    }
    const tools = (body.tools === undefined ? [] : arrayAt(body.tools, "tools")).map((tool, index) =>
      stringAt(objectAt(tool, `tools[${index}]`).name, `tools[${index}].name`),
    );
    return { system: system.join("\n"), messages, tools };
  },
  errorBody: openaiError,
  stream,
  whole: (text, calls) => response("completed", [...(text === "" ? [] : [textItem(text)]), ...calls.map(callItem)]),
};

function resolve(item: JsonObject, where: string): JsonObject {
  if (item.type !== "item_reference") return item;
  const found = stored.get(stringAt(item.id, `${where}.id`));
  if (found === undefined) throw new Refused(`Item with id '${String(item.id)}' not found.`);
  return found;
}

function readItem(item: JsonObject, where: string): Message {
  if (item.type === "function_call") {
    const input = argumentsAt(item.arguments, `${where}.arguments`);
    const id = stringAt(item.call_id, `${where}.call_id`);
    if (id.length > 64) throw new Refused(`${where}.call_id: string too long, at most 64`);
    return { role: "assistant", pieces: [{ kind: "call", id, name: stringAt(item.name, `${where}.name`), input }] };
  }
  if (item.type === "function_call_output") {
    const text = textAt(item.output, `${where}.output`);
    const id = stringAt(item.call_id, `${where}.call_id`);
    return { role: "tool", pieces: [{ kind: "result", id, text, isError: false }] };
  }
  const { role } = item;
  if (role !== "user" && role !== "assistant") throw new Refused(`${where}: Invalid value: '${String(item.type)}'`);
  return { role, pieces: [{ kind: "text", role, text: textAt(item.content, `${where}.content`) }] };
}

function id(prefix: string): string {
  return `${prefix}_${Math.random().toString(36).slice(2)}`;
}

function textItem(text: string): JsonObject {
  const content = [{ type: "output_text", text, annotations: [] }];
  return { type: "message", id: id("msg"), role: "assistant", status: "completed", content };
}

function callItem(call: ScriptedCall): JsonObject {
  return { type: "function_call", id: id("fc"), call_id: call.id, name: call.name, arguments: inputJson(call) };
}

function response(status: string, output: JsonValue[]): JsonObject {
  return {
    id: id("resp"),
    object: "response",
    created_at: 1_700_000_000,
    model: "gpt-test",
    status,
    error: null,
    incomplete_details: null,
    output,
    usage: status === "completed" ? usage : null,
  };
}

function stream(): ReplyStream {
  const output: JsonObject[] = [];
  let open: { id: string; text: string } | undefined;
  const event = (data: { type: string } & JsonObject): string => sse(data, data.type);
  const endText = (): string => {
    if (open === undefined) return "";
    const item = { ...textItem(open.text), id: open.id };
    open = undefined;
    stored.set(String(item.id), item);
    output.push(item);
    return event({ type: "response.output_item.done", output_index: output.length - 1, item });
  };
  return {
    open: () => event({ type: "response.created", response: response("in_progress", []) }),
    text(chunk) {
      let out = "";
      if (open === undefined) {
        open = { id: id("msg"), text: "" };
        const item = { type: "message", id: open.id, role: "assistant", status: "in_progress", content: [] };
        out = event({ type: "response.output_item.added", output_index: output.length, item });
      }
      open.text += chunk;
      const place = { item_id: open.id, output_index: output.length, content_index: 0 };
      return out + event({ type: "response.output_text.delta", ...place, delta: chunk, logprobs: [] });
    },
    call(call, half = false) {
      let out = endText();
      const item = callItem(call);
      const place = { item_id: String(item.id), output_index: output.length };
      out += event({
        type: "response.output_item.added",
        output_index: output.length,
        item: { ...item, arguments: "" },
      });
      const json = inputJson(call);
      const middle = Math.floor(json.length / 2);
      for (const delta of half ? [json.slice(0, middle)] : [json.slice(0, middle), json.slice(middle)]) {
        out += event({ type: "response.function_call_arguments.delta", ...place, delta });
      }
      if (half) return out;
      const done = { ...item, status: "completed" };
      stored.set(String(item.id), done);
      output.push(done);
      out += event({ type: "response.function_call_arguments.done", ...place, arguments: json });
      return out + event({ type: "response.output_item.done", output_index: output.length - 1, item: done });
    },
    close: () => endText() + event({ type: "response.completed", response: response("completed", output) }),
  };
}
