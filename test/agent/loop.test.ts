import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { answered, defaultLoop, loop } from "../../src/agent/loop.js";
import { State } from "../../src/agent/state.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { expectSound, gate, kinds, makeStore, tool } from "./support.js";

const look = tool("look", () => "seen");
const call = { calls: [{ name: "look" }] };

describe("a loop", () => {
  it("stops by until, and says by which", async () => {
    const spentTooMuch = (state: State) => state.usage.outputTokens >= 10;
    const careful = loop({ until: [answered, spentTooMuch], limit: 30 }, async (agent, state) => {
      await agent.think(state);
      if (state.wantsTools()) await agent.useTools(state);
    });
    const state = new State("go");
    await new Agent({ model: new ScriptedModel([call, call, call]), tools: [look], loop: careful }).run(state);
    expect(state.stoppedBy).toBe("spentTooMuch");
    expect(state.usage).toMatchObject({ outputTokens: 10, requests: 2 });
  });

  it("stops by limit without an error; another run goes on", async () => {
    const state = new State("go");
    const agent = new Agent({
      model: new ScriptedModel([call, call, "done"]),
      tools: [look],
      loop: defaultLoop.copy({ limit: 2 }),
    });
    expect(await agent.run(state)).toBeUndefined();
    expect(state.stoppedBy).toBe("limit");
    expect(await agent.run(state)).toBe("done");
    expect(state.stoppedBy).toBe("answered");
    expect(state.turn).toBe(1);
  });

  it("stops by finish, which beats until and limit; its calls are closed", async () => {
    const state = new State("go");
    const once = loop({ until: answered, limit: 1 }, async (agent, current) => {
      await agent.think(current);
      current.finish({ done: true });
    });
    const agent = new Agent({ model: new ScriptedModel([call]), tools: [look], loop: once });
    expect(await agent.run(state)).toEqual({ done: true });
    expect(state.stoppedBy).toBe("finish");
    expect(state.pendingCalls).toEqual([]);
    const steps = [
      () => agent.run(state),
      () => agent.think(state),
      () => agent.useTools(state),
      () => agent.ask(state, "?"),
      () => agent.compact(state),
    ];
    for (const step of steps) {
      await expect(step()).rejects.toMatchObject({ code: "STATE_FINISHED" });
    }
    expect(() => state.finish()).toThrow(expect.objectContaining({ code: "STATE_FINISHED" }));
  });

  it("needs until and limit", () => {
    const make = (options: object) => () => loop(options as never, () => undefined);
    for (const options of [
      {},
      { until: answered },
      { until: [], limit: 3 },
      { until: answered, limit: 0 },
      { limit: 3 },
    ]) {
      expect(make(options)).toThrow(expect.objectContaining({ code: "LOOP_OPTIONS" }));
    }
  });

  it("may be any function", async () => {
    const state = new State("go");
    const agent = new Agent({
      model: new ScriptedModel(["one", "two"]),
      loop: async (self, current) => {
        await self.think(current);
        current.addNotice("once more");
        await self.think(current);
      },
    });
    expect(await agent.run(state)).toBe("two");
    expect(state.stoppedBy).toBe("answered");
  });

  it("whose body throws ends the run as an exception does: calls closed, saved, the error itself thrown", async () => {
    const { store } = makeStore();
    const bug = new TypeError("a bug");
    const broken = loop({ until: answered, limit: 3 }, async (agent, state) => {
      await agent.think(state);
      throw bug;
    });
    const state = new State("go");
    const run = new Agent({ model: new ScriptedModel([call]), tools: [look], loop: broken, store }).run(state);
    await expect(run).rejects.toBe(bug);
    const loaded = await store.load(state.id);
    expect(loaded.history).toEqual(state.history);
    expect(loaded.history.find((entry) => entry.kind === "result")).toMatchObject({
      text: "(not run: aborted: TypeError)",
    });
    expect(loaded.cutOffTurn).toEqual({ turn: 1, cause: "aborted:TypeError", continued: false });
  });

  it("gives its steps the signal of the run", async () => {
    const controller = new AbortController();
    const asked = gate();
    const stalls = new ScriptedModel([
      () => {
        asked.open();
        return { stall: true };
      },
    ]);
    const run = new Agent({ model: stalls }).run("go", { signal: controller.signal });
    await asked.promise;
    controller.abort(new Error("enough"));
    await expect(run).rejects.toThrow("enough");
  });
});

describe("a message that comes while a run is under way", () => {
  it("is answered in the same run and the same turn", async () => {
    const state = new State("one");
    const model = new ScriptedModel([
      () => {
        state.addUserMessage("two");
        return "first";
      },
      "second",
    ]);
    expect(await new Agent({ model }).run(state)).toBe("second");
    expect(model.requests[1]?.messages).toEqual([
      { role: "user", text: "one" },
      { role: "assistant", text: "first", calls: [] },
      { role: "user", text: "two" },
    ]);
    expect(state.turn).toBe(1);
    state.addUserMessage("three");
    expect(state.turn).toBe(2);
    expectSound(state);
  });

  it("waits while calls are pending, and so does a command of the person's", async () => {
    const state = new State("one");
    const interfering = tool("look", () => {
      state.addUserMessage("two");
      state.addShell("ls", "file", 0);
      state.addNotice("three");
      expectSound(state);
      return "seen";
    });
    const model = new ScriptedModel([call, "done"]);
    await new Agent({ model, tools: [interfering] }).run(state);
    const roles = model.requests[1]?.messages.map((message) => message.role);
    expect(roles).toEqual(["user", "assistant", "tool", "user", "user", "user"]);
  });
});

describe("a State that cannot be run", () => {
  it("is one without a message, one that runs already, and one whose calls are pending", async () => {
    const agent = new Agent({ model: new ScriptedModel([call, { stall: true }]), tools: [look] });
    await expect(agent.run(new State())).rejects.toMatchObject({ code: "STATE_EMPTY" });
    const state = new State("go");
    await agent.think(state);
    await expect(agent.think(state)).rejects.toMatchObject({ code: "CALLS_PENDING" });
    const [pending] = state.pendingCalls;
    if (pending === undefined) throw new Error("no call");
    state.deny(pending, "no");
    const controller = new AbortController();
    const run = agent.run(state, { signal: controller.signal });
    await expect(agent.run(state)).rejects.toMatchObject({ code: "STATE_BUSY" });
    controller.abort(new Error("enough"));
    await expect(run).rejects.toThrow("enough");
    expect(kinds(state.history).at(-1)).toBe("run_end");
  });

  it("runs no call twice when useTools is called twice at once", async () => {
    let ran = 0;
    const once = tool("look", () => `ran ${++ran}`);
    const agent = new Agent({ model: new ScriptedModel([call]), tools: [once] });
    const state = new State("go");
    await agent.think(state);
    const both = await Promise.allSettled([agent.useTools(state), agent.useTools(state)]);
    expect(both.map((settled) => settled.status)).toEqual(["fulfilled", "rejected"]);
    expect(ran).toBe(1);
  });
});
