import { describe, expect, it } from "vitest";
import { Agent, type AgentOptions } from "../../src/agent/agent.js";
import type { AgentEvent } from "../../src/agent/events.js";
import { State } from "../../src/agent/state.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { makeStore, tool } from "./support.js";

const look = tool("look", () => "seen");

async function resumeWith(changes: Partial<AgentOptions>, onEvent?: (event: AgentEvent) => void) {
  const { store } = makeStore();
  const system = "You know the secret word plum.";
  const agent = new Agent({ model: new ScriptedModel(["one"], "a/one"), store, name: "first", system, tools: [look] });
  const state = new State("hi");
  await agent.run(state);
  const loaded = await store.load(state.id);
  loaded.addUserMessage("more");
  const model = new ScriptedModel(["two", "three"], "a/one");
  const seen: Extract<AgentEvent, { type: "agent_changed" }>[] = [];
  const listener = (event: AgentEvent) => {
    if (event.type === "agent_changed") seen.push(event);
    onEvent?.(event);
  };
  const other = agent.copy({ model, onEvent: listener, ...changes });
  return { other, loaded, seen, model };
}

describe("when another agent resumes", () => {
  it("it is told once, before the first request, and the system prompt is not shown", async () => {
    let requestsAtWarning = -1;
    const model = new ScriptedModel(["two", "three"], "b/two");
    const { other, loaded, seen } = await resumeWith(
      { model, name: "second", system: "Another secret: pear.", tools: [] },
      (event) => {
        if (event.type === "agent_changed") requestsAtWarning = model.requests.length;
      },
    );
    await other.run(loaded);
    loaded.addUserMessage("and more");
    await other.run(loaded);
    expect(seen).toHaveLength(1);
    expect(requestsAtWarning).toBe(0);
    expect(seen[0]?.changes).toEqual({
      name: ["first", "second"],
      model: ["a/one", "b/two"],
      system: ["saved", "changed"],
      tools: ["look", "(none)"],
    });
    expect(JSON.stringify(seen[0])).not.toMatch(/plum|pear/);
  });

  it("nothing is told when it is the same agent", async () => {
    const { other, loaded, seen } = await resumeWith({});
    await other.run(loaded);
    expect(seen).toEqual([]);
  });

  it("a listener that throws keeps the run from starting", async () => {
    const { other, loaded, model } = await resumeWith({ name: "second" }, (event) => {
      if (event.type === "agent_changed") throw new Error(event.message);
    });
    const length = loaded.history.length;
    await expect(other.run(loaded)).rejects.toThrow("name was first, is second");
    expect(model.requests).toEqual([]);
    expect(loaded.history).toHaveLength(length);
  });
});

describe("a listener that throws", () => {
  it("does not disturb the step, which throws its error when it is through", async () => {
    const { store } = makeStore();
    const state = new State("hi");
    const agent = new Agent({
      model: new ScriptedModel(["hello"]),
      store,
      onEvent: (event) => {
        if (event.type === "text") throw new Error("the screen broke");
      },
    });
    await expect(agent.run(state)).rejects.toThrow("the screen broke");
    expect((await store.load(state.id)).answer).toBe("hello");
  });
});
