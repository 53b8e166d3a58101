import { printable } from "../text/printable.js";

/**
 * An error for a person: what is wrong, how to fix it, an example; safe for a terminal. An error of another kind is told
 * in its first line: no stack.
 */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  // By shape, not by class: bundles have classes of their own.
  const whole = error instanceof Error && "problem" in error && "fix" in error;
  return `chat: ${printable(whole ? text : (text.split("\n")[0] ?? ""))}`;
}
