import { readFile, stat } from "node:fs/promises";
import { problemOf } from "../errors.js";
import { quoted, usageError } from "./usage-error.js";

export const SYSTEM_BYTES_MAX = 1024 * 1024;

/**
 * The system prompt that `--system TEXT` or `--system @FILE` gives. A text that starts with an @ is written `@@…`.
 *
 * @throws PerdureError USAGE, naming the file
 */
export async function readSystemText(value: string): Promise<string> {
  if (value.startsWith("@@")) return value.slice(1);
  if (!value.startsWith("@")) return value;
  const path = value.slice(1);
  const unusable = (why: string) =>
    usageError(`--system: the file ${quoted(path)} ${why}`, "name a text file", "chat --system @prompt.md");
  if (path === "") throw unusable("has no name");
  const text = await readTextFile(path, unusable);
  if (text.trim() === "") throw unusable("is empty");
  return text;
}

async function readTextFile(path: string, unusable: (why: string) => Error): Promise<string> {
  let bytes: Buffer;
  try {
    const { size } = await stat(path);
    if (size > SYSTEM_BYTES_MAX) throw unusable(`is too long: ${size} bytes, at most ${SYSTEM_BYTES_MAX}`);
    bytes = await readFile(path);
  } catch (error) {
    throw error instanceof Error && "problem" in error ? error : unusable(`cannot be read: ${problemOf(error)}`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw unusable("is not UTF-8 text");
  }
}
