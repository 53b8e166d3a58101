import { PerdureError } from "../errors.js";
import type { AvailableModel } from "../model/default-models.js";

export interface ModelCircumstances {
  /** `--model`. */
  readonly flag: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A terminal, and not print mode. */
  readonly interactive: boolean;
  /** Print mode: a program reads the answer, and must not take the offline model's for a real one. */
  readonly print: boolean;
  /** What the conversation that is resumed used last. */
  readonly recorded?: string | undefined;
  /** What was chosen at a first start with several keys. */
  readonly remembered: string | undefined;
  /** In the order anthropic, openai, google. */
  readonly available: readonly AvailableModel[];
}

export type ModelChoice =
  | { readonly kind: "model"; readonly model: string }
  /** Several keys, and a person who can be asked. */
  | { readonly kind: "ask"; readonly choices: readonly AvailableModel[] }
  /** No key: the offline model, and one line that says so. */
  | { readonly kind: "offline"; readonly model: "offline"; readonly notice: string };

const OFFLINE_NOTICE =
  "No model key found, so this is the offline model: it answers simple phrases, no LLM. " +
  "For a real one set ANTHROPIC_API_KEY, OPENAI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY, or start `chat -m ollama/NAME`.";

/**
 * Which model answers: `--model`, what the resumed conversation used, `CHAT_MODEL`, the one key there is, what was chosen
 * before. Nothing is asked over the network.
 *
 * @throws PerdureError MODEL_KEY_MISSING: no key, and nobody to tell that the offline model stands in
 */
export function chooseModel(circumstances: ModelCircumstances): ModelChoice {
  const { flag, env, interactive, print, recorded, remembered, available } = circumstances;
  if (flag !== undefined) return { kind: "model", model: flag };
  if (recorded !== undefined && isUsable(recorded, available)) return { kind: "model", model: recorded };
  const { CHAT_MODEL } = env;
  if (CHAT_MODEL !== undefined && CHAT_MODEL.trim() !== "") return { kind: "model", model: CHAT_MODEL.trim() };
  const [first, ...more] = available;
  if (first === undefined) {
    if (!print) return { kind: "offline", model: "offline", notice: OFFLINE_NOTICE };
    throw new PerdureError({
      code: "MODEL_KEY_MISSING",
      problem: "there is no model to answer: no provider's key is in the environment",
      fix: "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY, or choose a model that needs no key",
      example: 'chat -p -m offline "list ."',
    });
  }
  if (more.length === 0) return { kind: "model", model: first.model };
  if (remembered !== undefined && isUsable(remembered, available)) return { kind: "model", model: remembered };
  return interactive ? { kind: "ask", choices: available } : { kind: "model", model: first.model };
}

/** The offline model is never kept to: a person who set a key since wants to be answered by a real one. */
function isUsable(model: string, available: readonly AvailableModel[]): boolean {
  const provider = model.split("/")[0] ?? "";
  return provider === "ollama" || provider === "compatible" || available.some((each) => each.provider === provider);
}
