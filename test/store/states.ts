import { appendFile, readFile } from "node:fs/promises";
import path from "node:path";
import type { FileStore } from "../../src/store/file-store.js";
import type { Entry, Snapshot } from "../../src/store/store.js";

export function entry(seq: number, fields: Partial<Entry> = {}): Entry {
  return { seq, at: "2026-01-02T03:04:05.678Z", kind: "user", turn: 0, text: `message ${seq}`, ...fields };
}

export function entries(from: number, end: number): Entry[] {
  return Array.from({ length: end - from }, (_, index) => entry(from + index));
}

export function snapshot(fields: Partial<Snapshot> = {}): Snapshot {
  return { task: "a task", createdAt: "2026-01-02T03:04:05.678Z", historyLength: 0, ...fields };
}

/** A conversation with entries 0 to count - 1, one write each, which nobody holds afterwards. */
export async function saved(store: FileStore, id: string, count: number): Promise<void> {
  await store.write(id, [], snapshot({ task: id }), { create: true });
  for (let seq = 0; seq < count; seq++) await store.write(id, [entry(seq)], undefined);
  await store.unlock(id);
}

export async function seqs(store: FileStore, id: string): Promise<number[] | undefined> {
  return (await store.read(id))?.entries.map(({ seq }) => seq);
}

export function logPath(store: FileStore, id: string): string {
  return path.join(store.key, id, "log.jsonl");
}

export function snapshotPath(store: FileStore, id: string): string {
  return path.join(store.key, id, "snapshot.json");
}

export async function logLines(store: FileStore, id: string): Promise<string[]> {
  return (await readFile(logPath(store, id), "utf8")).split("\n").slice(0, -1);
}

export const append = appendFile;
