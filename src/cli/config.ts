import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hasCode, PerdureError, problemOf } from "../errors.js";

const FORMAT = 1;
const HANGUP: readonly string[] = ["keep", "end"];

/** What a person wrote down once for every start. Read, never written. */
export interface Config {
  /** What becomes of running commands when the terminal goes away (SIGHUP): they go on, or they are ended. */
  readonly hangup: "keep" | "end";
}

export function configPath(configFolder: string): string {
  return join(configFolder, "config.json");
}

/**
 * The configuration, with the defaults for what it does not say. Keys that this version does not know are left alone.
 *
 * @throws {PerdureError} CONFIG_INVALID naming the file and the key; CONFIG_NEWER
 */
export function readConfig(configFolder: string | undefined): Config {
  if (configFolder === undefined) return { hangup: "keep" };
  const path = configPath(configFolder);
  const content = parse(path, read(path));
  const { format, hangup } = content;
  if (format !== undefined && (typeof format !== "number" || !Number.isInteger(format) || format < 1)) {
    throw invalid(path, `format is ${shown(format)}, which is no format's number`, `make it ${FORMAT}`);
  }
  if (typeof format === "number" && format > FORMAT) {
    throw new PerdureError({
      code: "CONFIG_NEWER",
      problem: `${path} has format ${format}, and this version knows ${FORMAT}`,
      fix: "use a newer chat, or write the file anew in the format of this one",
      example: '{ "format": 1, "hangup": "end" }',
    });
  }
  if (hangup !== undefined && !isHangup(hangup)) {
    throw invalid(path, `hangup is ${shown(hangup)}`, 'make it "keep" or "end"');
  }
  return { hangup: hangup ?? "keep" };
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return "{}";
    throw invalid(path, `cannot be read: ${problemOf(error)}`, "make it readable, or remove it", error);
  }
}

function parse(path: string, text: string): { readonly [key: string]: unknown } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(path, `is no JSON: ${problemOf(error)}`, "mend it, or remove it", error);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw invalid(path, `holds ${shown(value)}, and it must hold an object`, "mend it, or remove it");
}

function isHangup(value: unknown): value is Config["hangup"] {
  return typeof value === "string" && HANGUP.includes(value);
}

function invalid(path: string, problem: string, fix: string, cause?: unknown): PerdureError {
  return new PerdureError({
    code: "CONFIG_INVALID",
    problem: `${path}: ${problem}`,
    fix,
    example: '{ "format": 1, "hangup": "end" }',
    ...(cause === undefined ? {} : { cause }),
  });
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
