import { execFileSync } from "node:child_process";
import { mkdir, readdir, rm, symlink } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { entry, saved, seqs, snapshot } from "./states.js";

const oddities: Record<string, (at: string) => Promise<unknown>> = {
  "a FIFO": async (at) => execFileSync("mkfifo", [at]),
  "a folder": (at) => mkdir(at),
  "a link to a device": (at) => symlink("/dev/zero", at),
  "a link to itself": (at) => symlink(path.basename(at), at),
};

describe.each(Object.entries(oddities))("%s", (name, make) => {
  it.each(["log.jsonl", "snapshot.json"])("where %s should be: a row that says so, at once", async (file) => {
    const store = new FileStore(await tempFolder());
    await saved(store, "good", 1);
    await saved(store, "odd", 1);
    const at = path.join(store.key, "odd", file);
    await rm(at);
    await make(at);
    const problem =
      name === "a link to itself" ? expect.stringContaining(at) : `${at} cannot be read: it is not a file`;
    expect(await store.list()).toMatchObject([{ id: "odd", problem }, { id: "good" }]);
    await expect(store.read("odd")).rejects.toMatchObject({ code: "STATE_UNREADABLE", problem });
    await expect(store.write("odd", [entry(1)], snapshot())).rejects.toMatchObject({ code: "STATE_UNREADABLE" });
    await store.unlock("odd");
    await store.delete("odd");
    expect(await readdir(store.key)).not.toContain("odd");
    expect(await seqs(store, "good")).toEqual([0]);
  });

  it("where the lock should be: reading works, writing says what to do, deleting works", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "odd", 1);
    const at = path.join(store.key, "odd", "lock");
    await rm(at);
    await make(at);
    expect(await seqs(store, "odd")).toEqual([0]);
    for (const act of [() => store.lock("odd"), () => store.write("odd", [entry(1)], undefined)]) {
      await expect(act()).rejects.toMatchObject({
        code: "LOCK_NOT_A_FILE",
        problem: expect.stringContaining(at),
        fix: expect.stringContaining("remove it"),
      });
    }
    await store.delete("odd");
    expect(await store.list()).toEqual([]);
  });

  it("where the shared stamp should be: saves go on", async () => {
    const store = new FileStore(await tempFolder());
    await make(path.join(store.key, ".stamp"));
    await saved(store, "a", 2);
    expect(await seqs(store, "a")).toEqual([0, 1]);
  });
});

it("a link in a loop is one row that cannot be read, and keeps nobody from saving, listing or making", async () => {
  const store = new FileStore(await tempFolder());
  await symlink("loop", path.join(store.key, "loop"));
  await saved(store, "a", 2);
  expect(await store.list()).toMatchObject([
    { id: "a" },
    { id: "loop", problem: expect.stringContaining(path.join(store.key, "loop")) },
  ]);
  await expect(store.read("loop")).rejects.toMatchObject({ code: "STATE_UNREADABLE" });
  await expect(store.lock("loop")).rejects.toMatchObject({ code: "STATE_UNREADABLE" });
  await expect(store.write("loop", [], snapshot(), { create: true })).rejects.toMatchObject({ code: "STATE_EXISTS" });
  await saved(store, "b", 1);
  expect(await seqs(store, "b")).toEqual([0]);
});
