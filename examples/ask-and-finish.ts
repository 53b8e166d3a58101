import { Agent, FileStore, State } from "perdure";
import { z } from "zod";

const store = new FileStore(".agent-runs");
const agent = new Agent({ model: "anthropic/claude-sonnet-4-5", store });
const state = new State("Is the door of the shop open on Sundays?", { id: "sundays" });
await agent.run(state);

const verdict = await agent.ask(state, "Was the question answered?", { schema: z.object({ done: z.boolean() }) });
if (verdict.done) {
  state.finish({ answer: state.answer ?? "", sure: verdict.done });
  await agent.save(state);
}

const saved = await store.load("sundays");
console.log(saved.finished, JSON.stringify(saved.answer));
