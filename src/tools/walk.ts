import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { IgnoreRules } from "./gitignore.js";

/**
 * The files below a folder in a stable order, without what .gitignore leaves out and without `.git`. Links are not
 * followed, so the walk ends and never leaves the folder. Folders that cannot be read are passed over.
 */
export async function* walkFiles(folder: string, signal: AbortSignal): AsyncGenerator<string> {
  yield* walk(folder, await IgnoreRules.forFolder(folder), signal);
}

async function* walk(folder: string, rules: IgnoreRules, signal: AbortSignal): AsyncGenerator<string> {
  signal.throwIfAborted();
  const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => []);
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.name === ".git" || rules.ignores(path, entry.isDirectory())) continue;
    if (entry.isDirectory()) yield* walk(path, await rules.with(path), signal);
    else if (entry.isFile()) yield path;
  }
}
