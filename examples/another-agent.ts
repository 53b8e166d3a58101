import { Agent, FileStore } from "perdure";

const store = new FileStore(".agent-runs");
const [latest] = await store.list();
if (latest === undefined) throw new Error("nothing to resume");
const state = await store.load(latest.id);
state.addUserMessage("Say it in other words");

const agent = new Agent({
  model: "anthropic/claude-sonnet-4-5",
  system: "You answer in rhymes.",
  store,
  onEvent: (event) => {
    if (event.type === "agent_changed") throw new Error(event.message); // or console.warn
  },
});
console.log(await agent.run(state));
