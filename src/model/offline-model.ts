import { newCallId } from "./call-ids.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest, ModelToolResult } from "./model.js";
import { helpAnswer, plainAnswer, resultsAnswer, schemaAnswer, summaryAnswer } from "./offline-answers.js";
import { type Phrase, type PhraseCall, parsePhrase } from "./offline-phrases.js";
import { sleep } from "./retry.js";

export interface OfflineModelOptions {
  /** Named in the help. */
  readonly cwd?: string;
  /** Between the words of `say N words`; other answers come as fast as they are read. Default 20. */
  readonly wordDelayMs?: number;
}

/**
 * A model without a network: plain phrases call the real tools, everything else is answered by saying what this is. The
 * same conversation gets the same answer; only call ids are new each time, since an id stands for one call for ever.
 */
export function createOfflineModel(options: OfflineModelOptions = {}): Model {
  return {
    name: "offline/phrases",
    async *stream(request, { signal }) {
      signal.throwIfAborted();
      const { text, calls, delayMs } = answer(request, options);
      for (const word of text.match(/\s*\S+\s*/g) ?? []) {
        yield { type: "text", text: word };
        await sleep(delayMs, signal);
      }
      for (const call of calls) {
        yield { type: "call", call: { id: newCallId(), name: call.tool, input: call.input } };
      }
      yield finish(calls.length > 0 ? "tool-calls" : "stop");
    },
  };
}

interface Answer {
  readonly text: string;
  readonly calls: readonly PhraseCall[];
  readonly delayMs: number;
}

function answer(request: ModelRequest, options: OfflineModelOptions): Answer {
  const say = (text: string, delayMs = 0): Answer => ({ text, calls: [], delayMs });
  if (request.outputSchema !== undefined) return say(JSON.stringify(schemaAnswer(request.outputSchema)));
  // A compaction asks, without tools and in words of its own, for a summary of what came before.
  const last = request.messages.at(-1);
  if (request.tools.length === 0 && request.messages.length > 1 && last?.role === "user" && /summar/i.test(last.text)) {
    return say(summaryAnswer(request.messages));
  }
  const { message, after } = currentMessage(request.messages);
  const phrase = parsePhrase(message);
  const results = after.flatMap((each) => (each.role === "tool" ? each.results : []));
  if (phrase.kind === "help") return say(helpAnswer(options.cwd));
  if (phrase.kind === "say") return say(words(phrase.words, after), options.wordDelayMs ?? 20);
  if (phrase.kind === "calls") {
    const next = nextStep(phrase.steps, after);
    if (next === undefined) return say(resultsAnswer(results));
    const missing = next.find((call) => !request.tools.some((tool) => tool.name === call.tool));
    if (missing === undefined) return { text: "", calls: next, delayMs: 0 };
    return say(`I would call ${missing.tool}, but that tool is not offered in this conversation.`);
  }
  if (results.length > 0) return say(resultsAnswer(results));
  return say(plainAnswer(message));
}

/** Messages that the program put among the person's: a notice, a command's output, a summary. Not to be answered. */
const fromProgram = /^\[(notice|the person ran a command|summary of the conversation so far)\]/;

/** The person's last message and what came after it: everything, when a compaction has taken the message away. */
function currentMessage(messages: readonly ModelMessage[]): { message: string; after: readonly ModelMessage[] } {
  const index = messages.findLastIndex((message) => message.role === "user" && !fromProgram.test(message.text));
  const message = messages[index];
  return { message: message?.role === "user" ? message.text : "", after: messages.slice(index + 1) };
}

/** A step that failed is the last one: what comes after it was meant to follow its success. */
function nextStep(
  steps: Extract<Phrase, { kind: "calls" }>["steps"],
  after: readonly ModelMessage[],
): readonly PhraseCall[] | undefined {
  const done = after.filter((message) => message.role === "assistant" && message.calls.length > 0).length;
  const last = after.findLast((message) => message.role === "tool");
  const failed = last?.results.some((result: ModelToolResult) => result.isError) ?? false;
  return failed ? undefined : steps[done];
}

/** Goes on after the last word that was said: a reply that was cut off is kept, so nothing is said twice. */
function words(count: number, after: readonly ModelMessage[]): string {
  const said = after.flatMap((message) => (message.role === "assistant" ? [message.text] : [])).join(" ");
  const last = Number([...said.matchAll(/\bword(\d+)\b/g)].at(-1)?.[1] ?? 0);
  if (last >= count) return `Those were all ${count} words.`;
  return Array.from({ length: count - last }, (_, index) => `word${last + index + 1}`).join(" ");
}

function finish(reason: "stop" | "tool-calls"): ModelEvent {
  return { type: "finish", reason, usage: {} };
}
