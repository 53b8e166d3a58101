import { Agent, answered, FileStore, loop, State } from "perdure";

const tooExpensive = (state: State) => state.usage.outputTokens > 50_000;

const careful = loop({ until: [answered, tooExpensive], limit: 30 }, async (agent, state) => {
  await agent.think(state);
  if (state.wantsTools()) await agent.useTools(state);
  if (state.context.length > 60) await agent.compact(state);
});

const agent = new Agent({ model: "anthropic/claude-sonnet-4-5", store: new FileStore(".agent-runs"), loop: careful });
const state = new State("Compare the two reports");
await agent.run(state);
console.log(state.stoppedBy, state.answer); // answered, tooExpensive or limit
