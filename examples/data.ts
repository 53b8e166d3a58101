import { Agent, FileStore, hasCode, State } from "perdure";

const store = new FileStore(".agent-runs");
const agent = new Agent({ model: "anthropic/claude-sonnet-4-5", store });

const state = new State("Sort the orders", { data: { sorted: 0, since: new Date().toISOString() } });
state.data.sorted = 12;
await agent.save(state);

Object.assign(state.data, { last: { when: new Date() } });
try {
  await agent.run(state);
} catch (error) {
  if (!hasCode(error, "STATE_DATA_NOT_JSON")) throw error;
  console.log((error as Error).message); // data.last.when is a Date
}
