import { nearest } from "../text/nearest.js";
import { defaultModel, type ProviderName, providerNames } from "./default-models.js";
import { modelError } from "./model-error.js";

export interface ModelName {
  readonly provider: ProviderName;
  /** The provider's own name for the model; it may hold slashes. */
  readonly model: string;
}

/** How a bare name shows whose it is: vendors name their models by family. */
const families: ReadonlyArray<readonly [prefix: RegExp, provider: ProviderName]> = [
  [/^claude-/, "anthropic"],
  [/^(gpt-|chatgpt-|codex-|o[1-9](-|$))/, "openai"],
  [/^(gemini-|gemma-)/, "google"],
];

/**
 * Reads `provider/model`, a provider alone (its default model), or a bare well-known name such as `claude-sonnet-4-5`.
 *
 * @throws {PerdureError} MODEL_NOT_FOUND, with the nearest provider when there is one
 */
export function parseModelName(name: string): ModelName {
  const text = name.trim();
  const slash = text.indexOf("/");
  const head = (slash < 0 ? text : text.slice(0, slash)).toLowerCase();
  const model = slash < 0 ? "" : text.slice(slash + 1).trim();
  const provider = providerNames.find((known) => known === head);
  if (provider !== undefined) {
    const chosen = model === "" ? defaultModel(provider) : model;
    if (chosen !== undefined) return { provider, model: chosen };
    throw modelError("MODEL_NOT_FOUND", `"${name}" names no model.`, `Name one that ${provider} serves.`, {
      example: `--model ${provider}/qwen3`,
    });
  }
  const family = slash < 0 ? families.find(([prefix]) => prefix.test(head)) : undefined;
  if (family !== undefined) return { provider: family[1], model: text };
  const meant = nearest(head, providerNames);
  throw modelError(
    "MODEL_NOT_FOUND",
    slash < 0 ? `"${name}" is no model that is known here.` : `"${head}" is no provider that is known here.`,
    `Name it as PROVIDER/NAME. Providers: ${providerNames.join(", ")}.${meant === undefined ? "" : ` Did you mean ${meant}?`}`,
    { example: `--model ${exampleName(meant, model)}` },
  );
}

function exampleName(meant: string | undefined, model: string): string {
  if (meant === undefined) return "anthropic/claude-sonnet-4-5";
  const fallback = defaultModel(meant as ProviderName) ?? "qwen3";
  return meant === "offline" ? "offline" : `${meant}/${model === "" ? fallback : model}`;
}
