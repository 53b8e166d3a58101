// Loaded lazily: only a person at a terminal is asked anything.
import { confirm, select } from "@inquirer/prompts";
import type { AvailableModel } from "../model/default-models.js";

/** Which of several models to use. Undefined: the person left with Ctrl+C. */
export async function askModel(choices: readonly AvailableModel[]): Promise<string | undefined> {
  return unlessLeft(
    select({
      message: "There are keys for several providers. Which model is to answer?",
      choices: choices.map(({ model, keyVariable }) => ({ name: `${model}  (${keyVariable})`, value: model })),
    }),
  );
}

/** A plain yes or no; no is the default, and what Ctrl+C means. */
export async function askYesNo(question: string): Promise<boolean> {
  return (await unlessLeft(confirm({ message: question, default: false }))) ?? false;
}

async function unlessLeft<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && error.name === "ExitPromptError") return undefined;
    throw error;
  }
}
