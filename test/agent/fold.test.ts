import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EntryBody, HistoryEntry } from "../../src/agent/entries.js";
import { isReplayable } from "../../src/agent/entry-check.js";
import { ContextFold, fold } from "../../src/agent/fold.js";
import { closingText } from "../../src/agent/interrupt.js";
import { State } from "../../src/agent/state.js";
import { requestMessages } from "../../src/agent/valid-context.js";
import type { ModelMessage } from "../../src/model/model.js";
import { messagesProblems, requestProblems } from "../../src/testing/request-problems.js";
import { expectSound } from "./support.js";

const call = (id: string, name = "bash") => ({ id, name, input: {} });
const reply = (text: string, ...ids: string[]): EntryBody => ({
  kind: "reply",
  text,
  calls: ids.map((id) => call(id)),
  model: "m",
  usage: {},
  finish: "stop",
});
const result = (callId: string, text = `result of ${callId}`): EntryBody => ({
  kind: "result",
  callId,
  name: "bash",
  text,
  isError: false,
  outcome: "ok",
});
const request: EntryBody = { kind: "request", model: "m" };

function history(...bodies: EntryBody[]): HistoryEntry[] {
  return bodies.map((body, seq) => ({ seq, at: "2026-01-01T00:00:00.000Z", turn: 1, ...body }) as HistoryEntry);
}
function shape(messages: readonly ModelMessage[]): string[] {
  return messages.map((message) => {
    if (message.role === "user") return `user ${message.text}`;
    if (message.role === "tool") return `tool ${message.results.map((item) => item.text).join(" + ")}`;
    return `assistant ${message.text}${message.calls.map((item) => ` ${item.id}`).join("")}`;
  });
}

describe("the context of a history", () => {
  it("places results right after their calls, in the order of the calls", () => {
    const messages = fold(
      history({ kind: "user", text: "hi" }, request, reply("ok", "a", "b"), result("b"), result("a")),
    );
    expect(shape(messages)).toEqual(["user hi", "assistant ok a b", "tool result of a + result of b"]);
  });

  it("keeps a message that came while a request ran for after the reply", () => {
    const messages = fold(
      history(
        { kind: "user", text: "one" },
        request,
        { kind: "user", text: "two" },
        reply("first"),
        request,
        reply("second"),
      ),
    );
    expect(shape(messages)).toEqual(["user one", "assistant first", "user two", "assistant second"]);
  });

  it("keeps a message that came while calls were pending for after the last result", () => {
    const messages = fold(
      history(
        { kind: "user", text: "one" },
        request,
        reply("", "a", "b"),
        result("a"),
        { kind: "shell", command: "ls", output: "x\n", exitCode: 0 },
        { kind: "notice", text: "n" },
        result("b"),
      ),
    );
    expect(shape(messages)).toEqual([
      "user one",
      "assistant  a b",
      "tool result of a + result of b",
      "user [the person ran a command]\n$ ls\nx\n\n(exit code 0)",
      "user [notice] n",
    ]);
  });

  it("drops a request that never got its reply", () => {
    const messages = fold(
      history({ kind: "user", text: "one" }, request, { kind: "user", text: "two" }, request, reply("both")),
    );
    expect(shape(messages)).toEqual(["user one", "user two", "assistant both"]);
  });

  it("shows a cut-off reply with the reason, and no blank one", () => {
    const cutOff = { ...reply("half an ans"), cutOff: "interrupted by user" } as EntryBody;
    expect(shape(fold(history({ kind: "user", text: "q" }, request, cutOff)))).toEqual([
      "user q",
      "assistant half an ans",
      "user [notice] the reply above was cut off: interrupted by user",
    ]);
    const blank = { ...reply(" \n"), cutOff: "the connection was lost" } as EntryBody;
    expect(shape(fold(history({ kind: "user", text: "q" }, request, blank)))).toHaveLength(2);
  });

  it("replaces what a compaction summarises, and only that", () => {
    const messages = fold(
      history(
        { kind: "user", text: "old" },
        request,
        reply("", "a"),
        result("a"),
        request,
        reply("done"),
        { kind: "user", text: "new" },
        { kind: "compaction", summary: "they talked", keepFrom: 6, model: "m", usage: {} },
        request,
        reply("yes"),
      ),
    );
    expect(shape(messages)).toEqual([
      "user [summary of the conversation so far]\nthey talked",
      "user new",
      "assistant yes",
    ]);
  });

  it("replaces the summary by the next one", () => {
    const summary = (text: string, keepFrom: number): EntryBody => ({
      kind: "compaction",
      summary: text,
      keepFrom,
      model: "m",
      usage: {},
    });
    const messages = fold(
      history(
        { kind: "user", text: "a" },
        { kind: "user", text: "b" },
        { kind: "user", text: "c" },
        summary("first", 1),
        summary("second", 2),
      ),
    );
    expect(shape(messages)).toEqual(["user [summary of the conversation so far]\nsecond", "user c"]);
  });

  it("leaves out what a notice says to skip, also what was folded already", () => {
    const entries = history(
      { kind: "user", text: "one" },
      request,
      reply("", "a"),
      { kind: "notice", text: "half-written", skip: { from: 1, to: 2 } },
      { kind: "user", text: "two" },
    );
    expect(shape(fold(entries))).toEqual(["user one", "user [notice] half-written", "user two"]);
    const growing: HistoryEntry[] = [];
    const folding = new ContextFold(growing);
    for (const entry of entries) {
      growing.push(entry);
      folding.advance();
    }
    expect(folding.context).toEqual(fold(entries));
  });

  it("drops a result without a call, and a second result", () => {
    const messages = fold(
      history({ kind: "user", text: "q" }, result("x"), request, reply("", "a"), result("a"), result("a", "again")),
    );
    expect(shape(messages)).toEqual(["user q", "assistant  a", "tool result of a"]);
  });

  it("gives a call whose result was lost the words for that", () => {
    const started: EntryBody = { kind: "call_started", callId: "a", name: "bash" };
    const messages = fold(
      history({ kind: "user", text: "q" }, reply("", "a", "b"), started, { kind: "missing" }, reply("end")),
    );
    expect(shape(messages)[2]).toBe(`tool ${closingText.unknown} + ${closingText.notStarted}`);
    expect(messagesProblems(messages)).toEqual([]);
  });

  it("makes ids unique, and still finds their results", () => {
    const messages = fold(
      history(
        { kind: "user", text: "q" },
        reply("", "a", "a", "not valid!"),
        result("a", "first"),
        result("a", "second"),
        result("not valid!", "third"),
        reply("", "a"),
        result("a", "fourth"),
      ),
    );
    expect(messagesProblems(messages)).toEqual([]);
    expect(shape(messages)[2]).toBe("tool first + second + third");
    expect(shape(messages)[4]).toBe("tool fourth");
  });

  it("ends a request with a message from the user", () => {
    const answered = fold(history({ kind: "user", text: "q" }, reply("a")));
    expect(requestProblems({ messages: answered })).toEqual(["the last message is from the assistant"]);
    expect(requestProblems({ messages: requestMessages(answered) })).toEqual([]);
  });

  it("lets no oversized item through", () => {
    const huge = "A".repeat(12 << 20);
    const messages = fold(
      history(
        { kind: "user", text: huge },
        { ...reply(huge), calls: [{ id: "a", name: "bash", input: { command: huge } }] } as EntryBody,
        result("a", huge),
      ),
    );
    expect(messagesProblems(messages)).toEqual([]);
    expect(JSON.stringify(messages).length).toBeLessThan(6 << 20);
  });
});

const text = fc.oneof(
  fc.constantFrom("", " ", "\n\t", "\u0000", "\ud800", "a\udc00b", "\u001c\u0085", "\ufeff", "hello", "漢😀"),
  fc.string({ unit: "binary", maxLength: 6 }),
);
const id = fc.constantFrom("a", "b", "call_3_0", "", "not valid!", "x".repeat(80));
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => value as never);
const input = fc.oneof(json, fc.record({ "\ud800": text, __proto__: text }), fc.constant(undefined as never));
const junk = fc.constantFrom(undefined, null, 7, {}, [], "x", [null], { from: -1, to: 3 });
const calls = fc.array(fc.record({ id, name: text, input }), { maxLength: 3 });
const position = fc.integer({ min: -1, max: 14 });
const body: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  fc.record({ kind: fc.constant("user"), text }),
  fc.record({
    kind: fc.constant("notice"),
    text,
    skip: fc.option(fc.record({ from: position, to: position }), { nil: undefined }),
  }),
  fc.record({ kind: fc.constant("trimmed"), bytesMax: fc.integer({ min: 200, max: 400 }) }),
  fc.record({ kind: fc.constant("shell"), command: text, output: text, exitCode: fc.constantFrom(0, null) }),
  fc.record({ kind: fc.constant("request"), model: text }),
  fc.record({ kind: fc.constant("reply"), text, calls, cutOff: fc.option(text, { nil: undefined }) }),
  fc.record({ kind: fc.constant("reply"), text, calls }),
  fc.record({ kind: fc.constant("call_started"), callId: id }),
  fc.record({ kind: fc.constant("result"), callId: id, text, isError: fc.boolean() }),
  fc.record({ kind: fc.constant("compaction"), summary: text, keepFrom: position }),
  fc.record({ kind: fc.constantFrom("run_start", "run_end", "error", "missing", "ask", "unheard-of"), step: text }),
  // Hand-edited: any kind with anything in its fields.
  fc.record({
    kind: fc.constantFrom("user", "notice", "shell", "reply", "result", "compaction", "call_started"),
    text: junk,
    calls: junk,
    callId: junk,
    skip: junk,
    summary: junk,
    keepFrom: junk,
  }),
);
const numbered = (bodies: Record<string, unknown>[]) =>
  bodies.map((fields, seq) => ({ seq, at: "", turn: 1, ...fields }) as unknown as HistoryEntry);
const bodies = fc.array(body, { maxLength: 14 });
const histories = bodies.map(numbered);
/** What a long conversation ends with most: no calls. */
const talk: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  fc.record({ kind: fc.constantFrom("user", "notice"), text }),
  fc.record({ kind: fc.constantFrom("request", "run_end"), model: text, reason: text }),
  fc.record({ kind: fc.constant("reply"), text, calls: fc.constant([]) }),
);
const told = (folded: ContextFold) => ({
  pendingCalls: folded.pendingCalls,
  isAnswered: folded.isAnswered,
  answer: folded.answer,
  started: folded.pendingCalls.map((pending) => folded.isStarted(pending.id)),
});

describe("any history, also a damaged or hand-edited one", () => {
  it("makes a context that strict APIs take", () => {
    fc.assert(
      fc.property(histories, (entries) => {
        const messages = fold(entries);
        if (messages.length === 0) return;
        expect(messagesProblems(messages)).toEqual([]);
        expect(requestProblems({ messages: requestMessages(messages) })).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  it("makes the same context entry by entry as at once", () => {
    fc.assert(
      fc.property(histories, (entries) => {
        const growing: HistoryEntry[] = [];
        const folding = new ContextFold(growing);
        for (const entry of entries) {
          growing.push(entry);
          folding.advance();
          expect(folding.context).toEqual(fold(growing));
        }
      }),
      { numRuns: 500 },
    );
  });

  it("tells from its end alone what all of it tells, also when it goes on", () => {
    fc.assert(
      fc.property(bodies, fc.array(talk, { maxLength: 8 }), bodies, fc.nat(30), (before, end, after, length) => {
        const entries = numbered([...before, ...end, ...after]);
        const growing: HistoryEntry[] = [];
        const whole = new ContextFold(growing);
        const loaded = entries.slice(0, length);
        const fromEnd = new ContextFold(loaded);
        for (const entry of entries) {
          growing.push(entry);
          whole.advance();
          if (growing.length < loaded.length) continue;
          if (growing.length > loaded.length) loaded.push(entry);
          fromEnd.advance();
          expect(told(fromEnd)).toEqual(told(whole));
        }
        expect(fromEnd.context).toEqual(whole.context);
        expect(fromEnd.positions).toEqual(whole.positions);
      }),
      { numRuns: 2000 },
    );
  });

  it("leaves nothing out because of a notice that is left out itself", () => {
    const entries = numbered([
      {
        kind: "reply",
        text: "",
        calls: [{ id: "a", name: "t", input: {} }],
        model: "m",
        usage: {},
        finish: "tool-calls",
      },
      { kind: "reply", text: "whole", calls: [], model: "m", usage: {}, finish: "stop" },
      { kind: "notice", text: "n", skip: { from: 1, to: 1 } },
      { kind: "notice", text: "n", skip: { from: 0, to: 3 } },
    ]);
    const state = State.fromRecord("x", { entries, snapshot: { task: "t", createdAt: "", historyLength: 2 } });
    expectSound(state);
    expect(state.pendingCalls).toEqual([]);
  });

  it("loads, and is sound after any more entries", () => {
    fc.assert(
      fc.property(histories, histories, fc.option(position, { nil: undefined }), (saved, more, historyLength) => {
        const entries = saved.filter((entry) => entry.kind !== "missing");
        const snapshot = historyLength === undefined ? undefined : { task: "t", createdAt: "", historyLength };
        const state = State.fromRecord("x", { entries, snapshot });
        expectSound(state);
        expect(state.pendingCalls).toEqual([]);
        for (const entry of more) {
          const { seq: _seq, at: _at, turn: _turn, ...fields } = entry;
          if (isReplayable(entry) && !("skip" in fields)) state.record(fields as EntryBody);
        }
        expectSound(state);
      }),
      { numRuns: 1000 },
    );
  });
});
