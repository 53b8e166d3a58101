import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { OtherProcess } from "./other-process.js";
import { entry, saved, seqs, snapshot } from "./states.js";

describe("a store without locks", () => {
  it("saves, loads, lists and deletes", async () => {
    const store = new FileStore(await tempFolder(), { lock: "none" });
    await saved(store, "a", 3);
    await store.write("a", [entry(3)], snapshot());
    expect(await seqs(store, "a")).toEqual([0, 1, 2, 3]);
    expect(await store.list()).toHaveLength(1);
    await store.delete("a");
    expect(await store.list()).toEqual([]);
  });

  it("is not kept out by a holder, and writes nothing over what that one wrote meanwhile", async () => {
    const root = await tempFolder();
    const store = new FileStore(root, { lock: "none" });
    await saved(store, "a", 1);
    const other = await OtherProcess.start(root);
    await other.call("write", "a", [entry(1)]);
    await store.write("a", [entry(2)], undefined);
    await expect(other.call("write", "a", [entry(2)])).rejects.toMatchObject({ code: "STATE_CHANGED_OUTSIDE" });
    expect(await seqs(store, "a")).toEqual([0, 1, 2]);
  });

  it("leaves alone what another process may be making", async () => {
    const root = await tempFolder();
    const made = path.join(root, ".new-b-0a1b2c");
    mkdirSync(made);
    writeFileSync(path.join(made, "lock"), "");
    await saved(new FileStore(root, { lock: "none" }), "a", 1);
    expect(existsSync(made)).toBe(true);
  });
});
