import type { ModelCall, ModelMessage, ModelToolResult } from "../model/model.js";
import type { HistoryEntry, SeqRange } from "./entries.js";
import { isReplayable } from "./entry-check.js";
import { closingText } from "./interrupt.js";
import { covers, type Skip, skippedRanges } from "./skips.js";
import {
  assistantMessage,
  noticeMessage,
  shellMessage,
  summaryMessage,
  toolResult,
  trimmed,
  userMessage,
  validCalls,
} from "./valid-context.js";

/** The context that a history makes: the same, whether folded at once or entry by entry. */
export function fold(history: readonly HistoryEntry[]): ModelMessage[] {
  const folded = new ContextFold(history);
  folded.advance();
  return folded.context;
}

/** A message with the position in history it stands for: results have the one of their reply. */
interface Placed {
  readonly message: ModelMessage;
  readonly seq: number;
  /** Wants an answer: from the person or the program. */
  readonly asks: boolean;
}

/** A reply whose calls wait for results. */
interface OpenCalls {
  readonly seq: number;
  readonly message: ModelMessage;
  readonly calls: readonly ModelCall[];
  /** The ids in the history, where those of the context differ (they were not unique or not valid). */
  readonly savedIds: readonly string[];
  readonly results: (ModelToolResult | undefined)[];
  readonly started: Set<number>;
}

/**
 * Folds a history that grows into the context, each entry in constant time.
 *
 * What arrives while a request runs or calls are open waits and is placed after the reply or the last result: a call
 * and its result are never torn apart.
 *
 * Of a long history only the end is folded at first, from `tailStart` on: what is asked on opening a conversation follows
 * from it. The rest is folded when the context itself is wanted (20,000 messages: 40 ms later than the prompt).
 */
export class ContextFold {
  readonly #history: readonly HistoryEntry[];
  #length = 0;
  /** Only the end of the history is folded: what was placed is not all there is. */
  #isTail = false;
  #placed: Placed[] = [];
  #waiting: Placed[] = [];
  #open: OpenCalls | undefined;
  #requestRuns = false;
  #usedIds = new Set<string>();
  readonly #notices: Skip[] = [];
  #skips: SeqRange[] = [];
  #lastWord: "nobody" | "asked" | "answer" = "nobody";
  #answer: string | undefined;
  #context: ModelMessage[] | undefined;

  constructor(history: readonly HistoryEntry[]) {
    this.#history = history;
  }

  /** Takes in what was added to the history. */
  advance(): void {
    const from = this.#length;
    if (from === this.#history.length) return;
    this.#context = undefined;
    let isLeftOut = false;
    for (let seq = from; seq < this.#history.length; seq += 1) {
      const entry = this.#history[seq];
      if (entry?.kind !== "notice" || entry.skip === undefined || !isReplayable(entry)) continue;
      this.#notices.push({ seq, skip: entry.skip });
      isLeftOut = true;
    }
    if (isLeftOut) {
      this.#skips = skippedRanges(this.#notices);
      this.#restart();
      return;
    }
    if (this.#isTail && this.#history.slice(from).some(needsWhole)) {
      this.#restart();
      return;
    }
    const tail = from === 0 ? tailStart(this.#history) : 0;
    if (tail > 0) this.#isTail = true;
    this.#take(Math.max(from, tail));
  }

  get context(): ModelMessage[] {
    this.#completeTail();
    this.#context ??= fromUser(
      [...this.#placed, ...this.#openMessages(), ...this.#waiting].map((placed) => placed.message),
    );
    return this.#context;
  }

  /** Every message with the position that compaction may keep from. Calls that are open come last. */
  get positions(): readonly { readonly message: ModelMessage; readonly seq: number }[] {
    this.#completeTail();
    return this.#placed;
  }

  get pendingCalls(): ModelCall[] {
    const open = this.#open;
    return open === undefined ? [] : open.calls.filter((_, index) => open.results[index] === undefined);
  }

  /** Whether a pending call's start was recorded. */
  isStarted(callId: string): boolean {
    const index = this.#open?.calls.findIndex((call) => call.id === callId) ?? -1;
    return this.#open?.started.has(index) ?? false;
  }

  /** The model's last word is a whole answer, and nothing that asks for another came after it. */
  get isAnswered(): boolean {
    return this.#lastWord === "answer" && this.#open === undefined && !this.#waiting.some((placed) => placed.asks);
  }

  /** The text of the last whole answer since the last question. */
  get answer(): string | undefined {
    return this.#answer;
  }

  #completeTail(): void {
    if (this.#isTail) this.#restart();
  }

  /** A half-written step turned out to be one: what was folded from it is folded again without it. */
  #restart(): void {
    this.#isTail = false;
    this.#placed = [];
    this.#waiting = [];
    this.#open = undefined;
    this.#requestRuns = false;
    this.#usedIds = new Set();
    this.#lastWord = "nobody";
    this.#answer = undefined;
    this.#take(0);
  }

  #take(from: number): void {
    for (let seq = from; seq < this.#history.length; seq += 1) {
      const entry = this.#history[seq];
      if (entry === undefined || !isReplayable(entry)) continue;
      if (covers(this.#skips, seq)) continue;
      this.#fold(entry);
    }
    this.#length = this.#history.length;
  }

  #fold(entry: HistoryEntry): void {
    const { seq } = entry;
    switch (entry.kind) {
      case "user":
        this.#place({ message: userMessage(entry.text), seq, asks: true });
        return;
      case "notice": {
        const aboutDamage = entry.skip !== undefined || entry.missing !== undefined;
        this.#place({ message: noticeMessage(entry.text), seq, asks: !aboutDamage });
        return;
      }
      case "shell":
        this.#place({
          message: shellMessage(entry.command, entry.output, entry.exitCode, entry.outcome),
          seq,
          asks: false,
        });
        return;
      case "request":
        // A request that is still marked as running was dropped: nothing waits for its reply any more.
        this.#endRequest();
        this.#requestRuns = true;
        return;
      case "error":
        if (entry.step === "request") this.#endRequest();
        return;
      case "run_start":
      case "run_end":
        this.#endRequest();
        return;
      case "reply":
        this.#reply(entry);
        return;
      case "call_started": {
        const index = this.#indexOf(entry.callId);
        if (index >= 0) this.#open?.started.add(index);
        return;
      }
      case "result":
        this.#result(entry);
        return;
      case "trimmed":
        this.#placed = this.#placed.map((placed) => ({ ...placed, message: trimmed(placed.message, entry.bytesMax) }));
        break;
      case "compaction":
        this.#compact(entry);
        return;
      default:
        return;
    }
  }

  #place(placed: Placed): void {
    if (this.#requestRuns || this.#open !== undefined) this.#waiting.push(placed);
    else this.#settle(placed);
  }

  #settle(placed: Placed): void {
    this.#placed.push(placed);
    if (!placed.asks) return;
    this.#lastWord = "asked";
    this.#answer = undefined;
  }

  #settleWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const placed of waiting) this.#settle(placed);
  }

  #endRequest(): void {
    this.#requestRuns = false;
    if (this.#open === undefined) this.#settleWaiting();
  }

  #reply(entry: HistoryEntry<"reply">): void {
    // Only in a damaged history: the results of the calls before were lost.
    if (this.#open !== undefined) this.#closeOpen();
    this.#requestRuns = false;
    const { seq } = entry;
    if (entry.cutOff !== undefined) {
      const message = assistantMessage(entry.text, []);
      if (message !== undefined) this.#settle({ message, seq, asks: false });
      const notice = noticeMessage(`the reply above was cut off: ${entry.cutOff}`);
      this.#settle({ message: notice, seq, asks: true });
      this.#settleWaiting();
      return;
    }
    const calls = validCalls(entry.calls, seq, this.#usedIds);
    const message = assistantMessage(entry.text, calls);
    if (calls.length === 0) {
      if (message !== undefined) this.#settle({ message, seq, asks: false });
      this.#lastWord = "answer";
      this.#answer = entry.text;
      this.#settleWaiting();
      return;
    }
    if (message === undefined) return;
    const savedIds = entry.calls.map((call) => call.id);
    this.#open = { seq, message, calls, savedIds, results: calls.map(() => undefined), started: new Set() };
    this.#lastWord = "asked";
    this.#answer = undefined;
  }

  #result(entry: HistoryEntry<"result">): void {
    const open = this.#open;
    if (open === undefined) return;
    const index = this.#indexOf(entry.callId);
    const call = open.calls[index];
    if (call === undefined) return;
    open.results[index] = toolResult(call, entry.text, entry.isError === true);
    if (open.results.every((result) => result !== undefined)) this.#closeOpen();
  }

  /** The open call without a result that an id means: by its id in the history, else by the one in the context. */
  #indexOf(callId: string): number {
    const open = this.#open;
    if (open === undefined) return -1;
    const isFree = (id: string, index: number) => id === callId && open.results[index] === undefined;
    const saved = open.savedIds.findIndex(isFree);
    return saved >= 0 ? saved : open.calls.findIndex((call, index) => isFree(call.id, index));
  }

  #closeOpen(): void {
    const messages = this.#openMessages();
    this.#open = undefined;
    for (const placed of messages) this.#settle(placed);
    this.#settleWaiting();
  }

  /** The reply with one result for each call; a call that has none yet gets the words for that. */
  #openMessages(): Placed[] {
    const open = this.#open;
    if (open === undefined) return [];
    const results = open.calls.map((call, index) => {
      const text = open.started.has(index) ? closingText.unknown : closingText.notStarted;
      return open.results[index] ?? toolResult(call, text, true);
    });
    return [
      { message: open.message, seq: open.seq, asks: false },
      { message: { role: "tool", results }, seq: open.seq, asks: false },
    ];
  }

  #compact(entry: HistoryEntry<"compaction">): void {
    const from = this.#placed.findIndex((placed) => placed.seq >= entry.keepFrom);
    const kept = from < 0 ? [] : this.#placed.slice(from);
    // Before every entry: the next summary replaces this one.
    this.#placed = [{ message: summaryMessage(entry.summary), seq: -1, asks: false }, ...kept];
  }
}

/** APIs want the first message from the user. */
function fromUser(messages: ModelMessage[]): ModelMessage[] {
  const first = messages[0];
  if (first === undefined || first.role === "user") return messages;
  return [noticeMessage("the beginning of this conversation could not be read"), ...messages];
}

/**
 * From where a fold comes to the same end as from the beginning, but for what was placed: the second last whole reply
 * without calls. After it no call is open, no request runs and nothing waits; and the last such reply decides anew what
 * the last word is. 0 when there is no such place.
 */
function tailStart(history: readonly HistoryEntry[]): number {
  let replies = 0;
  for (let seq = history.length - 1; seq > 0; seq -= 1) {
    const entry = history[seq];
    if (entry === undefined) continue;
    if (needsWhole(entry)) return 0;
    if (entry.kind !== "reply" || entry.cutOff !== undefined || !isReplayable(entry)) continue;
    replies += 1;
    if (replies === 2) return seq;
  }
  return 0;
}

/** What an entry means depends on all before it: ids that are taken, or what a summary replaces. */
function needsWhole(entry: HistoryEntry): boolean {
  if (entry.kind === "compaction") return true;
  return entry.kind === "reply" && Array.isArray(entry.calls) && entry.calls.length > 0;
}
