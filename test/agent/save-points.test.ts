import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import type { AgentEvent } from "../../src/agent/events.js";
import { State } from "../../src/agent/state.js";
import { FileStore } from "../../src/index.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { copyOfStore, expectSound, FaultyStore, gate, kinds, makeFolder, makeStore, tool } from "./support.js";

describe("when the agent saves", () => {
  it("has the person's message on disk before the request goes out", async () => {
    const { store, root } = makeStore();
    let found: string[] = [];
    const model = new ScriptedModel([
      async () => {
        const state = await copyOfStore(root).load("talk");
        found = state.history.flatMap((entry) => (entry.kind === "user" ? [entry.text] : []));
        return "hello";
      },
    ]);
    const answer = await new Agent({ model, store }).run(new State("MARK-1", { id: "talk" }));
    expect(answer).toBe("hello");
    expect(found).toEqual(["MARK-1"]);
  });

  it("has everything on disk when run returns", async () => {
    const { store, root } = makeStore();
    const state = new State("hi", { data: { count: 1 } });
    const model = new ScriptedModel([{ calls: [{ name: "look" }] }, "done"]);
    await new Agent({ model, store, tools: [tool("look", () => "seen")] }).run(state);
    const loaded = await copyOfStore(root).load(state.id);
    expect(loaded.history).toEqual(state.history);
    expect(loaded.context).toEqual(state.context);
    expect(loaded.data).toEqual({ count: 1 });
    expect(loaded.usage).toEqual(state.usage);
    expect(loaded.stoppedBy).toBe("answered");
    expect(loaded.answer).toBe("done");
    expect(loaded.turn).toBe(1);
    expect(loaded.cutOffTurn).toBeUndefined();
    expectSound(loaded);
  });

  it("has a tool's result on disk while another tool of the same turn still runs", async () => {
    const { store, root } = makeStore();
    const firstSaved = gate();
    const model = new ScriptedModel([{ calls: [{ name: "fast" }, { name: "slow" }] }, "done"]);
    const state = new State("go", { id: "two" });
    let atSlow: string[] = [];
    const agent = new Agent({
      model,
      store,
      tools: [
        tool("fast", () => "FAST"),
        tool("slow", async () => {
          await firstSaved.promise;
          const { entries } = (await copyOfStore(root).read("two")) ?? { entries: [] };
          atSlow = entries.flatMap((entry) => (entry.kind === "result" ? [String(entry.text)] : []));
          return "SLOW";
        }),
      ],
      onEvent: (event) => {
        const last = state.history[state.savedLength - 1];
        if (event.type === "saved" && last?.kind === "result") firstSaved.open();
      },
    });
    await agent.run(state);
    expect(atSlow).toEqual(["FAST"]);
  });

  it("has the start of a call on disk before the tool runs, and one save for calls that start together", async () => {
    const { store, root } = makeStore();
    const faulty = new FaultyStore(store);
    const model = new ScriptedModel([{ calls: [{ name: "a" }, { name: "b" }] }, "done"]);
    const started: string[][] = [];
    const look = async () => {
      const { entries } = (await copyOfStore(root).read("s")) ?? { entries: [] };
      started.push(entries.flatMap((entry) => (entry.kind === "call_started" ? [String(entry.callId)] : [])));
      return "x";
    };
    const agent = new Agent({ model, store: faulty, tools: [tool("a", look), tool("b", look)] });
    const state = new State("go", { id: "s" });
    await agent.run(state);
    const ids = state.history.flatMap((entry) => (entry.kind === "call_started" ? [entry.callId] : []));
    expect(started).toEqual([ids, ids]);
    expect(faulty.writes.filter((write) => kinds(write.entries).includes("call_started"))).toHaveLength(1);
  });

  it("writes only what is new, each entry once, with a snapshot only at the start and the end of the run", async () => {
    const { store } = makeStore();
    const faulty = new FaultyStore(store);
    const model = new ScriptedModel([{ calls: [{ name: "look" }] }, "done", "again"]);
    const agent = new Agent({ model, store: faulty, tools: [tool("look", () => "seen")] });
    const state = new State("hi");
    await agent.run(state);
    expect(faulty.writes.flatMap((write) => write.entries.map((entry) => entry.seq))).toEqual(
      state.history.map((entry) => entry.seq),
    );
    expect(faulty.writes.map((write) => kinds(write.entries))).toEqual([
      ["user", "run_start"],
      ["request"],
      ["reply"],
      ["call_started"],
      ["result"],
      ["request"],
      ["reply"],
      ["run_end"],
    ]);
    expect(faulty.writes.map((write) => write.snapshot !== undefined)).toEqual([
      ...[true, false, false, false, false, false, false, true],
    ]);
    expect(faulty.writes.map((write) => write.create)).toEqual([true, ...Array<boolean>(7).fill(false)]);
  });

  it("writes nothing when nothing changed", async () => {
    const { store } = makeStore();
    const faulty = new FaultyStore(store);
    const agent = new Agent({ model: new ScriptedModel(["hello"]), store: faulty });
    const state = new State("hi");
    await agent.run(state);
    const writes = faulty.writes.length;
    await agent.save(state);
    await agent.useTools(state);
    expect(await agent.run(state)).toBe("hello");
    expect(faulty.writes).toHaveLength(writes);
    const loaded = await store.load(state.id);
    await agent.save(loaded);
    expect(faulty.writes).toHaveLength(writes);
  });

  it("saves a message at once with agent.save, and the next run answers it", async () => {
    const { store, root } = makeStore();
    const agent = new Agent({ model: new ScriptedModel(["one", "two"]), store });
    const state = new State("first");
    await agent.run(state);
    state.addUserMessage("second");
    await agent.save(state);
    const loaded = await copyOfStore(root).load(state.id);
    expect(loaded.cutOffTurn).toEqual({ turn: 2, cause: "not run", continued: false });
    expect(await agent.run(state)).toBe("two");
  });

  it("saves around each think and after use_tools also without run", async () => {
    const { store, root } = makeStore();
    const model = new ScriptedModel([{ calls: [{ name: "look" }] }, "done"]);
    const agent = new Agent({ model, store, tools: [tool("look", () => "seen")] });
    const state = new State("hi");
    await agent.think(state);
    await agent.useTools(state);
    await agent.think(state);
    const loaded = await copyOfStore(root).load(state.id);
    expect(loaded.history).toEqual(state.history);
    expect(loaded.answer).toBe("done");
  });

  it("saves everything also when there is nothing for the loop to do", async () => {
    const { store, root } = makeStore();
    const agent = new Agent({ model: new ScriptedModel(["hello"]), store });
    const state = new State("hi");
    await agent.run(state);
    state.addShell("ls", "x", 0);
    await agent.run(state);
    expect(kinds((await copyOfStore(root).load(state.id)).history).at(-1)).toBe("shell");
  });
});

describe("an id", () => {
  it("that the store has is refused before the first request", async () => {
    const { store } = makeStore();
    await new Agent({ model: new ScriptedModel(["hello"]), store }).run(new State("hi", { id: "review-pr-42" }));
    const model = new ScriptedModel(["never"]);
    const again = new Agent({ model, store }).run(new State("other", { id: "review-pr-42" }));
    await expect(again).rejects.toMatchObject({ code: "STATE_EXISTS" });
    expect(model.requests).toEqual([]);
    expect((await store.load("review-pr-42")).task).toBe("hi");
  });

  it("is made of letters that are not mixed up, when none is given", () => {
    const ids = Array.from({ length: 200 }, () => new State().id);
    for (const id of ids) expect(id).toMatch(/^[a-hjkmnp-z2-9]{8}$/);
    expect(new Set(ids).size).toBe(200);
  });

  it("with anything but letters, digits, _ and -, or too long, is refused", () => {
    for (const id of ["", "a b", "../x", "é", "x".repeat(129)]) {
      expect(() => new State("hi", { id })).toThrow(expect.objectContaining({ code: "STATE_ID_INVALID" }));
    }
    expect(new State("hi", { id: "x".repeat(128) }).id).toHaveLength(128);
  });
});

describe("a State and its store", () => {
  it("is refused by an agent with another store, and taken by one with the same folder", async () => {
    const { store, root } = makeStore();
    const state = new State("hi");
    await new Agent({ model: new ScriptedModel(["one"]), store }).run(state);
    state.addUserMessage("more");
    const other = new Agent({ model: new ScriptedModel([]), store: new FileStore(makeFolder()) });
    await expect(other.run(state)).rejects.toMatchObject({ code: "STATE_OTHER_STORE" });
    await expect(other.save(state)).rejects.toMatchObject({ code: "STATE_OTHER_STORE" });
    const same = new Agent({ model: new ScriptedModel(["two"]), store: new FileStore(root) });
    expect(await same.run(state)).toBe("two");
  });

  it("belongs to the store it was loaded from", async () => {
    const { store } = makeStore();
    const state = new State("hi");
    await new Agent({ model: new ScriptedModel(["one"]), store }).run(state);
    const loaded = await store.load(state.id);
    loaded.addUserMessage("more");
    const other = new Agent({ model: new ScriptedModel([]), store: new FileStore(makeFolder()) });
    await expect(other.run(loaded)).rejects.toMatchObject({ code: "STATE_OTHER_STORE" });
  });

  it("says which conversation is not there", async () => {
    const { store } = makeStore();
    await expect(store.load("nosuch")).rejects.toMatchObject({
      code: "STATE_NOT_FOUND",
      message: expect.stringContaining("nosuch"),
    });
  });

  it("tells a listener of entries, saves and the end, in order", async () => {
    const { store } = makeStore();
    const events: AgentEvent[] = [];
    await new Agent({ model: new ScriptedModel(["hello"]), store, onEvent: (event) => events.push(event) }).run("hi");
    expect(events.map((event) => (event.type === "entry" ? event.entry.kind : `(${event.type})`))).toEqual([
      ...[
        "run_start",
        "(saved)",
        "request",
        "(saved)",
        "(text)",
        "reply",
        "(saved)",
        "(reply)",
        "run_end",
        "(run_end)",
        "(saved)",
      ],
    ]);
  });
});
