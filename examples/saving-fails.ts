import { Agent, codeOf, FileStore, notesOf, State } from "perdure";

const agent = new Agent({ model: "anthropic/claude-sonnet-4-5", store: new FileStore(".agent-runs") });
const state = new State("Water the plants", { id: "plants" });

try {
  console.log(await agent.run(state));
} catch (error) {
  console.error(codeOf(error), ...notesOf(error)); // ENOSPC; or MODEL_SERVER, with the failed save as a note
  await agent.save(state); // nothing is lost from the State: this writes what is missing
}
