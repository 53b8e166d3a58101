import { cpSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import type { HistoryEntry } from "../../src/agent/entries.js";
import { fold } from "../../src/agent/fold.js";
import type { State } from "../../src/agent/state.js";
import type { Tool, ToolContext } from "../../src/agent/tool.js";
import { FileStore } from "../../src/index.js";
import type { JsonObject } from "../../src/json.js";
import type { Entry, SavedRecord, Snapshot, Store } from "../../src/store/store.js";
import { messagesProblems } from "../../src/testing/request-problems.js";

const folders: string[] = [];

afterEach(async () => {
  // A draft may still be on its way to the disk: a folder that is not empty after all is removed again.
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true, maxRetries: 10 });
});

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "perdure-agent-"));
  folders.push(folder);
  return folder;
}

export function makeStore(): { store: FileStore; root: string } {
  const root = join(makeFolder(), "store");
  return { store: new FileStore(root), root };
}

/** What a process that died at this moment leaves behind, as another process finds it. */
export function copyOfStore(root: string): FileStore {
  const copy = join(makeFolder(), "store");
  cpSync(root, copy, { recursive: true });
  return new FileStore(copy);
}

/** A store that counts its writes and fails when told to. */
export class FaultyStore implements Store {
  readonly key: string;
  readonly writes: { entries: readonly Entry[]; snapshot: Snapshot | undefined; create: boolean }[] = [];
  /** Called before each write; what it throws is what the disk says. */
  before: (entries: readonly Entry[], snapshot: Snapshot | undefined) => void | Promise<void> = () => undefined;
  readonly #store: FileStore;

  constructor(store: FileStore) {
    this.#store = store;
    this.key = store.key;
  }

  async write(
    id: string,
    entries: readonly Entry[],
    snapshot: Snapshot | undefined,
    options: { create?: boolean } = {},
  ): Promise<void> {
    await this.before(entries, snapshot);
    await this.#store.write(id, entries, snapshot, options);
    this.writes.push({ entries, snapshot, create: options.create === true });
  }

  read(id: string): Promise<SavedRecord | undefined> {
    return this.#store.read(id);
  }
}

export function diskFull(): Error {
  return Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
}

export function tool(name: string, run: (input: JsonObject, context: ToolContext) => string | Promise<string>): Tool {
  return {
    name,
    description: name,
    inputSchema: { type: "object" },
    parse: (input) => input,
    run: async (input, context) => ({ text: await run(input as JsonObject, context) }),
  };
}

/** A promise that is settled from outside. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  let open: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

export function kinds(history: readonly HistoryEntry[] | readonly Entry[]): string[] {
  return history.map((entry) => entry.kind);
}

export function results(state: State): string[] {
  return state.history.flatMap((entry) => (entry.kind === "result" ? [entry.text] : []));
}

/** What must hold of every State at every moment. */
export function expectSound(state: State): void {
  expect(fold(state.history)).toEqual(state.context);
  expect(state.history.map((entry) => entry.seq)).toEqual(state.history.map((_, index) => index));
  if (state.context.length > 0) expect(messagesProblems(state.context)).toEqual([]);
}
