import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { defineTool } from "../../src/agent/define-tool.js";
import type { EntryBody } from "../../src/agent/entries.js";
import { loadState } from "../../src/agent/load-state.js";
import { State } from "../../src/agent/state.js";
import { snapshotDifferences, snapshotFromLog } from "../../src/session/snapshot-differences.js";
import type { Entry, Snapshot } from "../../src/store/store.js";
import { MemoryStore } from "../../src/testing/memory-store.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";

const usage = { inputTokens: 3, outputTokens: 4 };

/** A store that looks at every snapshot when it is saved. */
class LookingStore extends MemoryStore {
  readonly differences: string[] = [];
  snapshots = 0;

  override async write(
    id: string,
    entries: readonly Entry[],
    snapshot: Snapshot | undefined,
    options?: { create?: boolean },
  ): Promise<void> {
    await super.write(id, entries, snapshot, options);
    const record = await this.read(id);
    if (snapshot === undefined || record === undefined) return;
    this.snapshots += 1;
    this.differences.push(...snapshotDifferences(id, record.entries, snapshot));
  }
}

describe("the snapshots that an agent saves", () => {
  it("say what the history says, in turns with tools, after a resume, a rename and a failure", async () => {
    const store = new LookingStore();
    const tool = defineTool({
      ...{ name: "touch", description: "", input: {} },
      run: async () => ({ text: "done" }),
    });
    const calls = [{ id: "c", name: "touch", input: {} }];
    const model = new ScriptedModel([
      { text: "I do it", calls },
      { text: "It is done" },
      { error: new Error("no model") },
      { text: "Again" },
    ]);
    const agent = new Agent({ model, store, tools: [tool] });
    const state = new State("MARK-1", { data: { tries: 1 } });
    await agent.run(state);
    state.data.tries = 2;
    state.rename("the parser");
    await agent.save(state);
    await agent.release(state);

    const resumed = await loadState(store, state.id);
    resumed.addUserMessage("MARK-2");
    await agent.run(resumed).catch(() => undefined);
    resumed.addUserMessage("MARK-3");
    resumed.rename("");
    await agent.run(resumed);
    resumed.finish({ ok: true });
    await agent.save(resumed);
    expect(store.snapshots).toBeGreaterThan(5);
    expect(store.differences).toEqual([]);
  });
});

describe("a snapshot that was changed", () => {
  const state = new State("MARK-1", { id: "a", data: { tries: 1 } });
  state.recordData();
  state.record({ kind: "reply", text: "yes", calls: [], model: "m", usage, finish: "stop" } satisfies EntryBody);
  const snapshot = state.snapshot();

  it.each([
    ["task", "alien"],
    ["name", "alien"],
    ["turn", 4],
    ["messageCount", 2],
    ["finished", true],
    ["usage", { ...usage, cachedInputTokens: 0, requests: 9 }],
    ["data", { tries: 2 }],
    ["stoppedBy", "answered"],
  ])("differs in its %s", (field, value) => {
    expect(snapshotDifferences("a", state.history, snapshot)).toEqual([]);
    const differences = snapshotDifferences("a", state.history, { ...snapshot, [field]: value });
    expect(differences).toEqual([expect.stringMatching(new RegExp(`^${field} is `))]);
  });

  it("is not judged by entries that were lost, or that this version does not know", () => {
    const alien = { ...snapshot, messageCount: 2 };
    const unknown = state.history.map((entry) =>
      entry.kind === "data" ? { ...entry, kind: "from-the-future" } : entry,
    );
    expect(snapshotDifferences("a", unknown, alien)).toEqual([]);
    expect(snapshotDifferences("a", state.history.slice(0, 1), alien)).toEqual([]);
    expect(
      snapshotDifferences(
        "a",
        state.history.filter(({ seq }) => seq !== 1),
        alien,
      ),
    ).toEqual([]);
  });

  it("can be made anew from the log", () => {
    const made = snapshotFromLog("a", state.history, snapshot.createdAt);
    expect(made).toEqual(snapshot);
  });
});
