import type { Model, ModelCall, ModelEvent, ModelRequest } from "../model/model.js";
import type { AgentCore } from "./agent-core.js";
import { orAborted } from "./grace.js";
import type { ReplyDraft } from "./reply-draft.js";

/** What has come of a reply so far; whole when `finish` is there. */
export interface Received {
  text: string;
  calls: ModelCall[];
  finish: Extract<ModelEvent, { type: "finish" }> | undefined;
}

/**
 * Streams one reply into `received`, which holds what had come when this throws. A model that ignores its signal is left
 * alone: nothing waits for it.
 */
export async function receive(
  agent: AgentCore,
  model: Model,
  request: ModelRequest,
  received: Received,
  signal: AbortSignal,
  // Of a reply. Summaries and asides are none: their text is neither shown nor kept as one.
  draft?: ReplyDraft,
): Promise<void> {
  const events = model.stream(request, { signal })[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await orAborted(events.next(), signal);
      if (next.done === true) return;
      take(agent, next.value, received, draft);
    }
  } catch (error) {
    events.return?.()?.catch(() => undefined);
    throw error;
  }
}

function take(agent: AgentCore, event: ModelEvent, received: Received, draft: ReplyDraft | undefined): void {
  switch (event.type) {
    case "text":
      received.text += event.text;
      if (draft === undefined) return;
      agent.emitter.emit({ type: "text", text: event.text });
      draft.textCame();
      return;
    case "reasoning":
      if (draft !== undefined) agent.emitter.emit({ type: "reasoning", text: event.text });
      return;
    case "retry":
      agent.emitter.emit(event);
      return;
    case "call":
      // Only what comes before `finish` counts.
      if (received.finish === undefined) received.calls.push(event.call);
      return;
    case "finish":
      received.finish ??= event;
      return;
  }
}
