import assert from "node:assert/strict";
import { Agent, defineTool, State } from "perdure";
import { MemoryStore, ScriptedModel } from "perdure/testing";

const model = new ScriptedModel([{ calls: [{ name: "clock" }] }, "It is noon."]);
const store = new MemoryStore();
const clock = defineTool({ name: "clock", description: "Tells the time.", run: () => "12:00" });
const agent = new Agent({ model, store, tools: [clock] });

const state = new State("What time is it?");
assert.equal(await agent.run(state), "It is noon.");
assert.deepEqual(
  model.requests[1]?.messages.map((message) => message.role),
  ["user", "assistant", "tool"],
);
assert.equal((await store.read(state.id))?.entries.length, state.history.length);
