import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { UserInterrupt } from "../../src/agent/interrupt.js";
import { notesOf } from "../../src/agent/notes.js";
import { State } from "../../src/agent/state.js";
import type { Tool } from "../../src/agent/tool.js";
import { ScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { diskFull, FaultyStore, gate, makeStore, results, tool } from "./support.js";

function setUp(steps: readonly ScriptedStep[], tools: readonly Tool[] = []) {
  const store = new FaultyStore(makeStore().store);
  const failures: unknown[] = [];
  const agent = new Agent({
    model: new ScriptedModel(steps),
    store,
    tools,
    onSaveFailed: "continue",
    onEvent: (event) => event.type === "save_failed" && failures.push(event.error),
  });
  const breakDisk = () => {
    store.before = () => {
      throw diskFull();
    };
  };
  const mendDisk = () => {
    store.before = () => undefined;
  };
  return { agent, store, failures, breakDisk, mendDisk };
}

const reads = (each: Tool): Tool => ({ ...each, access: () => ({ action: "read", inside: true, subject: each.name }) });

describe("an agent that goes on when saving fails", () => {
  it("answers, tells of each failed save, and the next good save writes all of it", async () => {
    const { agent, store, failures, breakDisk, mendDisk } = setUp(["one", "two"]);
    const state = new State("hi");
    breakDisk();
    expect(await agent.run(state)).toBe("one");
    expect(state.savedLength).toBe(0);
    expect(failures.length).toBeGreaterThan(2);
    mendDisk();
    state.addUserMessage("again");
    expect(await agent.run(state)).toBe("two");
    expect(state.savedLength).toBe(state.history.length);
    expect((await store.read(state.id))?.entries).toEqual(state.history);
  });

  it("runs no call whose start is not durable, but the ones that only read", async () => {
    const ran: string[] = [];
    const run = (name: string) => tool(name, () => `${ran.push(name)}`);
    const write: Tool = { ...run("write"), access: () => ({ action: "write", inside: true, subject: "x" }) };
    const step: ScriptedStep = { calls: [{ name: "look" }, { name: "write" }, { name: "pay" }] };
    const { agent, breakDisk } = setUp([step, "done"], [reads(run("look")), write, run("pay")]);
    breakDisk();
    const state = new State("go");
    expect(await agent.run(state)).toBe("done");
    expect(ran).toEqual(["look"]);
    expect(results(state)).toEqual(
      expect.arrayContaining(["1", expect.stringMatching(/^\(not run: the conversation cannot be saved now/)]),
    );
    expect(results(state).filter((text) => text.startsWith("(not run:"))).toHaveLength(2);
  });

  it("still ends at Ctrl+C, with the interrupt itself, and all calls closed", async () => {
    const controller = new AbortController();
    const interrupt = new UserInterrupt();
    const running = gate();
    const slow = tool("slow", (_input, { signal }) => {
      running.open();
      return new Promise<string>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const { agent, breakDisk } = setUp([{ calls: [{ name: "slow" }] }], [reads(slow)]);
    breakDisk();
    const state = new State("go");
    const run = agent.run(state, { signal: controller.signal });
    await running.promise;
    controller.abort(interrupt);
    await expect(run).rejects.toBe(interrupt);
    expect(notesOf(interrupt)).toEqual([]);
    expect(results(state)).toEqual(["(interrupted by user)"]);
  });

  it("still throws what is no failure of the store", async () => {
    const { agent } = setUp(["one"]);
    const state = new State("hi");
    Object.assign(state.data, { bad: () => undefined });
    await expect(agent.save(state)).rejects.toMatchObject({ code: "STATE_DATA_NOT_JSON" });
  });
});
