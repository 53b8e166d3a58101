import { Agent, abortOnSignal, FileStore, State } from "perdure";

const agent = new Agent({ model: "anthropic/claude-sonnet-4-5", store: new FileStore(".agent-runs") });
const state = new State("Write the report", { id: "report" });

const stop = abortOnSignal(["SIGTERM"]);
try {
  console.log(await agent.run(state, { signal: stop.signal }));
} catch (error) {
  if (!stop.signal.aborted) throw error;
  process.exitCode = 143; // everything is saved: 128 + SIGTERM
} finally {
  stop.dispose();
}
