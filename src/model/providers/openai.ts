import { createOpenAI } from "@ai-sdk/openai";
import type { Model } from "../model.js";
import type { ProviderSettings } from "../provider-settings.js";
import { createSdkModel } from "../sdk-model.js";
import { createWatchedFetch } from "../watched-fetch.js";

/** OpenAI itself, by its Responses API. Other servers' chat completions are in compatible.ts. */
export function openOpenAI(settings: ProviderSettings): Model {
  const provider = createOpenAI({
    baseURL: settings.baseUrl,
    apiKey: settings.apiKey ?? "",
    fetch: createWatchedFetch(settings.idleTimeoutMs),
  });
  return createSdkModel(
    provider.responses(settings.model),
    {
      key: "openai",
      joinsUserMessages: false,
      // Its metadata are ids of items that OpenAI stores. Nothing is stored there, so there is nothing to point at.
      keepsCallMetadata: false,
      wantsToolsForCalls: false,
      answerFormat: "native",
      // Strict schemas would refuse every schema with an optional field.
      options: { openai: { store: false, strictJsonSchema: false } },
    },
    settings,
  );
}
