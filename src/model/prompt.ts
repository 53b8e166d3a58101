import type {
  JSONSchema7,
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
} from "@ai-sdk/provider";
import type { JsonObject, JsonValue } from "../json.js";
import { createCallIds } from "./call-ids.js";
import type { ModelCall, ModelMessage, ModelRequest, ToolSpec } from "./model.js";

type Options = NonNullable<LanguageModelV3CallOptions["providerOptions"]>;
type Assistant = Extract<LanguageModelV3Message, { role: "assistant" }>;

/** Where the APIs differ. */
export interface Dialect {
  /** The provider's name in options and metadata; what a call carries goes back under this name only. */
  readonly key: string;
  /** Messages of the person in a row become one: some APIs, and the templates of many models, want roles to alternate. */
  readonly joinsUserMessages: boolean;
  /** A call carries something that the provider wants back (a thought signature). */
  readonly keepsCallMetadata: boolean;
  /** Marks system prompt and last message as the ends of what is worth keeping in the provider's prompt cache. */
  readonly cacheMark?: Options;
  /** A history with calls is refused when the request declares no tools. */
  readonly wantsToolsForCalls: boolean;
  /** native: the API takes a schema for its answer. instructed: the schema is put into words. */
  readonly answerFormat: "native" | "instructed";
  readonly options?: Options;
}

export function toCallOptions(request: ModelRequest, dialect: Dialect): LanguageModelV3CallOptions {
  const { outputSchema } = request;
  const tools = outputSchema === undefined ? [...request.tools] : [];
  const callable = tools.length > 0;
  if (!callable && dialect.wantsToolsForCalls) tools.push(...toolsOfHistory(request));
  return {
    prompt: toPrompt(request, dialect),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(toFunctionTool), toolChoice: { type: callable ? "auto" : "none" } }),
    ...(outputSchema !== undefined && dialect.answerFormat === "native"
      ? { responseFormat: { type: "json", schema: outputSchema as JSONSchema7, name: "answer" } }
      : {}),
    ...(dialect.options === undefined ? {} : { providerOptions: dialect.options }),
  };
}

function toFunctionTool(tool: ToolSpec): NonNullable<LanguageModelV3CallOptions["tools"]>[number] {
  const { name, description } = tool;
  return { type: "function", name, description, inputSchema: tool.inputSchema as JSONSchema7 };
}

/** Stand-ins for the tools that the history calls, when none may be called any more. */
function toolsOfHistory(request: ModelRequest): ToolSpec[] {
  const names = request.messages.flatMap((message) =>
    message.role === "assistant" ? message.calls.map((call) => call.name) : [],
  );
  return [...new Set(names)].map(
    (name) =>
      request.tools.find((tool) => tool.name === name) ?? {
        name,
        description: "Not available now.",
        inputSchema: { type: "object" },
      },
  );
}

function toPrompt(request: ModelRequest, dialect: Dialect): LanguageModelV3Prompt {
  const prompt: LanguageModelV3Prompt = [];
  const mark = dialect.cacheMark === undefined ? {} : { providerOptions: dialect.cacheMark };
  const system = systemOf(request, dialect);
  if (system !== "") prompt.push({ role: "system", content: system, ...mark });
  const messages = dialect.joinsUserMessages ? joinUserMessages(request.messages) : request.messages;
  const callIds = createCallIds();
  for (const message of messages) {
    if (message.role === "user") {
      prompt.push({ role: "user", content: [{ type: "text", text: message.text }] });
    } else if (message.role === "assistant") {
      const content: Assistant["content"] = message.text.trim() === "" ? [] : [{ type: "text", text: message.text }];
      for (const call of message.calls) content.push(toCallPart(call, callIds.sendable(call.id), dialect));
      if (content.length > 0) prompt.push({ role: "assistant", content });
    } else {
      const content = message.results.map((result) => ({
        type: "tool-result" as const,
        toolCallId: callIds.sendable(result.callId),
        toolName: result.name,
        output: { type: result.isError ? ("error-text" as const) : ("text" as const), value: result.text },
      }));
      prompt.push({ role: "tool", content });
    }
  }
  const last = prompt.at(-1);
  if (last !== undefined && last.role !== "system") Object.assign(last, mark);
  return prompt;
}

function toCallPart(call: ModelCall, toolCallId: string, dialect: Dialect): Assistant["content"][number] {
  const metadata = dialect.keepsCallMetadata ? call.provider?.[dialect.key] : undefined;
  return {
    type: "tool-call",
    toolCallId,
    toolName: call.name,
    // An input that was no JSON object was kept as it came; APIs take objects only.
    input: isObject(call.input) ? call.input : { invalid_input: call.input },
    ...(isObject(metadata) ? { providerOptions: { [dialect.key]: metadata } } : {}),
  };
}

function systemOf(request: ModelRequest, dialect: Dialect): string {
  const system = request.system?.trim() === "" ? "" : (request.system ?? "");
  if (request.outputSchema === undefined || dialect.answerFormat === "native") return system;
  const order =
    "Answer with exactly one JSON value that matches this JSON Schema: no code fence, no other text.\n" +
    JSON.stringify(request.outputSchema);
  return system === "" ? order : `${system}\n\n${order}`;
}

function joinUserMessages(messages: readonly ModelMessage[]): ModelMessage[] {
  const joined: ModelMessage[] = [];
  for (const message of messages) {
    const before = joined.at(-1);
    if (message.role === "user" && before?.role === "user") {
      joined[joined.length - 1] = { role: "user", text: `${before.text}\n\n${message.text}` };
    } else {
      joined.push(message);
    }
  }
  return joined;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
