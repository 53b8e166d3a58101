import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.js";
import { UserInterrupt } from "../../src/agent/interrupt.js";
import { State } from "../../src/agent/state.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { expectSound, makeStore, tool } from "./support.js";

const verdict = z.object({ good: z.boolean(), why: z.string() });

describe("ask", () => {
  it("gives a value of the schema's type, and leaves the context as it was", async () => {
    const { store } = makeStore();
    const model = new ScriptedModel(["hello", '```json\n{"good":true,"why":"polite"}\n```']);
    const agent = new Agent({ model, store });
    const state = new State("hi");
    await agent.run(state);
    const before = state.context;
    const value = await agent.ask(state, "Was that good?", { schema: verdict });
    expect(value.why).toBe("polite");
    expect(state.context).toEqual(before);
    expect(state.answer).toBe("hello");
    expect(state.usage.requests).toBe(2);
    expect(model.requests[1]?.outputSchema).toMatchObject({ type: "object", required: ["good", "why"] });
    const loaded = await store.load(state.id);
    expect(loaded.history.at(-1)).toMatchObject({ kind: "ask", prompt: "Was that good?", answer: value });
  });

  it("asks once more when the value does not fit, saying why", async () => {
    const model = new ScriptedModel(['{"good":"yes"}', '{"good":true,"why":""}']);
    const state = new State("hi");
    expect(await new Agent({ model }).ask(state, "?", { schema: verdict })).toEqual({ good: true, why: "" });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: "user", text: expect.stringContaining("good: ") });
  });

  it("gives up after the second bad value", async () => {
    const model = new ScriptedModel(["no JSON", '{"good":1}']);
    const state = new State("hi");
    const asked = new Agent({ model }).ask(state, "?", { schema: verdict });
    await expect(asked).rejects.toMatchObject({ code: "MODEL_BAD_REPLY" });
    expect(state.history.at(-1)).toMatchObject({ kind: "error", step: "ask" });
  });

  it("gives text without a schema", async () => {
    const agent = new Agent({ model: new ScriptedModel(["blue"]) });
    expect(await agent.ask(new State("hi"), "Which colour?")).toBe("blue");
  });
});

describe("compact", () => {
  async function talkedState() {
    const { store } = makeStore();
    const state = new State("MARK-1");
    const call = { calls: [{ name: "look" }] };
    const agent = new Agent({
      model: new ScriptedModel([call, "one", "two"]),
      store,
      tools: [tool("look", () => "x".repeat(5000))],
    });
    await agent.run(state);
    state.addUserMessage("MARK-2");
    await agent.run(state);
    state.addUserMessage("MARK-BIG");
    return { store, state, agent };
  }

  it("replaces what came before the last message by a summary; the history keeps all of it", async () => {
    const { store, state, agent } = await talkedState();
    const before = [...state.history];
    const model = new ScriptedModel(["They greeted each other.", "answer"]);
    expect(await agent.copy({ model }).compact(state)).toBe(true);
    expect(state.context).toEqual([
      { role: "user", text: expect.stringContaining("They greeted each other.") },
      { role: "user", text: "MARK-BIG" },
    ]);
    expect(JSON.stringify(model.requests[0])).toContain("MARK-2");
    expect(state.history.slice(0, before.length)).toEqual(before);
    const loaded = await store.load(state.id);
    expect(loaded.context).toEqual(state.context);
    expect((await store.read(state.id))?.snapshot?.historyLength).toBe(state.history.length);
    expectSound(loaded);
    await agent.copy({ model }).run(state);
    expect(state.answer).toBe("answer");
  });

  it("changes nothing when the summary fails, is empty or is interrupted", async () => {
    const { state, agent } = await talkedState();
    const { context } = state;
    const failing = (step: ConstructorParameters<typeof ScriptedModel>[0][number], signal?: AbortSignal) =>
      agent.copy({ model: new ScriptedModel([step]) }).compact(state, { signal });
    await expect(failing({ error: Object.assign(new Error("500"), { code: "MODEL_SERVER" }) })).rejects.toThrow("500");
    await expect(failing(" ")).rejects.toMatchObject({ code: "MODEL_BAD_REPLY" });
    const controller = new AbortController();
    const stall = () => {
      controller.abort(new UserInterrupt());
      return { stall: true } as const;
    };
    await expect(failing(stall, controller.signal)).rejects.toThrow("interrupted by user");
    expect(state.context).toEqual(context);
    expectSound(state);
  });

  it("keeps a message that comes meanwhile", async () => {
    const { state, agent } = await talkedState();
    const model = new ScriptedModel([
      () => {
        state.addUserMessage("MARK-LATE");
        return "summary";
      },
    ]);
    await agent.copy({ model }).compact(state);
    expect(state.context.slice(1)).toEqual([
      { role: "user", text: "MARK-BIG" },
      { role: "user", text: "MARK-LATE" },
    ]);
  });

  it("cuts into a turn that is most of the context, and keeps its message word for word", async () => {
    const call = { calls: [{ name: "look" }] };
    const model = new ScriptedModel([call, call, call, call, "summary", "done"]);
    const agent = new Agent({ model, tools: [tool("look", () => "x".repeat(20_000))] });
    const state = new State("MARK-TASK");
    for (let round = 0; round < 4; round += 1) {
      await agent.think(state);
      await agent.useTools(state);
    }
    const before = JSON.stringify(state.context).length;
    expect(await agent.compact(state)).toBe(true);
    expect(JSON.stringify(state.context).length).toBeLessThan(before * 0.7);
    expect(state.context[0]).toMatchObject({ text: expect.stringContaining("MARK-TASK") });
    expectSound(state);
    expect(await agent.run(state)).toBe("done");
  });

  it("does nothing when there is nothing to summarise", async () => {
    const agent = new Agent({ model: new ScriptedModel(["summary"]) });
    const state = new State("hi");
    expect(await agent.compact(state)).toBe(false);
    state.addUserMessage("again");
    expect(await agent.compact(state)).toBe(true);
    expect(await agent.compact(state)).toBe(false);
  });
});
