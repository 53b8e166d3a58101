/** Names, keys and defaults of the providers: cheap to import, asks nobody. */

export const providerNames = ["anthropic", "openai", "google", "ollama", "compatible", "offline"] as const;
export type ProviderName = (typeof providerNames)[number];

export type Env = Readonly<Record<string, string | undefined>>;

const models: Partial<Record<ProviderName, string>> = {
  anthropic: "claude-sonnet-4-5",
  openai: "gpt-5.1",
  google: "gemini-2.5-pro",
  offline: "phrases",
};

/** Read in this order; the first that is set counts. */
const keys: Record<ProviderName, readonly string[]> = {
  anthropic: ["ANTHROPIC_API_KEY"],
  openai: ["OPENAI_API_KEY"],
  google: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
  ollama: [],
  // A server of one's own that speaks OpenAI's API is often given the key under OpenAI's name.
  compatible: ["COMPATIBLE_API_KEY", "OPENAI_API_KEY"],
  offline: [],
};

/** Every variable that may hold a provider's key: none of them belongs in a tool's environment or in an error. */
export const keyVariables: readonly string[] = [...new Set(Object.values(keys).flat())];

/** The provider's default model, without `provider/`; undefined where one must be named. */
export function defaultModel(provider: ProviderName): string | undefined {
  return models[provider];
}

export function keyVariablesOf(provider: ProviderName): readonly string[] {
  return keys[provider];
}

export interface FoundKey {
  readonly variable: string;
  readonly value: string;
}

/** The provider's key and where it was found. Blank values count as unset; surrounding white space is dropped. */
export function findKey(provider: ProviderName, env: Env): FoundKey | undefined {
  for (const variable of keys[provider]) {
    const value = env[variable]?.trim();
    if (value !== undefined && value !== "") return { variable, value };
  }
  return undefined;
}

export interface AvailableModel {
  readonly provider: ProviderName;
  /** `provider/name`. */
  readonly model: string;
  readonly keyVariable: string;
}

/** The default models whose key is set, in the order in which they are preferred. Nothing is asked or probed. */
export function availableModels(env: Env): AvailableModel[] {
  return (["anthropic", "openai", "google"] as const).flatMap((provider) => {
    const key = findKey(provider, env);
    const model = defaultModel(provider);
    return key === undefined || model === undefined
      ? []
      : [{ provider, model: `${provider}/${model}`, keyVariable: key.variable }];
  });
}

/** A value shorter than this is no key: replacing it would only tear words apart. */
const KEY_LENGTH_MIN = 8;

/** Replaces the values of all key variables by `[redacted]`. */
export function redactKeys(text: string, env: Env): string {
  const values = keyVariables
    .map((variable) => env[variable]?.trim() ?? "")
    .filter((value) => value.length >= KEY_LENGTH_MIN);
  // The longest first: one key may begin with another.
  return values.sort((a, b) => b.length - a.length).reduce((safe, value) => safe.replaceAll(value, "[redacted]"), text);
}
