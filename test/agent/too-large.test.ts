import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import type { AgentEvent } from "../../src/agent/events.js";
import { State } from "../../src/agent/state.js";
import type { ModelRequest } from "../../src/model/model.js";
import { modelError } from "../../src/model/model-error.js";
import { ScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { expectSound, makeStore, tool } from "./support.js";

/** A server that refuses requests over a size, as APIs do with 413. */
const limited =
  (bytesMax: number, step: Exclude<ScriptedStep, (request: ModelRequest) => unknown>): ScriptedStep =>
  (request) =>
    JSON.stringify(request.messages).length <= bytesMax
      ? step
      : { error: modelError("MODEL_TOO_LARGE", "413", "Make it smaller.") };

describe("when the model refuses a request as too large", () => {
  it("shortens the largest items in what is sent, says so, and goes on; history keeps them whole", async () => {
    const { store } = makeStore();
    const model = new ScriptedModel([
      { calls: [{ name: "big" }, { name: "big" }] },
      limited(50_000, "read both"),
      limited(50_000, "read both"),
    ]);
    const events: AgentEvent[] = [];
    const big = tool("big", async () => `MARK-A${"x".repeat(40_000)}MARK-Z`);
    const agent = new Agent({ model, store, tools: [big], onEvent: (event) => events.push(event) });
    const state = new State("go");
    expect(await agent.run(state)).toBe("read both");
    expect(events).toContainEqual({ type: "trimmed", bytesMax: 16384, omittedBytes: expect.any(Number) });
    expect(JSON.stringify(model.requests[2]?.messages)).toContain("MARK-Z");
    expect(state.history.filter((entry) => entry.kind === "result").map((entry) => entry.text.length)).toEqual([
      40_012, 40_012,
    ]);
    expectSound(state);
    expect((await store.load(state.id)).context).toEqual(state.context);
  });

  it("fails when nothing is left to shorten, and the message stays answerable", async () => {
    const model = new ScriptedModel([limited(10, "never"), "now"]);
    const agent = new Agent({ model });
    const state = new State("a short message");
    await expect(agent.run(state)).rejects.toMatchObject({ code: "MODEL_TOO_LARGE" });
    expect(await agent.run(state)).toBe("now");
  });

  it("shortens more when that was not enough", async () => {
    const model = new ScriptedModel([limited(6000, "ok"), limited(6000, "ok"), limited(6000, "ok")]);
    const state = new State("y".repeat(100_000));
    expect(await new Agent({ model }).run(state)).toBe("ok");
    expect(state.history.filter((entry) => entry.kind === "trimmed").map((entry) => entry.bytesMax)).toEqual([
      16384, 4096,
    ]);
  });
});
