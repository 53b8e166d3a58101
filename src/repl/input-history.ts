import { mkdir, open, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode } from "../errors.js";
import { wellFormed } from "../text/well-formed.js";

export const HISTORY_ENTRIES_MAX = 1000;
/** Longer entries stay in memory only. */
const ENTRY_CHARS_MAX = 256 * 1024;

/**
 * What was typed, one JSON string a line, oldest first, readable by its owner only. A convenience: nothing in a
 * conversation depends on it, so it is not fsynced, and its failures are one line for the person.
 */
export class InputHistory {
  readonly #path: string | undefined;
  readonly #fail: (error: unknown) => void;
  #last: string | undefined;
  #begun = false;
  #work: Promise<void> = Promise.resolve();

  constructor(path: string | undefined, fail: (error: unknown) => void) {
    this.#path = path;
    // Once is enough: a full disk would be told of after each line.
    let failed = false;
    this.#fail = (error) => {
      if (!failed) fail(error);
      failed = true;
    };
  }

  /** The last entries, newest first; lines that cannot be read are left out. */
  async load(): Promise<string[]> {
    const path = this.#path;
    if (path === undefined) return [];
    try {
      const entries = parseEntries(await readFile(path, "utf8"));
      if (entries.length > HISTORY_ENTRIES_MAX * 2) await this.#rewrite(path, entries.slice(-HISTORY_ENTRIES_MAX));
      return entries.slice(-HISTORY_ENTRIES_MAX).reverse();
    } catch (error) {
      if (!hasCode(error, "ENOENT")) this.#fail(error);
      return [];
    }
  }

  add(text: string): void {
    const entry = wellFormed(text);
    if (entry.trim() === "" || entry === this.#last || entry.length > ENTRY_CHARS_MAX) return;
    this.#last = entry;
    this.#work = this.#work.then(() => this.#append(entry)).catch(this.#fail);
  }

  /** Resolves when all that was added is in the file, or has failed. */
  async flush(): Promise<void> {
    await this.#work;
  }

  async #append(entry: string): Promise<void> {
    const path = this.#path;
    if (path === undefined) return;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(path, "a", 0o600);
    try {
      if (!this.#begun) await file.chmod(0o600);
      // The last line may have been cut: ours begins on a new one.
      await file.writeFile(`${this.#begun ? "" : "\n"}${JSON.stringify(entry)}\n`);
      this.#begun = true;
    } finally {
      await file.close();
    }
  }

  async #rewrite(path: string, entries: readonly string[]): Promise<void> {
    const temporary = `${path}.${process.pid}.tmp`;
    await writeFile(temporary, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""), { mode: 0o600 });
    await rename(temporary, path);
  }
}

function parseEntries(text: string): string[] {
  const entries: string[] = [];
  for (const row of text.split("\n")) {
    if (!row.startsWith('"')) continue;
    try {
      const entry: unknown = JSON.parse(row);
      if (typeof entry === "string" && entry !== "") entries.push(wellFormed(entry));
    } catch {
      // A line that was cut: the others are whole.
    }
  }
  return entries;
}
