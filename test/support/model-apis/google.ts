import type { JsonObject, JsonValue } from "../../../src/json.js";
import {
  arrayAt,
  isObject,
  type Message,
  type ModelApi,
  objectAt,
  type Piece,
  Refused,
  type ScriptedCall,
  sse,
  stringAt,
  textAt,
} from "./model-api.js";

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };

export const google: ModelApi = {
  name: "google",
  emptyTextBesideCalls: false,
  callsAreItems: false,
  matches: (method, path) =>
    method === "POST" && /^\/v1beta\/models\/[^/]+:(streamGenerateContent|generateContent)(\?|$)/.test(path),
  streams: (path) => path.includes(":streamGenerateContent"),
  read(body) {
    const pending: string[][] = [];
    const messages = arrayAt(body.contents, "contents").map((value, index) => content(value, index, pending));
    const system = body.systemInstruction;
    const declared = (body.tools === undefined ? [] : arrayAt(body.tools, "tools")).flatMap((tool, index) =>
      arrayAt(objectAt(tool, `tools[${index}]`).functionDeclarations, `tools[${index}].functionDeclarations`),
    );
    return {
      system: isObject(system) ? textAt(system.parts, "systemInstruction.parts") : "",
      messages,
      tools: declared.map((tool) => stringAt(objectAt(tool, "functionDeclarations").name, "functionDeclarations.name")),
    };
  },
  errorBody: (status, message) => ({
    error: { code: status, message, status: status === 429 ? "RESOURCE_EXHAUSTED" : "INVALID_ARGUMENT" },
  }),
  stream: () => ({
    open: () => "",
    text: (text) => sse(candidate([{ text }])),
    // A call comes whole in this API: there is no half of one.
    call: (call, half = false) => (half ? "" : sse(candidate([callPart(call)]))),
    close: () => sse({ ...candidate([], "STOP"), usageMetadata }),
  }),
  whole: (text, calls) => ({
    ...candidate([...(text === "" ? [] : [{ text }]), ...calls.map(callPart)], "STOP"),
    usageMetadata,
  }),
};

function callPart(call: ScriptedCall): JsonObject {
  const args: unknown = call.rawInput === undefined ? call.input : JSON.parse(call.rawInput);
  return { functionCall: { name: call.name, args: args as JsonValue } };
}

function candidate(parts: JsonObject[], finishReason?: string): JsonObject {
  const content = { role: "model", parts };
  return { candidates: [{ index: 0, content, ...(finishReason === undefined ? {} : { finishReason }) }] };
}

/**
 * This API has no call ids: calls and responses pair by order and name. So each call gets the id `position:index`, and a
 * response the id of the first call of that name in the last model message that has no response yet.
 */
function content(value: JsonValue, index: number, pending: string[][]): Message {
  const where = `contents[${index}]`;
  const { role, parts } = objectAt(value, where);
  if (role !== "user" && role !== "model") throw new Refused(`${where}: Please use a valid role: user, model.`);
  const made: string[] = [];
  const pieces = arrayAt(parts, `${where}.parts`).map((entry, position): Piece => {
    const part = objectAt(entry, `${where}.parts[${position}]`);
    if (isObject(part.functionCall)) {
      const name = stringAt(part.functionCall.name, `${where}.functionCall.name`);
      if (!isObject(part.functionCall.args)) throw new Refused(`${where}.functionCall.args: not a struct`);
      made.push(name);
      return { kind: "call", id: `${index}:${made.length - 1}:${name}`, name, input: part.functionCall.args };
    }
    if (isObject(part.functionResponse)) {
      const name = stringAt(part.functionResponse.name, `${where}.functionResponse.name`);
      const calls = pending[index - 1] ?? [];
      const found = calls.indexOf(name);
      if (found >= 0) calls[found] = "";
      const id = found >= 0 ? `${index - 1}:${found}:${name}` : `none:${index}:${position}:${name}`;
      return { kind: "result", id, text: JSON.stringify(part.functionResponse.response), isError: false };
    }
    const text = stringAt(part.text, `${where}.parts[${position}].text`);
    return { kind: "text", role: role === "user" ? "user" : "assistant", text };
  });
  if (pieces.length === 0) throw new Refused(`${where}.parts: must not be empty`);
  pending[index] = made;
  return { role: role === "user" ? "user" : "assistant", pieces };
}
