import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Agent, defineTool, FileStore, State } from "perdure";
import { z } from "zod";

/** The printer takes jobs as files and answers with a file. It goes on printing when we are gone. */
async function printed(job: string): Promise<string> {
  while (!existsSync(`${job}.done`)) await delay(50);
  return readFileSync(`${job}.done`, "utf8");
}

const print = defineTool({
  name: "print",
  description: "Prints a text.",
  input: z.object({ text: z.string() }),
  run: ({ text }, { callId }) => {
    writeFileSync(`${callId}.job`, text);
    return printed(callId);
  },
  // A later process asks what became of the call.
  recover: async (_, { callId }) => (existsSync(`${callId}.job`) ? { text: await printed(callId) } : "not_run"),
});

const store = new FileStore(".agent-runs");
const agent = new Agent({ model: "anthropic/claude-sonnet-4-5", store, tools: [print] });
const [latest] = await store.list();
const state = latest ? await store.load(latest.id, { openCalls: "keep" }) : new State("Print a poem");
console.log(await agent.run(state)); // before anything else, calls that were left open get their results
