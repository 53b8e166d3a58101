import { hasCode, PerdureError } from "../errors.js";
import { shellWord } from "./usage-error.js";

export const NO_LOCK_WARNING =
  "chat: --no-lock: nothing keeps a second process from writing to the same conversation; make sure that there is none";

/** Who meets a conversation that is open elsewhere is told the two ways to go on all the same, as commands. */
export function withOffers(error: unknown, store: string | undefined): unknown {
  if (!hasCode(error, "STATE_LOCKED") || !(error instanceof Error)) return error;
  if (!("id" in error) || typeof error.id !== "string" || !("problem" in error)) return error;
  const chat = store === undefined ? "chat" : `chat --store ${shellWord(store)}`;
  const fork = `${chat} --resume ${error.id} --fork`;
  return new PerdureError({
    code: "STATE_LOCKED",
    problem: String(error.problem),
    fix: `close it there, or go on with a copy: \`${fork}\`, or read along: \`${chat} show ${error.id} --follow\``,
    cause: error,
  });
}
