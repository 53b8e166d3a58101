import { appendFile, readFile } from "node:fs/promises";
import os from "node:os";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { nodeDisk } from "../../src/store/node-disk.js";
import { diskError } from "../../src/store/store-errors.js";
import { tempFolder } from "../support/temp-folder.js";
import { FaultyDisk } from "./faulty-disk.js";
import { entries, saved, seqs, snapshot } from "./states.js";

describe("a snapshot that somebody holds", () => {
  it.each(["EBUSY", "EPERM", "EACCES"])("for a moment (%s) is replaced when it is let go", async (code) => {
    const root = await tempFolder();
    let refusals = 2;
    const disk = {
      ...nodeDisk,
      async rename(from: string, to: string) {
        if (to.endsWith("snapshot.json") && refusals-- > 0) throw Object.assign(new Error(`${code}: held`), { code });
        await nodeDisk.rename(from, to);
      },
    };
    const store = new FileStore(root, { disk });
    await saved(store, "a", 1);
    await store.write("a", entries(1, 2), snapshot({ historyLength: 2 }));
    expect(refusals).toBe(-1);
    expect((await new FileStore(root).read("a"))?.snapshot?.historyLength).toBe(2);
    await store.unlock("a");
  });

  it("for good fails the write, and the entries are in the log", async () => {
    const disk = new FaultyDisk();
    const store = new FileStore(await tempFolder(), { disk });
    await saved(store, "a", 1);
    disk.faults.add({ call: "rename", path: /snapshot\.json$/, code: "EBUSY" });
    await expect(store.write("a", entries(1, 3), snapshot())).rejects.toMatchObject({ code: "EBUSY" });
    expect(await seqs(new FileStore(store.key), "a")).toEqual([0, 1, 2]);
    await store.unlock("a");
  });
});

describe("a quota that is used up", () => {
  it("is said in words, though Node has none for it", () => {
    const errno = -os.constants.errno.EDQUOT;
    const cause = Object.assign(new Error(`Unknown system error ${errno}: Unknown system error ${errno}, write`), {
      errno,
      code: `Unknown system error ${errno}`,
    });
    expect(diskError(cause, "/x/log.jsonl")).toMatchObject({
      code: "EDQUOT",
      problem: "/x/log.jsonl: EDQUOT: the disk quota is used up",
      fix: expect.stringContaining("free some space"),
    });
  });
});

describe("a log that was changed between reading it under the lock and the first write", () => {
  it("refuses the write: what is new would be taken for written already", async () => {
    const root = await tempFolder();
    const store = new FileStore(root);
    await saved(store, "a", 2);
    await store.lock("a");
    await store.read("a");
    // As by a program that knows nothing of locks.
    const log = `${root}/a/log.jsonl`;
    const last = (await readFile(log, "utf8")).trimEnd().split("\n").at(-1) ?? "";
    await appendFile(log, `${last.replace('"seq":1', '"seq":2')}\n`);
    await expect(store.write("a", entries(2, 3), undefined)).rejects.toMatchObject({ code: "STATE_CHANGED_OUTSIDE" });
    await store.unlock("a");
    await store.write("a", entries(3, 4), undefined);
    expect(await seqs(store, "a")).toEqual([0, 1, 2, 3]);
    await store.unlock("a");
  });
});
