/**
 * One error class for everything a person or a program can act on.
 *
 * `code` is for programs and never changes its meaning; `message` is for people: what is wrong (with the value), how to
 * fix it, an example. Classify by `code`, never by text, and never by `instanceof` across bundles: use {@link hasCode}.
 */
export class PerdureError extends Error {
  override readonly name: string = "PerdureError";
  readonly code: string;
  readonly problem: string;
  readonly fix: string;
  readonly example: string | undefined;

  constructor(parts: { code: string; problem: string; fix: string; example?: string; cause?: unknown }) {
    const lines = [parts.problem, `Fix: ${parts.fix}`];
    if (parts.example !== undefined) lines.push(`Example: ${parts.example}`);
    super(lines.join("\n"), parts.cause === undefined ? undefined : { cause: parts.cause });
    this.code = parts.code;
    this.problem = parts.problem;
    this.fix = parts.fix;
    this.example = parts.example;
  }
}

/** The `code` of a PerdureError or a system error (`ENOSPC`), or undefined. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  const code = codeOf(error);
  return code !== undefined && codes.includes(code);
}

/** One line about an error for a person: the problem without fix, example and stack. */
export function problemOf(error: unknown): string {
  if (error instanceof PerdureError) return error.problem;
  if (error instanceof Error) return error.message.split("\n")[0] || error.name;
  return String(error);
}
