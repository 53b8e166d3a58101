import { createGoogleGenerativeAI } from "@ai-sdk/google";
import type { Model } from "../model.js";
import type { ProviderSettings } from "../provider-settings.js";
import { createSdkModel } from "../sdk-model.js";
import { createWatchedFetch } from "../watched-fetch.js";

export function openGoogle(settings: ProviderSettings): Model {
  const provider = createGoogleGenerativeAI({
    baseURL: settings.baseUrl,
    apiKey: settings.apiKey ?? "",
    fetch: createWatchedFetch(settings.idleTimeoutMs),
  });
  return createSdkModel(
    provider(settings.model),
    {
      key: "google",
      joinsUserMessages: true,
      // Gemini refuses a call of its own that comes back without its thought signature.
      keepsCallMetadata: true,
      wantsToolsForCalls: false,
      answerFormat: "native",
    },
    settings,
  );
}
