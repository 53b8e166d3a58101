import { chmod, lstat, mkdir, readdir, readFile, rename, stat, symlink } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { append, entry, logPath, saved, seqs, snapshot, snapshotPath } from "./states.js";

async function modes(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of ["", ...(await readdir(folder, { recursive: true }))]) {
    found[name] = ((await stat(path.join(folder, name))).mode & 0o777).toString(8);
  }
  return found;
}

describe("files are their owner's alone", () => {
  it.each([0o000, 0o022, 0o277, 0o777])("with umask %o", async (umask) => {
    const root = await tempFolder();
    const before = process.umask(umask);
    onTestFinished(() => void process.umask(before));
    const store = new FileStore(path.join(root, "deep", "store"));
    await saved(store, "a", 2);
    await append(logPath(store, "a"), "half a rec");
    await store.write("a", [entry(2)], snapshot());
    await store.unlock("a");
    const found = await modes(path.join(root, "deep"));
    expect(found).toEqual({
      "": "700",
      store: "700",
      "store/.stamp": "600",
      "store/a": "700",
      "store/a/lock": "600",
      "store/a/log.jsonl": "600",
      "store/a/log.jsonl.torn-1": "600",
      "store/a/snapshot.json": "600",
    });
  });

  it("what was opened up is closed again by the next save", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    await chmod(path.join(store.key, "a"), 0o755);
    for (const name of ["log.jsonl", "snapshot.json", "lock"]) await chmod(path.join(store.key, "a", name), 0o644);
    await store.write("a", [entry(1)], snapshot());
    await store.unlock("a");
    expect(await modes(path.join(store.key, "a"))).toEqual({
      "": "700",
      lock: "600",
      "log.jsonl": "600",
      "snapshot.json": "600",
    });
  });

  it("a folder that was there before us keeps its mode", async () => {
    const root = path.join(await tempFolder(), "shared");
    await mkdir(root, { mode: 0o755 });
    await chmod(root, 0o755);
    await saved(new FileStore(root), "a", 1);
    expect((await stat(root)).mode & 0o777).toBe(0o755);
  });
});

describe("links stay links", () => {
  it("the files that they lead to get what is saved", async () => {
    const root = await tempFolder();
    const store = new FileStore(path.join(root, "store"));
    await saved(store, "a", 1);
    const elsewhere = path.join(root, "elsewhere");
    await mkdir(elsewhere);
    for (const file of [logPath(store, "a"), snapshotPath(store, "a")]) {
      const target = path.join(elsewhere, path.basename(file));
      await rename(file, target);
      await symlink(target, file);
    }
    await store.write("a", [entry(1)], snapshot({ task: "through the link" }));
    await store.unlock("a");
    for (const file of [logPath(store, "a"), snapshotPath(store, "a")])
      expect((await lstat(file)).isSymbolicLink()).toBe(true);
    expect(await readFile(path.join(elsewhere, "snapshot.json"), "utf8")).toContain("through the link");
    expect(await readdir(elsewhere)).toEqual(["log.jsonl", "snapshot.json"]);
    expect(await seqs(store, "a")).toEqual([0, 1]);
  });

  it("the folder of a conversation, and that of the store", async () => {
    const root = await tempFolder();
    await mkdir(path.join(root, "real"));
    await symlink(path.join(root, "real"), path.join(root, "link"));
    const store = new FileStore(path.join(root, "link"));
    await saved(store, "a", 1);
    await rename(path.join(root, "real", "a"), path.join(root, "moved"));
    await symlink(path.join(root, "moved"), path.join(root, "real", "a"));
    await store.write("a", [entry(1)], snapshot());
    await store.unlock("a");
    expect((await store.list()).map(({ id, problem }) => [id, problem])).toEqual([["a", undefined]]);
    expect((await lstat(path.join(root, "link"))).isSymbolicLink()).toBe(true);
    await store.delete("a");
    expect(await readdir(path.join(root, "moved"))).toContain("log.jsonl");
    expect(await store.list()).toEqual([]);
  });
});
