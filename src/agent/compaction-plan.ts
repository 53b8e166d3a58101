import type { ModelMessage } from "../model/model.js";
import { cutText } from "../text/cut.js";
import { renderTranscript } from "./transcript.js";

export interface CompactionPlan {
  /** The first position in history whose message stays as it is. */
  readonly keepFrom: number;
  readonly transcript: string;
  /** The person's last message, when it is among what is replaced. */
  readonly openMessage: string | undefined;
}

interface Position {
  readonly message: ModelMessage;
  readonly seq: number;
}

/** A tail that is larger than this share of the context is cut into, so that compacting helps. */
const tailShareMax = 0.6;
const openMessageBytesMax = 16_384;

/**
 * What to replace: everything before the person's last message, which is answered after it; when that alone is most of
 * the context, everything before a later reply. Undefined when there is nothing before it.
 */
export function planCompaction(positions: readonly Position[]): CompactionPlan | undefined {
  const sizes = positions.map(({ message }) => JSON.stringify(message).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const lastUser = positions.findLastIndex(({ message, seq }) => isPersons(message) && seq >= 0);
  let at = lastUser;
  let tail = sizes.slice(Math.max(0, at)).reduce((sum, size) => sum + size, 0);
  while (at < positions.length - 1 && (at <= 0 || tail > total * tailShareMax)) {
    const next = positions.findIndex(({ message }, index) => index > Math.max(0, at) && message.role === "assistant");
    if (next < 0) break;
    tail -= sizes.slice(Math.max(0, at), next).reduce((sum, size) => sum + size, 0);
    at = next;
  }
  if (at <= 0 || !isCleanCut(positions, at)) return undefined;
  const replaced = positions.slice(0, at).map(({ message }) => message);
  // A summary alone is not summarised again.
  if (replaced.length === 1 && positions[0]?.seq === -1) return undefined;
  const open = lastUser >= 0 && lastUser < at ? positions[lastUser]?.message : undefined;
  return {
    keepFrom: positions[at]?.seq ?? 0,
    transcript: renderTranscript(replaced),
    openMessage: open?.role === "user" ? cutText(open.text, openMessageBytesMax).text : undefined,
  };
}

/** The fold keeps from the first message at or after `keepFrom`: that must be this one. */
function isCleanCut(positions: readonly Position[], at: number): boolean {
  const seq = positions[at]?.seq ?? -1;
  return positions.findIndex((position) => position.seq >= seq) === at;
}

function isPersons(message: ModelMessage): boolean {
  return message.role === "user" && !/^\[(notice|summary of|the person ran)/.test(message.text);
}
