import { Agent, FileStore, hasCode, State } from "perdure";

const store = new FileStore(".agent-runs");
const agent = new Agent({ model: "anthropic/claude-sonnet-4-5", store });

let state = new State("Review pull request 42", { id: "review-pr-42" });
try {
  await agent.run(state);
} catch (error) {
  if (!hasCode(error, "STATE_EXISTS")) throw error;
  state = await store.load("review-pr-42"); // there is one already: go on with it
  state.addUserMessage("There are new commits. Review them too.");
  await agent.run(state);
}
console.log(state.answer);
