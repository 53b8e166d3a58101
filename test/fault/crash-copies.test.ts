import { cpSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { State } from "../../src/agent/state.js";
import type { Tool } from "../../src/agent/tool.js";
import { FileStore } from "../../src/store/file-store.js";
import type { Store } from "../../src/store/store.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { tempFolder } from "../support/temp-folder.js";
import { foldEqualsContext, listAgreesWithRead, noGapNoRepeat, noOpenCall, resumeThenReopen } from "./invariants.js";

interface Copy {
  readonly moment: string;
  readonly root: string;
  /** What the agent had been told is saved. */
  readonly acknowledged: number;
}

/** Copies of the store's folder, each made while something was going on: what a process that dies then leaves. */
class Copies {
  readonly made: Copy[] = [];

  constructor(
    private readonly folder: string,
    private readonly root: string,
    private readonly state: State,
  ) {}

  make(moment: string): void {
    const copy = path.join(this.folder, `copy-${this.made.length}`);
    cpSync(this.root, copy, { recursive: true });
    this.made.push({ moment, root: copy, acknowledged: this.state.savedLength });
  }
}

/** A store that also makes a copy after each of its saves, before it says so. */
function copying(store: FileStore, copies: Copies): Store {
  return {
    key: store.key,
    read: store.read.bind(store),
    lock: store.lock.bind(store),
    unlock: store.unlock.bind(store),
    async write(...args) {
      copies.make("before a save");
      await store.write(...args);
      copies.make("after a save, before it is told");
    },
  };
}

describe("a copy of the folder, made in the middle of things", () => {
  it("of tools, model requests, compaction and every save: opens, with everything saved, and goes on", {
    timeout: 60_000,
  }, async () => {
    const folder = await tempFolder();
    const root = path.join(folder, "store");
    const state = new State("MARK-1", { id: "a" });
    const store = new FileStore(root);
    await store.write("another", [], { task: "", createdAt: "", historyLength: 0 }, { create: true });
    const copies = new Copies(folder, root, state);
    const tool = (name: string): Tool => ({
      name,
      description: name,
      inputSchema: { type: "object" },
      parse: (input) => input,
      run: async () => {
        copies.make(`in the tool ${name}`);
        return { text: `${name} done` };
      },
    });
    const asked = (text: string) => () => {
      copies.make("in a model request");
      return text;
    };
    const model = new ScriptedModel([
      () => {
        copies.make("in a model request");
        return { text: "I look.", calls: [{ name: "one" }, { name: "two" }, { name: "one" }] };
      },
      asked("looked"),
      asked("again"),
      () => {
        copies.make("in a compaction");
        return "the summary";
      },
      asked("after it"),
    ]);
    const agent = new Agent({ model, store: copying(store, copies), tools: [tool("one"), tool("two")] });
    await agent.run(state);
    state.addUserMessage("MARK-2");
    await agent.run(state);
    await agent.compact(state);
    state.addUserMessage("MARK-3");
    await agent.run(state);
    await agent.release(state);

    const moments = new Set(copies.made.map(({ moment }) => moment));
    expect([...moments].sort()).toEqual([
      "after a save, before it is told",
      "before a save",
      "in a compaction",
      "in a model request",
      "in the tool one",
      "in the tool two",
    ]);
    for (const copy of copies.made) {
      const reopened = new FileStore(copy.root);
      const rows = await reopened.list();
      const record = await reopened.read("a");
      if (copy.acknowledged === 0 && record === undefined) continue;
      expect(record?.entries.length, copy.moment).toBeGreaterThanOrEqual(copy.acknowledged);
      expect(record?.entries, copy.moment).toEqual(
        JSON.parse(JSON.stringify(state.history.slice(0, record?.entries.length))),
      );
      if (record === undefined) continue;
      noGapNoRepeat(record, "a");
      await listAgreesWithRead(reopened, rows, "a");
      const loaded = State.fromRecord("a", record);
      noOpenCall(loaded);
      foldEqualsContext(loaded);
      await resumeThenReopen(() => new FileStore(copy.root), "a");
      expect(readdirSync(path.join(copy.root, "a")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    }
  });
});
