// A conversation in the terminal: `--resume` goes on with the last one.
import { createInterface } from "node:readline/promises";
import { Agent, FileStore, State } from "perdure";

const store = new FileStore(".agent-runs");
const agent = new Agent({ model: "anthropic/claude-sonnet-4-5", system: "You are a helpful assistant.", store });

let state = new State();
const [latest] = await store.list(); // most recently updated first
if (process.argv.includes("--resume") && latest !== undefined) {
  state = await store.load(latest.id);
  if (state.cutOffTurn !== undefined) console.log(await agent.run(state)); // it was killed in the middle of a turn
}

const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: "> " });
terminal.prompt();
for await (const line of terminal) {
  state.addUserMessage(line);
  await agent.save(state); // on disk before anything else happens
  console.log(await agent.run(state));
  terminal.prompt();
}
