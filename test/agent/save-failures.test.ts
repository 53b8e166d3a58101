import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { UserInterrupt } from "../../src/agent/interrupt.js";
import { addNote, notesOf } from "../../src/agent/notes.js";
import { State } from "../../src/agent/state.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { diskFull, FaultyStore, gate, kinds, makeStore, results, tool } from "./support.js";

function faultyStore(): FaultyStore {
  return new FaultyStore(makeStore().store);
}

describe("when saving fails", () => {
  it("a run that is going well throws the store's own error", async () => {
    const store = faultyStore();
    const error = diskFull();
    store.before = (entries) => {
      if (kinds(entries).includes("reply")) throw error;
    };
    const state = new State("hi");
    await expect(new Agent({ model: new ScriptedModel(["hello"]), store }).run(state)).rejects.toBe(error);
    expect(state.stoppedBy).toBe("error");
  });

  it("makes no request when the start cannot be saved", async () => {
    const store = faultyStore();
    const error = diskFull();
    store.before = () => {
      throw error;
    };
    const model = new ScriptedModel(["hello"]);
    const state = new State("hi");
    const agent = new Agent({ model, store });
    await expect(agent.run(state)).rejects.toBe(error);
    expect(model.requests).toEqual([]);
    expect(notesOf(error)).toEqual([]);
    store.before = () => undefined;
    expect(await agent.run(state)).toBe("hello");
    expect((await store.read(state.id))?.entries).toEqual(state.history);
  });

  it("loses nothing: the next save writes what is missing", async () => {
    const store = faultyStore();
    store.before = (entries) => {
      if (kinds(entries).includes("reply")) throw diskFull();
    };
    const state = new State("hi");
    const agent = new Agent({ model: new ScriptedModel(["hello"]), store });
    await expect(agent.run(state)).rejects.toMatchObject({ code: "ENOSPC" });
    store.before = () => undefined;
    await agent.save(state);
    const saved = await store.read(state.id);
    expect(saved?.entries).toEqual(state.history);
    expect(saved?.snapshot?.historyLength).toBe(state.history.length);
  });

  it("a run that fails already throws its own error, with the failed save as a note", async () => {
    const store = faultyStore();
    const original = Object.assign(new RangeError("429"), { code: "MODEL_RATE_LIMIT" });
    const model = new ScriptedModel([
      () => {
        store.before = () => {
          throw diskFull();
        };
        return { error: original };
      },
    ]);
    const state = new State("hi");
    const caught = await new Agent({ model, store }).run(state).catch((error: unknown) => error);
    expect(caught).toBe(original);
    expect(notesOf(caught)).toEqual(["saving the state also failed: ENOSPC: no space left on device, write"]);
    expect(Object.keys(original)).toEqual(["code"]);
  });

  it("Ctrl+C while saving is thrown instead of the original error", async () => {
    const store = faultyStore();
    const controller = new AbortController();
    const interrupt = new UserInterrupt();
    const model = new ScriptedModel([
      () => {
        store.before = () => controller.abort(interrupt);
        return { error: new Error("the model broke") };
      },
    ]);
    const run = new Agent({ model, store }).run(new State("hi"), { signal: controller.signal });
    await expect(run).rejects.toBe(interrupt);
  });

  it("Ctrl+C ends the wait for a store that hangs", async () => {
    const store = faultyStore();
    const controller = new AbortController();
    const interrupt = new UserInterrupt();
    const hangs = gate();
    store.before = async (entries) => {
      if (!kinds(entries).includes("reply")) return;
      controller.abort(interrupt);
      await hangs.promise;
    };
    const clock = { now: () => 0, sleep: () => Promise.resolve() };
    const state = new State("hi");
    const agent = new Agent({ model: new ScriptedModel(["hello"]), store, clock });
    await expect(agent.run(state, { signal: controller.signal })).rejects.toBe(interrupt);
    expect(notesOf(interrupt)).toEqual(["saving the state also failed: the store does not answer"]);
    hangs.open();
    await agent.save(state);
    expect((await store.read(state.id))?.entries).toEqual(state.history);
  });

  it("after one tool's result, the others go on, and the end of use_tools writes what is missing", async () => {
    const store = faultyStore();
    let failures = 0;
    store.before = (entries) => {
      if (failures === 0 && kinds(entries).includes("result")) {
        failures += 1;
        throw diskFull();
      }
    };
    const failed = gate();
    const model = new ScriptedModel([{ calls: [{ name: "fast" }, { name: "slow" }] }, "done"]);
    const agent = new Agent({
      model,
      store,
      tools: [
        tool("fast", () => "FAST"),
        tool("slow", async () => {
          await failed.promise;
          return "SLOW";
        }),
      ],
      onEvent: (event) => event.type === "save_failed" && failed.open(),
    });
    const state = new State("go");
    expect(await agent.run(state)).toBe("done");
    expect(results(state)).toEqual(["FAST", "SLOW"]);
    expect((await store.read(state.id))?.entries).toEqual(state.history);
  });

  it("at the end of use_tools, it is thrown, and every result is still there", async () => {
    const store = faultyStore();
    const error = diskFull();
    store.before = (entries) => {
      if (kinds(entries).includes("result")) throw error;
    };
    const model = new ScriptedModel([{ calls: [{ name: "a" }, { name: "b" }] }, "never"]);
    const agent = new Agent({ model, store, tools: [tool("a", () => "A"), tool("b", () => "B")] });
    const state = new State("go");
    await expect(agent.run(state)).rejects.toBe(error);
    expect(results(state)).toEqual(["A", "B"]);
    expect(model.requests).toHaveLength(1);
    store.before = () => undefined;
    await agent.save(state);
    expect((await store.read(state.id))?.entries).toEqual(state.history);
  });

  it("before a call starts, the call does not run", async () => {
    const store = faultyStore();
    store.before = (entries) => {
      if (kinds(entries).includes("call_started")) throw diskFull();
    };
    let ran = false;
    const pay = tool("pay", () => {
      ran = true;
      return "paid";
    });
    const agent = new Agent({ model: new ScriptedModel([{ calls: [{ name: "pay" }] }]), store, tools: [pay] });
    const state = new State("go");
    await expect(agent.run(state)).rejects.toMatchObject({ code: "ENOSPC" });
    expect(ran).toBe(false);
    expect(results(state)).toEqual(["(not run: saving failed before this call started)"]);
  });
});

describe("a note on an error", () => {
  it("stays with errors that take no property", () => {
    const frozen = Object.freeze(new Error("x"));
    addNote(frozen, "a note");
    addNote(frozen, "a note");
    expect(notesOf(frozen)).toEqual(["a note"]);
    addNote("just text", "a note");
    expect(notesOf("just text")).toEqual([]);
  });
});
