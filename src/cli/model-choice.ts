import { problemOf } from "../errors.js";
import { availableModels } from "../model/default-models.js";
import type { ChatArguments } from "./arguments.js";
import { chooseModel } from "./choose-model.js";
import { readRememberedModel, rememberModel } from "./remembered-model.js";

export interface ModelChoiceOptions {
  readonly args: ChatArguments;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly interactive: boolean;
  readonly configFolder: string | undefined;
}

/** Which model answers, asked of the person at most once: at a first start with several keys. */
export class ModelChoice {
  /** Lines for the person. */
  readonly notices: string[] = [];
  readonly #options: ModelChoiceOptions;
  #remembered: string | undefined;

  constructor(options: ModelChoiceOptions) {
    this.#options = options;
  }

  async choose(recorded: string | undefined): Promise<string> {
    const { args, env, interactive, configFolder } = this.#options;
    const available = availableModels(env);
    // The file says something only where several keys leave a choice.
    if (available.length > 1 && this.#remembered === undefined && configFolder !== undefined) {
      const { model, problem } = await readRememberedModel(configFolder);
      this.#remembered = model;
      if (problem !== undefined) this.notices.push(problem);
    }
    const choice = chooseModel({
      flag: args.model,
      env,
      interactive,
      print: args.print,
      recorded,
      remembered: this.#remembered,
      available,
    });
    if (choice.kind === "model") return choice.model;
    if (choice.kind === "offline") {
      if (!this.notices.includes(choice.notice)) this.notices.push(choice.notice);
      return choice.model;
    }
    const { askModel } = await import("./questions.js");
    const chosen = await askModel(choice.choices);
    const model = chosen ?? choice.choices[0]?.model ?? "offline";
    // Nothing was chosen: the first one for now, and the question again next time.
    if (chosen === undefined) return model;
    this.#remembered = model;
    if (configFolder !== undefined) await this.#remember(configFolder, model);
    return model;
  }

  /** Not remembered is not a reason not to talk. */
  async #remember(configFolder: string, model: string): Promise<void> {
    try {
      await rememberModel(configFolder, model);
    } catch (error) {
      this.notices.push(`the choice of model is not remembered: ${problemOf(error)}`);
    }
  }
}
