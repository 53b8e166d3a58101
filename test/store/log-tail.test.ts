import { appendFile, copyFile, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { LogTail } from "../../src/store/log-tail.js";
import { nodeDisk } from "../../src/store/node-disk.js";
import { tempFolder } from "../support/temp-folder.js";
import { entries, entry, logPath, saved } from "./states.js";

async function follow(count: number, seqNext = 0) {
  const store = new FileStore(await tempFolder());
  await saved(store, "a", count);
  const log = logPath(store, "a");
  const tail = new LogTail(nodeDisk, log, seqNext);
  const next = async () => (await tail.next())?.map(({ seq }) => seq);
  return { store, log, next };
}

describe("reading along in a log", () => {
  it("gives each entry once, as it comes, from where its reader is", async () => {
    const { store, next } = await follow(3, 1);
    expect(await next()).toEqual([1, 2]);
    expect(await next()).toEqual([]);
    await store.write("a", entries(3, 6), undefined);
    expect(await next()).toEqual([3, 4, 5]);
    await store.unlock("a");
  });

  it("waits for the end of a record, whatever byte it is cut at", async () => {
    const { store, log, next } = await follow(0);
    await store.write("a", [entry(0, { text: "€ and \u2028" })], undefined);
    await store.unlock("a");
    const bytes = await readFile(log);
    const start = bytes.indexOf('{"seq"');
    await truncate(log, start);
    for (let at = start; at < bytes.length; at++) {
      expect(await next()).toEqual([]);
      await appendFile(log, bytes.subarray(at, at + 1));
    }
    expect(await next()).toEqual([0]);
  });

  it("takes records longer than a piece that is read at once", async () => {
    const { store, next } = await follow(0);
    await store.write("a", [entry(0, { text: "x".repeat(3 << 20) }), entry(1)], undefined);
    expect(await next()).toEqual([0, 1]);
    await store.unlock("a");
  });

  it("does not repeat a record that was taken back and written again", async () => {
    const { log, next } = await follow(3);
    expect(await next()).toEqual([0, 1, 2]);
    const bytes = await readFile(log);
    await truncate(log, bytes.length - 20);
    expect(await next()).toEqual([]);
    await writeFile(log, bytes);
    await appendFile(log, `${JSON.stringify(entry(3))}\n`);
    expect(await next()).toEqual([3]);
  });

  it("goes on in a log that was replaced by a longer copy", async () => {
    const { log, next } = await follow(2);
    expect(await next()).toEqual([0, 1]);
    await copyFile(log, path.join(path.dirname(log), "copy"));
    await appendFile(path.join(path.dirname(log), "copy"), `${JSON.stringify(entry(2))}\n`);
    await rename(path.join(path.dirname(log), "copy"), log);
    expect(await next()).toEqual([2]);
  });

  it("passes over lines that are no records", async () => {
    const { log, next } = await follow(1);
    await appendFile(log, `\0\0\n{"x":1}\n${JSON.stringify(entry(1))}\n`);
    expect(await next()).toEqual([0, 1]);
  });

  it("says when the log is gone", async () => {
    const { log, next } = await follow(1);
    expect(await next()).toEqual([0]);
    await rm(path.dirname(log), { recursive: true });
    expect(await next()).toBeUndefined();
  });
});
