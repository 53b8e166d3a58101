import { PerdureError } from "../errors.js";

/** Wrong usage: exit code 2. Values are put in as they came; who prints the error makes it printable. */
export function usageError(problem: string, fix: string, example?: string): PerdureError {
  return new PerdureError({ code: "USAGE", problem, fix, ...(example === undefined ? {} : { example }) });
}

/** A value in a message: quoted, on one line, not endless. */
export function quoted(value: string): string {
  return JSON.stringify(value.length > 200 ? `${value.slice(0, 200)}…` : value);
}

/** A word as a person would type it into a shell. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
