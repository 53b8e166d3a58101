import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { entry, logPath, saved, snapshot, snapshotPath } from "./states.js";

describe("the list of conversations", () => {
  it("is empty for a folder that is not there, and does not make it", async () => {
    const folder = path.join(await tempFolder(), "not", "there");
    const store = new FileStore(folder);
    expect(await store.list()).toEqual([]);
    expect(await store.read("a")).toBeUndefined();
    await expect(store.delete("a")).rejects.toMatchObject({ code: "STATE_NOT_FOUND" });
    const { access } = await import("node:fs/promises");
    await expect(access(folder)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("shows what each is, from the snapshot", async () => {
    const store = new FileStore(await tempFolder());
    await store.write(
      "a",
      [entry(0)],
      snapshot({ task: "find it", name: "search", stoppedBy: "answered", usage: { in: 1 }, historyLength: 1 }),
      {
        create: true,
      },
    );
    await store.unlock("a");
    expect(await store.list()).toEqual([
      {
        id: "a",
        task: "find it",
        name: "search",
        createdAt: "2026-01-02T03:04:05.678Z",
        updatedAt: expect.stringMatching(/^20.*Z$/),
        stoppedBy: "answered",
        historyLength: 1,
        snapshot: snapshot({
          task: "find it",
          name: "search",
          stoppedBy: "answered",
          usage: { in: 1 },
          historyLength: 1,
        }),
      },
    ]);
  });

  it("one damaged conversation is a row that says so, and hides no other", async () => {
    const store = new FileStore(await tempFolder());
    const damage: Record<string, () => Promise<void>> = {
      nuls: () => writeFile(logPath(store, "nuls"), "\0".repeat(413)),
      empty: () => writeFile(logPath(store, "empty"), ""),
      other: () => writeFile(logPath(store, "other"), '{"x":1}'),
      newer: () => writeFile(logPath(store, "newer"), '{"format":2}\n'),
      "newer-snapshot": () => writeFile(snapshotPath(store, "newer-snapshot"), '{"format":2}\n'),
      moved: () => writeFile(logPath(store, "moved"), '{"format":1,"id":"../../victim"}\n'),
    };
    for (const id of ["good-1", ...Object.keys(damage), "good-2"]) await saved(store, id, 2);
    for (const spoil of Object.values(damage)) await spoil();
    await mkdir(path.join(store.key, "folder-of-somebody"));
    const rows = await store.list();
    expect(rows.filter(({ problem }) => problem === undefined).map(({ id }) => id)).toEqual(["good-2", "good-1"]);
    const bad = rows.filter(({ problem }) => problem !== undefined);
    expect(bad.map(({ id }) => id).sort()).toEqual([...Object.keys(damage), "folder-of-somebody"].sort());
    for (const { id, problem } of bad) {
      expect(problem).toContain(path.join(store.key, id));
      expect(problem).not.toContain("\n");
      await expect(store.read(id)).rejects.toMatchObject({ code: expect.stringMatching(/^STATE_/) });
    }
  });

  it("passes over what cannot be a conversation", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    await mkdir(path.join(store.key, "not an id"));
    await mkdir(path.join(store.key, ".git"));
    await mkdir(path.join(store.key, "x".repeat(129)));
    await writeFile(path.join(store.key, "README"), "a file");
    expect((await store.list()).map(({ id }) => id)).toEqual(["a"]);
    expect(await store.read("README")).toBeUndefined();
  });

  it("a file that may not be read is named with the way out, and hides no other", async () => {
    const store = new FileStore(await tempFolder());
    for (const id of ["log", "snapshot", "folder", "good"]) await saved(store, id, 1);
    await chmod(logPath(store, "log"), 0);
    await chmod(snapshotPath(store, "snapshot"), 0);
    await chmod(path.join(store.key, "folder"), 0);
    onTestFinished(() => chmod(path.join(store.key, "folder"), 0o700));
    await asOrdinaryUser(store.key, async () => {
      const rows = await store.list();
      expect(rows.map(({ id, problem }) => [id, problem === undefined])).toEqual(
        expect.arrayContaining([
          ["good", true],
          ["log", false],
          ["snapshot", false],
          ["folder", false],
        ]),
      );
      for (const id of ["log", "snapshot", "folder"]) {
        await expect(store.read(id)).rejects.toMatchObject({
          code: "STATE_UNREADABLE",
          problem: expect.stringContaining(path.join(store.key, id)),
          fix: expect.stringContaining("chmod"),
        });
      }
    });
  });
});

/** The superuser may read everything: so as somebody else, when these tests are run by it. */
async function asOrdinaryUser(folder: string, task: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return task();
  const { readdir } = await import("node:fs/promises");
  const nobody = 65534;
  for (const name of ["", ...(await readdir(folder, { recursive: true }))])
    await chown(path.join(folder, name), nobody, nobody);
  process.seteuid?.(nobody);
  try {
    await task();
  } finally {
    process.seteuid?.(0);
  }
}
