import { cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { takeLock } from "../../src/store/lock.js";
import { nodeDisk } from "../../src/store/node-disk.js";
import { tempFolder } from "../support/temp-folder.js";
import { FaultyDisk } from "./faulty-disk.js";
import { OtherProcess } from "./other-process.js";
import { entries, entry, logPath, saved, seqs, snapshot } from "./states.js";

async function visible(store: FileStore): Promise<string[]> {
  return (await readdir(store.key)).filter((name) => name !== ".stamp");
}

describe("deleting a conversation", () => {
  it("removes all its files, the outputs of its calls too, and no other's", async () => {
    const store = new FileStore(await tempFolder());
    for (const id of ["a", "b"]) await saved(store, id, 1);
    const output = store.callPath("a", "call_1");
    await mkdir(path.dirname(output), { recursive: true });
    await writeFile(output, "output");
    await store.delete("a");
    expect(await visible(store)).toEqual(["b"]);
    expect(await store.read("a")).toBeUndefined();
    await expect(store.delete("a")).rejects.toMatchObject({ code: "STATE_NOT_FOUND" });
    expect(await seqs(store, "b")).toEqual([0]);
  });

  it("frees its id, also when it was open here", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 3);
    await store.write("a", [entry(3)], undefined);
    await store.delete("a");
    await expect(store.write("a", [entry(4)], undefined)).rejects.toMatchObject({ code: "STATE_NOT_FOUND" });
    await store.write("a", [entry(0)], snapshot(), { create: true });
    expect(await seqs(store, "a")).toEqual([0]);
    await store.unlock("a");
  });

  it("works on one that is damaged", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    await writeFile(logPath(store, "a"), "");
    await store.delete("a");
    expect(await store.list()).toEqual([]);
  });

  it("cut off on the way: all of it is out of the list, and what is left goes at the next look", async () => {
    const disk = new FaultyDisk();
    const store = new FileStore(await tempFolder(), { disk });
    await saved(store, "a", 1);
    const fault = { call: "remove", path: /\.deleted-a-/, code: "EIO" } as const;
    disk.faults.add(fault);
    await expect(store.delete("a")).rejects.toMatchObject({ code: "EIO" });
    expect(await store.list()).toEqual([]);
    expect(await store.read("a")).toBeUndefined();
    expect(await visible(store)).toHaveLength(1);
    disk.faults.clear();
    await store.list();
    expect(await visible(store)).toEqual([]);
  });

  it("waits for the writes that are under way", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    const write = store.write("a", entries(1, 50), snapshot());
    await store.delete("a");
    await write;
    expect(await visible(store)).toEqual([]);
  });
});

describe("a conversation that a process died making", () => {
  it("is never seen, and is removed when another is made, but not while its maker lives", async () => {
    const root = await tempFolder();
    const dead = new FileStore(path.join(root, "template"));
    await saved(dead, "a", 1);
    await mkdir(path.join(root, "store"));
    await cp(path.join(dead.key, "a"), path.join(root, "store", ".new-a-0123456789ab"), { recursive: true });
    await mkdir(path.join(root, "store", ".new-b-0123456789ab"));
    const holder = await OtherProcess.start(path.join(root, "store"));
    await holder.call("write", "held", [], snapshot(), { create: true });
    const { rename } = await import("node:fs/promises");
    await cp(path.join(dead.key, "a"), path.join(root, "store", ".new-a-ffffffffffff"), { recursive: true });
    await rename(path.join(root, "store", "held", "lock"), path.join(root, "store", ".new-a-ffffffffffff", "lock"));

    const store = new FileStore(path.join(root, "store"));
    expect((await store.list()).map(({ id }) => id)).toEqual(["held"]);
    await saved(store, "c", 1);
    expect(await visible(store)).toEqual([".new-a-ffffffffffff", "c", "held"]);
  });
});

it("a conversation whose hidden folder is tidied away before it has its lock is made in another one", async () => {
  const root = await tempFolder();
  const real = takeLock;
  let taken = 0;
  const store = new FileStore(root, {
    disk: { ...nodeDisk },
    takeLock: async (at) => {
      // Another process finds the folder without a lock, and takes it for a dead one's.
      if (taken++ === 0) await rm(path.dirname(at), { recursive: true });
      return real(at);
    },
  });
  await store.write("a", entries(0, 1), snapshot(), { create: true });
  await store.unlock("a");
  expect(await seqs(store, "a")).toEqual([0]);
});
