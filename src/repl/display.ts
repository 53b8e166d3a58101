import { problemOf } from "../errors.js";
import { printable, printableLine } from "../text/printable.js";
import type { Style } from "./style.js";

export interface Span {
  readonly text: string;
  readonly style?: Style | undefined;
}

/**
 * What a person sees, before it is drawn: the border between what happened and the terminal. All text in it is
 * printable already.
 */
export type Display =
  /** Goes on in the current line; may hold line breaks. */
  | { readonly kind: "stream"; readonly text: string }
  /** A line of its own. */
  | { readonly kind: "line"; readonly spans: readonly Span[] }
  /** One empty line, however often it is asked for. */
  | { readonly kind: "gap" };

export const GAP: Display = { kind: "gap" };

/** A line of our own words. What comes from elsewhere goes through `printable` first. */
export function line(text: string, style?: Style): Display {
  return { kind: "line", spans: [{ text, style }] };
}

export function spans(...parts: Array<string | readonly [style: Style, text: string]>): Display {
  return {
    kind: "line",
    spans: parts.map((part) => (typeof part === "string" ? { text: part } : { text: part[1], style: part[0] })),
  };
}

/** Each line of a text as a line of its own. */
export function lines(text: string, style?: Style, indent = ""): Display[] {
  return printable(text)
    .split("\n")
    .map((part) => line(indent + part, style));
}

/** A problem and, on the next line, what to do about it. */
export function problemLines(problem: string, fix: string | undefined): Display[] {
  const shown = [...lines(problem, "red")];
  if (fix !== undefined && fix !== "") shown.push(...lines(fix, undefined, "  "));
  return shown;
}

export function errorLines(error: unknown): Display[] {
  // By its fields: an error of another bundle is not an instance of this one's PerdureError.
  if (!(error instanceof Error) || !("fix" in error) || typeof error.fix !== "string") {
    return problemLines(problemOf(error), undefined);
  }
  const problem = "problem" in error && typeof error.problem === "string" ? error.problem : problemOf(error);
  const example = "example" in error && typeof error.example === "string" ? ` (for example: ${error.example})` : "";
  return problemLines(problem, `${error.fix}${example}`);
}

/** At most `linesMax` lines: the head, and the tail after a line that says how many are between. */
export function boundLines(text: string, linesMax: number, note: (hidden: number) => string): string[] {
  const all = printable(text)
    .replace(/\n+$/, "")
    .split("\n")
    .map((part) => boundLine(part));
  if (all.length <= linesMax) return all;
  const tail = Math.floor(linesMax / 4);
  const head = linesMax - tail;
  return [...all.slice(0, head), note(all.length - linesMax), ...(tail > 0 ? all.slice(-tail) : [])];
}

export const LINE_CHARS_MAX = 2000;

export function boundLine(text: string, charsMax: number = LINE_CHARS_MAX): string {
  if (text.length <= charsMax) return text;
  // Never between the halves of a character.
  const end = /[\ud800-\udbff]/.test(text[charsMax - 1] ?? "") ? charsMax - 1 : charsMax;
  return `${text.slice(0, end)}… (${count(text.length - end, "more character")})`;
}

export function count(n: number, noun: string, plural = `${noun}s`): string {
  // By hand: `toLocaleString` loads the number formats of all languages first, 8 ms before the prompt of a resume.
  const digits = String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${digits} ${n === 1 ? noun : plural}`;
}

/** Columns that are left beside `used`, at least one. */
export function room(columns: number, used: number): number {
  return Math.max(1, columns - used);
}

export function titleOf(name: string | undefined, task: string | undefined, widthMax: number): string {
  return printableLine(name ?? task ?? "(no message yet)", Math.max(1, widthMax));
}
