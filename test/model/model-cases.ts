import type { Model, ModelEvent, ModelMessage, ModelRequest, ToolSpec } from "../../src/model/model.js";
import type { ProviderSettings } from "../../src/model/provider-settings.js";
import { openAnthropic } from "../../src/model/providers/anthropic.js";
import { openCompatible } from "../../src/model/providers/compatible.js";
import { openGoogle } from "../../src/model/providers/google.js";
import { openOpenAI } from "../../src/model/providers/openai.js";
import { sleep } from "../../src/model/retry.js";

export interface ModelCase {
  readonly api: "anthropic" | "openai-responses" | "openai-chat" | "google";
  readonly path: string;
  open(serverUrl: string, settings?: Partial<ProviderSettings>): Model;
}

export const testKey = "sk-test-CANARY-0123456789";

export const modelCases: readonly ModelCase[] = [
  modelCase("anthropic", "/v1/messages", "anthropic", "claude-sonnet-4-5", "/v1", openAnthropic),
  modelCase("openai-responses", "/v1/responses", "openai", "gpt-test", "/v1", openOpenAI),
  modelCase("openai-chat", "/v1/chat/completions", "compatible", "local-test", "/v1", openCompatible),
  modelCase(
    "google",
    "/v1beta/models/gemini-test:streamGenerateContent?alt=sse",
    "google",
    "gemini-test",
    "/v1beta",
    openGoogle,
  ),
];

function modelCase(
  api: ModelCase["api"],
  path: string,
  provider: ProviderSettings["provider"],
  model: string,
  version: string,
  open: (settings: ProviderSettings) => Model,
): ModelCase {
  return {
    api,
    path,
    open: (serverUrl, settings = {}) =>
      open({
        name: `${provider}/${model}`,
        provider,
        model,
        baseUrl: serverUrl + version,
        apiKey: testKey,
        keyVariable: "TEST_API_KEY",
        redact: (text) => text.replaceAll(testKey, "[redacted]"),
        idleTimeoutMs: 20_000,
        retry: { delayMs: () => 1, sleep },
        ...settings,
      }),
  };
}

export const bash: ToolSpec = {
  name: "bash",
  description: "Runs a command.",
  inputSchema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
};

export function user(text: string): ModelMessage {
  return { role: "user", text };
}

export function request(messages: readonly ModelMessage[], parts: Partial<ModelRequest> = {}): ModelRequest {
  return { system: "Be brief.", messages, tools: [bash], ...parts };
}

export async function collect(
  model: Model,
  asked: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(asked, { signal })) events.push(event);
  return events;
}

/** The events up to the error, and the error. */
export async function collectUntilError(
  model: Model,
  asked: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ events: ModelEvent[]; error: unknown }> {
  const events: ModelEvent[] = [];
  try {
    for await (const event of model.stream(asked, { signal })) events.push(event);
  } catch (error) {
    return { events, error };
  }
  throw new Error("the stream ended without an error");
}

export function textOf(events: readonly ModelEvent[]): string {
  return events.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("");
}

export function callsOf(events: readonly ModelEvent[]): Extract<ModelEvent, { type: "call" }>["call"][] {
  return events.flatMap((event) => (event.type === "call" ? [event.call] : []));
}
