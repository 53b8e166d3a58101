import { copyFile, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { append, entry, logPath, saved, seqs, snapshot } from "./states.js";

describe("a conversation that was changed from outside while it was open", () => {
  const changes: Record<string, (store: FileStore) => Promise<void>> = {
    "a line was added": (store) => append(logPath(store, "a"), `${JSON.stringify(entry(2))}\n`),
    "the log was replaced by a copy": async (store) => {
      await copyFile(logPath(store, "a"), `${logPath(store, "a")}.copy`);
      await rename(`${logPath(store, "a")}.copy`, logPath(store, "a"));
    },
    "the log was removed": (store) => rm(logPath(store, "a")),
    "the folder was removed": (store) => rm(path.join(store.key, "a"), { recursive: true }),
  };

  it.each(Object.entries(changes))(
    "%s: saves are refused with the reason, each time, and change nothing",
    async (_, change) => {
      const store = new FileStore(await tempFolder());
      await saved(store, "a", 1);
      await store.write("a", [entry(1)], undefined);
      await change(store);
      const before = await readFile(logPath(store, "a"), "utf8").catch(() => "gone");
      for (const write of [
        () => store.write("a", [entry(2)], undefined),
        () => store.write("a", [entry(2)], snapshot({ task: "new" })),
        () => store.write("a", [], snapshot({ task: "new" })),
      ]) {
        await expect(write()).rejects.toMatchObject({
          code: "STATE_CHANGED_OUTSIDE",
          problem: expect.stringContaining(path.join(store.key, "a")),
        });
      }
      expect(await readFile(logPath(store, "a"), "utf8").catch(() => "gone")).toBe(before);
      expect((await store.read("a").catch(() => undefined))?.snapshot?.task).not.toBe("new");
      await store.unlock("a");
    },
  );

  it("can be saved to again when it was closed and opened", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    await store.write("a", [entry(1)], undefined);
    await append(logPath(store, "a"), `${JSON.stringify(entry(2))}\n`);
    await expect(store.write("a", [entry(2)], undefined)).rejects.toMatchObject({ code: "STATE_CHANGED_OUTSIDE" });
    await store.unlock("a");
    await store.write("a", [entry(3)], undefined);
    await store.unlock("a");
    expect(await seqs(store, "a")).toEqual([0, 1, 2, 3]);
  });

  it("is noticed when its folder went between lock and first save", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    await store.lock("a");
    await rm(path.join(store.key, "a"), { recursive: true });
    await expect(store.write("a", [entry(1)], undefined)).rejects.toMatchObject({ code: "STATE_CHANGED_OUTSIDE" });
    await store.write("a", [entry(0)], snapshot(), { create: true });
    expect(await seqs(store, "a")).toEqual([0]);
    await store.unlock("a");
  });
});
