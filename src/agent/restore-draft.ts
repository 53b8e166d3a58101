import type { Draft } from "../store/store.js";
import { isBlank } from "./clean.js";
import type { EntryBody, HistoryEntry } from "./entries.js";
import { isReplayable } from "./entry-check.js";
import { killedText } from "./interrupt.js";

/**
 * What a reply had said when its process was killed, as the cut-off reply that it is. Undefined when the draft is out of
 * date, for its request was closed since, or when it shows nothing.
 */
export function draftReply(
  history: readonly HistoryEntry[],
  draft: Draft | undefined,
  isSkipped: (seq: number) => boolean,
): EntryBody | undefined {
  if (draft === undefined || isBlank(draft.text)) return undefined;
  const request = history[draft.requestSeq];
  if (request?.kind !== "request" || !isReplayable(request) || isSkipped(request.seq)) return undefined;
  for (let seq = draft.requestSeq + 1; seq < history.length; seq += 1) {
    if (closesRequest(history[seq])) return undefined;
  }
  const { model } = request;
  return { kind: "reply", text: draft.text, calls: [], model, usage: {}, finish: "other", cutOff: killedText };
}

/** As the fold sees it: messages that wait for the reply do not. */
function closesRequest(entry: HistoryEntry | undefined): boolean {
  switch (entry?.kind) {
    case "request":
    case "reply":
    case "run_start":
    case "run_end":
      return true;
    case "error":
      return entry.step === "request";
    default:
      return false;
  }
}
