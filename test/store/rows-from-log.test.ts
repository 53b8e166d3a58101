import { open, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { loadState } from "../../src/agent/load-state.js";
import { State } from "../../src/agent/state.js";
import { FileStore } from "../../src/store/file-store.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { tempFolder } from "../support/temp-folder.js";
import { append, entry, logPath, saved, snapshotPath } from "./states.js";

async function talked(): Promise<FileStore> {
  const store = new FileStore(await tempFolder());
  const state = new State("find the bug", { id: "a" });
  const agent = new Agent({ model: new ScriptedModel(["which one?", "found"]), store });
  state.record({ kind: "folder", cwd: "/work" });
  await agent.run(state);
  state.addUserMessage("the one in the lexer");
  await agent.run(state);
  state.rename("lexer");
  await agent.save(state);
  await agent.release(state);
  return store;
}

/** What a row says and what the loaded conversation says of the same things. */
async function expectAgreement(store: FileStore, id: string): Promise<void> {
  const row = (await store.list()).find((each) => each.id === id);
  const state = await loadState(store, id);
  expect(row).not.toHaveProperty("problem");
  expect(row).toMatchObject({ task: state.task, name: state.name, historyLength: state.savedLength });
  expect(row?.stoppedBy).toBe(state.stoppedBy);
  const { messageCount, turn, cwd, model } = state;
  expect(row?.snapshot).toMatchObject({ messageCount, turn, cwd, model });
}

describe("a row of the list when the snapshot cannot be used", () => {
  const contents = ["", "\0\0\0\0", "{", "[]", '{"format":1}', '{"format":1,"stamp":"x","logBytes":null}'];
  it.each(contents)("%j: says what the log says", async (content) => {
    const store = await talked();
    await writeFile(snapshotPath(store, "a"), content);
    await expectAgreement(store, "a");
    expect(await store.list()).toMatchObject([
      { task: "find the bug", name: "lexer", snapshot: { messageCount: 2, cwd: "/work" } },
    ]);
  });

  it("it is missing: the same", async () => {
    const store = await talked();
    const [before] = await store.list();
    await rm(snapshotPath(store, "a"));
    await expectAgreement(store, "a");
    expect((await store.list())[0]?.updatedAt).toBe(before?.updatedAt);
  });

  it("fields of it have another type: it is not used", async () => {
    const store = await talked();
    const document = JSON.parse(await readFile(snapshotPath(store, "a"), "utf8"));
    for (const spoiled of [
      { ...document, snapshot: { ...document.snapshot, task: 7 } },
      { ...document, snapshot: { ...document.snapshot, name: ["x"] } },
      { ...document, snapshot: { ...document.snapshot, historyLength: -1 } },
      { ...document, entries: -3 },
      { ...document, logBytes: 1.5 },
    ]) {
      await writeFile(snapshotPath(store, "a"), JSON.stringify(spoiled));
      expect((await store.read("a"))?.damage).toMatchObject([{ path: snapshotPath(store, "a") }]);
      await expectAgreement(store, "a");
    }
  });
});

describe("a row of the list when the log goes beyond the snapshot", () => {
  it("says what the entries after it say", async () => {
    const store = await talked();
    const length = (await store.read("a"))?.entries.length ?? 0;
    await store.write(
      "a",
      [
        entry(length, { kind: "user", text: "and now?", turn: 3 }),
        entry(length + 1, { kind: "renamed", name: "parser", turn: 3 }),
      ],
      undefined,
    );
    await store.unlock("a");
    await expectAgreement(store, "a");
    expect(await store.list()).toMatchObject([{ name: "parser", snapshot: { messageCount: 3, turn: 3 } }]);
  });

  it("also when the log was cut in the middle of a record, or before what the snapshot knows", async () => {
    const store = await talked();
    await append(logPath(store, "a"), '{"seq":99,"at":"20');
    await expectAgreement(store, "a");
    const bytes = await readFile(logPath(store, "a"));
    await truncate(logPath(store, "a"), bytes.lastIndexOf(10, bytes.length - 200) + 1);
    await expectAgreement(store, "a");
  });

  it("also when its beginning is damaged", async () => {
    const store = await talked();
    const file = await open(logPath(store, "a"), "r+");
    await file.write("\0".repeat(10), 0);
    await file.close();
    await expectAgreement(store, "a");
  });

  it("a name that was taken away again is away", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 0);
    await store.write(
      "a",
      [entry(0, { kind: "renamed", name: "x" }), entry(1, { kind: "renamed", name: "" })],
      undefined,
    );
    await store.unlock("a");
    expect((await store.list())[0]).toMatchObject({ name: undefined, historyLength: 2 });
  });
});
