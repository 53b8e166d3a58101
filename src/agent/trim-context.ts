import type { AgentCore } from "./agent-core.js";
import type { State } from "./state.js";

/** Tried in this order, until the model takes the request. Bytes of UTF-8 that one item of the context keeps. */
const itemBytesMax = [16 << 10, 4 << 10, 1 << 10];

/**
 * After a model refused a request as too large: shortens the largest items of the context, in what the model sees only.
 * History keeps them whole.
 *
 * @returns false when there is nothing left to shorten
 */
export function trimContext(agent: AgentCore, state: State): boolean {
  for (const bytesMax of itemBytesMax) {
    const before = contextBytes(state);
    const largest = Math.max(...before.items);
    if (largest <= bytesMax) continue;
    state.record({ kind: "trimmed", bytesMax });
    const omittedBytes = before.total - contextBytes(state).total;
    agent.emitter.emit({ type: "trimmed", bytesMax, omittedBytes });
    return true;
  }
  return false;
}

function contextBytes(state: State): { items: number[]; total: number } {
  const items = state.context.flatMap((message) => {
    if (message.role === "tool") return message.results.map((result) => Buffer.byteLength(result.text));
    const calls = message.role === "assistant" ? message.calls : [];
    return [message.text, ...calls.map((call) => JSON.stringify(call.input))].map((text) => Buffer.byteLength(text));
  });
  return { items: [0, ...items], total: items.reduce((sum, bytes) => sum + bytes, 0) };
}
