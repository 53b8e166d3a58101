/**
 * The environment of what tools run: the person's own, without the model providers' keys, and set up for programs that
 * nobody can answer.
 *
 * A variable goes when it is named in `keyVariables`, and also when its value is one of their values or contains one:
 * a copy under another name is the same secret.
 */
export function toolEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  keyVariables: readonly string[],
  conversationId?: string,
): Record<string, string> {
  const secrets = keyVariables.map((name) => env[name]?.trim() ?? "").filter((value) => value !== "");
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || keyVariables.includes(name) || FORCED_COLOR.includes(name)) continue;
    if (secrets.some((secret) => isCopy(value, secret))) continue;
    kept[name] = value;
  }
  const conversation = conversationId === undefined ? {} : { CHAT_CONVERSATION: conversationId };
  return { ...kept, TERM: "dumb", PAGER: "cat", GIT_PAGER: "cat", GIT_TERMINAL_PROMPT: "0", ...conversation };
}

/** Their escapes would only fill the history: a pipe is no terminal. */
const FORCED_COLOR: readonly string[] = ["FORCE_COLOR", "CLICOLOR_FORCE"];

/** A short value (a test's "x") may stand in any other by chance; a real key does not. */
const SECRET_LENGTH_MIN = 12;

function isCopy(value: string, secret: string): boolean {
  return value.trim() === secret || (secret.length >= SECRET_LENGTH_MIN && value.includes(secret));
}
