import fs from "node:fs";
import { afterEach, expect, it, vi } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { entries, entry, saved, snapshot } from "./states.js";

afterEach(() => void vi.restoreAllMocks());

/** A disk that takes at most so many bytes of each write, as the system may. */
function writeAtMost(bytesMax: number): () => number {
  const real = fs.write;
  let calls = 0;
  type Write = (fd: number, bytes: Uint8Array, from: number, count: number, at: number, done: () => void) => void;
  const short: Write = (fd, bytes, from, count, at, done) => {
    calls++;
    (real as unknown as Write)(fd, bytes, from, Math.min(count, bytesMax), at, done);
  };
  vi.spyOn(fs, "write").mockImplementation(short as unknown as typeof fs.write);
  return () => calls;
}

it.each([1, 7, 100])("a disk that takes %i bytes at a time gets all of them, in their order", async (bytesMax) => {
  const store = new FileStore(await tempFolder());
  const calls = writeAtMost(bytesMax);
  await saved(store, "a", 2);
  await store.write("a", [entry(2, { text: "€".repeat(200) }), ...entries(3, 5)], snapshot());
  await store.unlock("a");
  expect(calls()).toBeGreaterThan(5);
  vi.restoreAllMocks();
  const record = await new FileStore(store.key).read("a");
  expect(record?.entries).toEqual([entry(0), entry(1), entry(2, { text: "€".repeat(200) }), entry(3), entry(4)]);
  expect(record).not.toHaveProperty("damage");
});
