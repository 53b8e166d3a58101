import { parseArgs } from "node:util";
import { nearest } from "../text/nearest.js";
import { quoted, usageError } from "./usage-error.js";

/**
 * flag: takes no value. value: takes one. list: takes one with commas, may be repeated. optional: takes the next word
 * unless it starts with a dash.
 */
export type OptionKind = "flag" | "value" | "list" | "optional";
export interface OptionSpec {
  readonly kind: OptionKind;
  readonly short?: string;
  /** A value that may go into an example. */
  readonly sample?: string;
}
export type OptionTable = Readonly<Record<string, OptionSpec>>;

export interface Words {
  /** Whether an option was given. */
  has(name: string): boolean;
  /** The last value given: so an alias can be overridden. */
  value(name: string): string | undefined;
  list(name: string): string[];
  /** Words that are no options and no option's value. */
  readonly positionals: readonly Positional[];
}

export interface Positional {
  readonly text: string;
  /** Where in the argument list. */
  readonly index: number;
  /** After `--`: never a subcommand. */
  readonly afterTerminator: boolean;
}

/**
 * Sorts an argument list into options and other words. `--` ends the options.
 *
 * @throws PerdureError USAGE: an unknown option (with the nearest one), a value missing, blank or too many
 */
export function readWords(argv: readonly string[], table: OptionTable): Words {
  const given = new Map<string, string[]>();
  const positionals: Positional[] = [];
  let afterTerminator = false;
  // The option that takes the next word if that stands right behind it.
  let taker: { name: string; index: number } | undefined;
  for (const token of tokensOf(argv, table)) {
    const takes = taker;
    taker = undefined;
    if (token.kind === "option-terminator") {
      afterTerminator = true;
    } else if (token.kind === "positional") {
      const taken = takes !== undefined && token.index === takes.index + 1 && !token.value.startsWith("-");
      if (taken) keep(given, takes.name, presentValue(takes.name, token.value, table));
      else positionals.push({ text: token.value, index: token.index, afterTerminator });
    } else {
      const spec = Object.hasOwn(table, token.name) ? table[token.name] : undefined;
      if (spec === undefined) throw unknownOption(argv[token.index] ?? token.rawName, token.rawName, table);
      if (spec.kind === "optional" && token.value === undefined) {
        keep(given, token.name);
        taker = { name: token.name, index: token.index };
      } else if (spec.kind === "flag") {
        if (token.value !== undefined) {
          throw usageError(`${token.rawName} takes no value, but got ${quoted(token.value)}`, "leave the value out");
        }
        keep(given, token.name);
      } else {
        const value = token.value;
        // A forgotten value must not swallow the option behind it.
        if (value === undefined || (token.inlineValue !== true && /^-./.test(value))) {
          throw missingValue(token.rawName, spec, value);
        }
        keep(given, token.name, presentValue(token.name, value, table));
      }
    }
  }
  return {
    positionals,
    has: (name) => given.has(name),
    value: (name) => given.get(name)?.at(-1),
    list: (name) => [...new Set((given.get(name) ?? []).flatMap(listItems))],
  };
}

function tokensOf(argv: readonly string[], table: OptionTable) {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { kind, short }]) => [
      name,
      {
        type: kind === "value" || kind === "list" ? ("string" as const) : ("boolean" as const),
        ...(short === undefined ? {} : { short }),
      },
    ]),
  );
  return parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

function keep(given: Map<string, string[]>, name: string, value?: string): void {
  const values = given.get(name) ?? [];
  if (value !== undefined) values.push(value);
  given.set(name, values);
}

function listItems(value: string): string[] {
  return value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function presentValue(name: string, value: string, table: OptionTable): string {
  if (value.trim() !== "") return value;
  throw usageError(
    `the value of --${name} is empty: ${quoted(value)}`,
    table[name]?.kind === "optional" ? "give one, or leave it out altogether" : "give one",
    exampleOf(`--${name}`, table[name]),
  );
}

function missingValue(rawName: string, spec: OptionSpec, next: string | undefined) {
  return usageError(
    `${rawName} needs a value`,
    next === undefined
      ? "put it after the option"
      : `put it after the option; one that starts with a dash: ${rawName}=…`,
    exampleOf(rawName, spec),
  );
}

function exampleOf(rawName: string, spec: OptionSpec | undefined): string | undefined {
  return spec?.sample === undefined ? undefined : `chat ${rawName} ${spec.sample}`;
}

function unknownOption(argument: string, rawName: string, table: OptionTable) {
  const long = rawName.startsWith("--");
  const near = long ? nearest(rawName.slice(2), Object.keys(table)) : undefined;
  // "-lesson" or "- a list": more likely a text than a group of one-letter options.
  const looksLikeText = /\s/.test(argument);
  return usageError(
    `there is no option ${long || argument.length <= 2 ? quoted(rawName) : `${quoted(rawName)} (in ${quoted(argument)})`}`,
    near !== undefined
      ? `did you mean --${near}?`
      : "see `chat --help`; a message that starts with a dash goes behind `--`",
    near !== undefined || !looksLikeText ? undefined : 'chat -- "- first, second"',
  );
}
