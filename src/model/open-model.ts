import { findBaseUrl, isOpenAI, type RemoteProvider } from "./base-url.js";
import { type Env, findKey, keyVariablesOf, redactKeys } from "./default-models.js";
import type { Model } from "./model.js";
import { modelError } from "./model-error.js";
import { parseModelName } from "./model-name.js";
import type { ProviderSettings } from "./provider-settings.js";

export interface OpenModelOptions {
  /** Wins over the provider's environment variable. */
  readonly baseUrl?: string;
  /** Default: process.env. */
  readonly env?: Env;
  /** For the offline model's answers: the folder its tools work in. */
  readonly offline?: { readonly cwd: string };
  /** A connection that sends no byte for this long counts as dead. Default 5 minutes. */
  readonly idleTimeoutMs?: number;
}

/**
 * Opens a model by name: `PROVIDER/NAME`, a provider alone, or a bare well-known name. Asks no server: the provider's
 * code is loaded with the first request.
 *
 * @throws {PerdureError} MODEL_NOT_FOUND (unknown name, bad base URL), MODEL_KEY_MISSING
 */
export async function openModel(name: string, options: OpenModelOptions = {}): Promise<Model> {
  const env = options.env ?? process.env;
  const { provider, model } = parseModelName(name);
  if (provider === "offline") {
    const { createOfflineModel } = await import("./offline-model.js");
    return createOfflineModel(options.offline ?? {});
  }
  const baseUrl = findBaseUrl(provider, options.baseUrl, env);
  const settings: ProviderSettings = {
    name: `${provider}/${model}`,
    provider,
    model,
    baseUrl,
    apiKey: requireKey(provider, env),
    keyVariable: keyVariablesOf(provider)[0],
    redact: (text) => redactKeys(text, env),
    idleTimeoutMs: options.idleTimeoutMs ?? 300_000,
  };
  let opened: Promise<Model> | undefined;
  return {
    name: settings.name,
    async *stream(request, streamOptions) {
      opened ??= open(settings);
      yield* (await opened).stream(request, streamOptions);
    },
  };
}

async function open(settings: ProviderSettings): Promise<Model> {
  const { provider, baseUrl } = settings;
  if (provider === "anthropic") return (await import("./providers/anthropic.js")).openAnthropic(settings);
  if (provider === "google") return (await import("./providers/google.js")).openGoogle(settings);
  if (provider === "openai" && isOpenAI(baseUrl)) {
    return (await import("./providers/openai.js")).openOpenAI(settings);
  }
  return (await import("./providers/compatible.js")).openCompatible(settings);
}

function requireKey(provider: RemoteProvider, env: Env): string | undefined {
  const found = findKey(provider, env);
  if (found === undefined) {
    if (provider === "ollama" || provider === "compatible") return undefined;
    const [first = "", ...others] = keyVariablesOf(provider);
    const also = others.length === 0 ? "" : ` (or ${others.join(", ")})`;
    throw modelError(
      "MODEL_KEY_MISSING",
      `There is no key for ${provider}: ${first} is not set.`,
      `Set ${first}${also} to a key from ${keyPages[provider]}, or chat without one: --model offline.`,
      { example: `export ${first}=…` },
    );
  }
  // It goes into an HTTP header, which takes nothing else.
  if (!/^[\x21-\x7e]+$/.test(found.value)) {
    throw modelError(
      "MODEL_KEY_MISSING",
      `${found.variable} holds characters that no key has (white space, quotes of a word processor, …).`,
      `Set ${found.variable} to the key alone.`,
      { example: `export ${found.variable}=…` },
    );
  }
  return found.value;
}

const keyPages = {
  anthropic: "https://console.anthropic.com/settings/keys",
  openai: "https://platform.openai.com/api-keys",
  google: "https://aistudio.google.com/apikey",
} as const;
