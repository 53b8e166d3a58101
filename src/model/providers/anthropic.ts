import { createAnthropic } from "@ai-sdk/anthropic";
import type { Model } from "../model.js";
import type { ProviderSettings } from "../provider-settings.js";
import { createSdkModel } from "../sdk-model.js";
import { createWatchedFetch } from "../watched-fetch.js";

export function openAnthropic(settings: ProviderSettings): Model {
  const provider = createAnthropic({
    baseURL: settings.baseUrl,
    apiKey: settings.apiKey ?? "",
    fetch: createWatchedFetch(settings.idleTimeoutMs),
  });
  return createSdkModel(
    provider(settings.model),
    {
      key: "anthropic",
      // The library groups them into one message, each a block of its own.
      joinsUserMessages: false,
      keepsCallMetadata: false,
      cacheMark: { anthropic: { cacheControl: { type: "ephemeral" } } },
      wantsToolsForCalls: true,
      answerFormat: "native",
    },
    settings,
  );
}
