import { Agent, defineTool, FileStore, ToolError } from "perdure";
import { z } from "zod";

const orders = new Map([["1017", { item: "lamp", paid: true }]]);

const findOrder = defineTool({
  name: "find_order",
  description: "Finds an order by its number.",
  input: z.object({ number: z.string().describe("as on the invoice, 1017 for example") }),
  run: ({ number }) => {
    const order = orders.get(number);
    if (order === undefined) throw new ToolError(`There is no order ${number}.`);
    return order;
  },
});

const refund = defineTool({
  name: "refund",
  description: "Pays an order back.",
  input: z.object({ number: z.string() }),
  run: async ({ number }, { callId, signal }) => {
    signal.throwIfAborted();
    return `refunded ${number} (${callId})`; // the call's id is the key that lets a bank see it twice and pay once
  },
});

const agent = new Agent({
  model: "anthropic/claude-sonnet-4-5",
  store: new FileStore(".agent-runs"),
  tools: [findOrder, refund],
  permissions: [({ tool }) => (tool.name === "refund" ? { allow: false, reason: "ask the shop's owner" } : undefined)],
});
console.log(await agent.run("Is order 1017 paid? If so, pay it back."));
