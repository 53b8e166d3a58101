import { cp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { OtherProcess } from "./other-process.js";
import { entry, logPath, saved, snapshot, snapshotPath } from "./states.js";

const dayMs = 24 * 60 * 60 * 1000;

async function order(store: FileStore): Promise<string[]> {
  return (await store.list()).map(({ id }) => id);
}

describe("the most recently updated conversation comes first", () => {
  it("by the last write, whether it was an entry or a snapshot", async () => {
    const store = new FileStore(await tempFolder());
    for (const id of ["a", "b", "c"]) await saved(store, id, 1);
    expect(await order(store)).toEqual(["c", "b", "a"]);
    await store.write("a", [entry(1)], undefined);
    await store.write("b", [], snapshot());
    expect(await order(store)).toEqual(["b", "a", "c"]);
    await store.write("a", [entry(2)], snapshot());
    expect(await order(store)).toEqual(["a", "b", "c"]);
  });

  it("after the clock was set back or forth", async () => {
    let now = Date.now();
    const store = new FileStore(await tempFolder(), { clock: () => now });
    await saved(store, "a", 1);
    now += 10 * dayMs;
    await saved(store, "b", 1);
    now -= 20 * dayMs;
    await saved(store, "c", 1);
    expect(await order(store)).toEqual(["c", "b", "a"]);
    now -= dayMs;
    await store.write("a", [entry(1)], undefined);
    expect(await order(store)).toEqual(["a", "c", "b"]);
  });

  it("when processes with clocks of their own take turns", async () => {
    const root = await tempFolder();
    const ahead = await OtherProcess.start(root, 5 * dayMs);
    const behind = await OtherProcess.start(root, -5 * dayMs);
    const store = new FileStore(root);
    await ahead.call("write", "ahead", [entry(0)], snapshot(), { create: true });
    await behind.call("write", "behind", [entry(0)], snapshot(), { create: true });
    expect(await order(store)).toEqual(["behind", "ahead"]);
    for (let seq = 1; seq < 4; seq++) {
      await ahead.call("write", "ahead", [entry(seq)]);
      expect((await order(store))[0]).toBe("ahead");
      await behind.call("write", "behind", [entry(seq)]);
      expect((await order(store))[0]).toBe("behind");
    }
  });

  it.each([undefined, "", "{", '{"stamp":5}', '{"stamp":5,"boot":"another start of the computer"}'])(
    "when the shared stamp says %j: the conversations are looked through once",
    async (content) => {
      const root = await tempFolder();
      const ahead = await OtherProcess.start(root, 5 * dayMs);
      await ahead.call("write", "ahead", [entry(0)], snapshot(), { create: true });
      await ahead.call("write", "ahead", [entry(1)]);
      if (content === undefined) await rm(path.join(root, ".stamp"));
      else await writeFile(path.join(root, ".stamp"), content);
      const store = new FileStore(root);
      await saved(store, "now", 1);
      expect(await order(store)).toEqual(["now", "ahead"]);
    },
  );

  it("after touch, and in a copy of the whole folder", async () => {
    const root = await tempFolder();
    const store = new FileStore(path.join(root, "store"));
    for (const id of ["a", "b"]) await saved(store, id, 1);
    await store.write("a", [entry(1)], undefined);
    await store.unlock("a");
    const later = new Date(Date.now() + dayMs);
    await utimes(logPath(store, "b"), later, later);
    await utimes(snapshotPath(store, "b"), later, later);
    await utimes(path.join(store.key, "b"), later, later);
    expect(await order(store)).toEqual(["a", "b"]);
    await cp(store.key, path.join(root, "copy"), { recursive: true });
    expect(await order(new FileStore(path.join(root, "copy")))).toEqual(["a", "b"]);
  });

  it("says when that was, and does not move what was only looked at", async () => {
    let now = Date.parse("2026-03-04T05:06:07.000Z");
    const store = new FileStore(await tempFolder(), { clock: () => now });
    await saved(store, "a", 0);
    now += 1000;
    await store.write("a", [entry(0)], undefined);
    await store.unlock("a");
    now += dayMs;
    const files = await Promise.all(
      [logPath(store, "a"), snapshotPath(store, "a")].map((file) => readFile(file, "utf8")),
    );
    await store.lock("a");
    await store.read("a");
    await store.unlock("a");
    await store.list();
    expect((await store.list())[0]?.updatedAt).toBe("2026-03-04T05:06:08.000Z");
    expect(
      await Promise.all([logPath(store, "a"), snapshotPath(store, "a")].map((file) => readFile(file, "utf8"))),
    ).toEqual(files);
  });

  it("when the last write is longer than one look at the log's end", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    await saved(store, "b", 1);
    await store.write("a", [entry(1), entry(2, { text: "x".repeat(300_000) })], undefined);
    expect((await store.list())[0]).toMatchObject({ id: "a", historyLength: 3 });
  });
});
