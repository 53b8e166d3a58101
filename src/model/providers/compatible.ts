import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { Model } from "../model.js";
import type { ProviderSettings } from "../provider-settings.js";
import { createSdkModel } from "../sdk-model.js";
import { createWatchedFetch } from "../watched-fetch.js";

/** Any server that speaks OpenAI's chat completions: Ollama, vLLM, llama.cpp, LM Studio, OpenRouter, a proxy. */
export function openCompatible(settings: ProviderSettings): Model {
  const native = settings.provider === "ollama";
  const provider = createOpenAICompatible({
    name: "compatible",
    baseURL: settings.baseUrl,
    ...(settings.apiKey === undefined ? {} : { apiKey: settings.apiKey }),
    includeUsage: true,
    supportsStructuredOutputs: native,
    fetch: createWatchedFetch(settings.idleTimeoutMs),
  });
  return createSdkModel(
    provider(settings.model),
    {
      key: "compatible",
      joinsUserMessages: true,
      // Proxies in front of Gemini pass thought signatures through.
      keepsCallMetadata: true,
      wantsToolsForCalls: false,
      // Servers differ in which answer formats they take, and refuse the others; words work everywhere.
      answerFormat: native ? "native" : "instructed",
    },
    settings,
  );
}
