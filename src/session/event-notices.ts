import type { AgentEvent } from "../agent/events.js";
import type { FinishReason } from "../model/model.js";

/** What a person should be told of an event in a line of its own; undefined for most. */
export function eventNotice(event: AgentEvent): string | undefined {
  if (event.type === "trimmed") return trimmedNotice(event);
  if (event.type !== "entry" || event.entry.kind !== "reply" || event.entry.cutOff !== undefined) return undefined;
  const { finish, text, calls } = event.entry;
  if (finish === "length") return "the answer ends at the model's output limit; ask it to go on";
  if (finish === "content-filter") return "the provider's content filter stopped the answer";
  return text.trim() === "" && calls.length === 0 ? emptyNotice(finish) : undefined;
}

function emptyNotice(finish: FinishReason): string {
  const why = finish === "stop" ? "" : ` (${finish})`;
  return `the model answered nothing${why}; ask again in other words, or with another model`;
}

function trimmedNotice({ bytesMax, omittedBytes }: Extract<AgentEvent, { type: "trimmed" }>): string {
  const kib = (bytes: number) => `${Math.max(1, Math.round(bytes / 1024))} KiB`;
  return `the conversation has become too large for the model: it is now sent at most ${kib(bytesMax)} of each message and result (${kib(omittedBytes)} less); the history keeps everything`;
}
