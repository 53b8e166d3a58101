import { Agent } from "perdure";
import { JsonStore } from "./json-store.js";

const store = new JsonStore(".agent-runs");
const agent = new Agent({ model: "anthropic/claude-sonnet-4-5", store });
console.log(await agent.run("Hello"));
