import { describe, expect, it } from "vitest";
import type { HistoryEntry } from "../../src/agent/entries.js";
import type { Display } from "../../src/repl/display.js";
import type { CallResult } from "../../src/repl/render-call.js";
import { historyLines } from "../../src/repl/render-history.js";
import { TurnView } from "../../src/repl/view.js";
import type { SessionEvent } from "../../src/session/session.js";
import { FakeSession } from "./fake-session.js";

function textOf(items: readonly Display[]): string {
  let text = "";
  for (const item of items) {
    if (item.kind === "stream") text += item.text;
    else if (text !== "" && !text.endsWith("\n")) text += "\n";
    if (item.kind === "gap" && !text.endsWith("\n\n")) text += "\n";
    if (item.kind === "line") text += `${item.spans.map((span) => span.text).join("")}\n`;
  }
  return text;
}

function shown(...events: SessionEvent[]): string {
  const view = new TurnView(() => 80);
  return textOf(events.flatMap((event) => view.show(event)));
}

const text = (piece: string): SessionEvent => ({ type: "text", text: piece });
const started = (id: string, command: string): SessionEvent => ({
  type: "call_started",
  call: { id, name: "bash", input: { command } },
});
const output = (callId: string, chunk: string): SessionEvent => ({ type: "call_output", callId, chunk });
const ended = (callId: string, more: Partial<CallResult> = {}): SessionEvent => ({
  type: "call_result",
  callId,
  name: "bash",
  result: { kind: "result", callId, name: "bash", text: "", isError: false, outcome: "ok", durationMs: 1234, ...more },
});
const reply = (whole: string, cutOff?: string): SessionEvent => ({
  type: "reply",
  text: whole,
  calls: [],
  usage: {},
  cutOff,
});

describe("a reply", () => {
  it("appears as it comes, without empty lines at its ends", () => {
    expect(shown(text("\n\nHel"), text("lo\n"), text("\nthere\n\n"), reply("Hello\n\nthere"))).toBe("Hello\n\nthere");
  });

  it("that was not streamed appears as a whole", () => {
    expect(shown(reply("All at once"))).toBe("All at once");
  });

  it("that follows another one stands apart from it", () => {
    expect(shown(text("one"), reply("one"), text("two"), reply("two"))).toBe("one\n\ntwo");
  });

  it("that was cut off says so, once", () => {
    expect(shown(text("Hal"), reply("Hal", "interrupted"), { type: "run_end", reason: "interrupted" })).toBe(
      "Hal\n(cut off: interrupted)\n",
    );
  });

  it("cannot drive the terminal, also with a sequence cut over two pieces", () => {
    const drawn = shown(
      text("a\u001b"),
      text("[2Jb\u001b]0;PW"),
      text("N\u0007c\u009b31md"),
      text("\ud83d"),
      text("\udc4d"),
    );
    expect(drawn).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(drawn).toContain("👍");
  });
});

describe("a call", () => {
  it("is one line, its output below it, and how it ended", () => {
    expect(shown(text("I look."), started("1", "ls\n-la"), output("1", "a\nb"), output("1", "c\n"), ended("1"))).toBe(
      "I look.\n\n● bash ls -la\n  a\n  bc\n  ✓ 1.2 s\n",
    );
  });

  it("with endless output shows its head and tail and how much is between", () => {
    const lines = Array.from({ length: 100 }, (_, n) => `line${n}\n`);
    const drawn = shown(started("1", "x"), ...lines.map((line) => output("1", line)), ended("1"));
    expect(drawn).toContain("line14\n  … (80 more lines; the whole output is in the conversation)\n  line95");
    expect(drawn.split("\n")).toHaveLength(24);
  });

  it("whose output has no line break at all stays bounded", () => {
    const pieces = Array.from({ length: 200 }, () => output("1", "x".repeat(5000)));
    expect(shown(started("1", "x"), ...pieces, ended("1")).length).toBeLessThan(60_000);
  });

  it("that runs beside another one says whose output comes", () => {
    const drawn = shown(
      started("1", "one"),
      started("2", "two"),
      output("1", "from one\n"),
      output("2", "from two\n"),
      ended("2"),
      ended("1", { text: "from one" }),
    );
    expect(drawn).toBe(
      "● bash one\n● bash two\n● bash one\n  from one\n● bash two\n  from two\n  ✓ 1.2 s\n● bash one\n  ✓ 1.2 s\n",
    );
  });

  it.each([
    ["error", "✗ (exit code 3) · 1.2 s"],
    ["refused", "✗ not allowed · 1.2 s"],
    ["interrupted", "✗ interrupted · 1.2 s"],
    ["unknown", "? may or may not have run · 1.2 s"],
    ["not_run", "– did not run · 1.2 s"],
  ] as const)("that ended as %s says so", (outcome, words) => {
    const drawn = shown(started("1", "x"), output("1", "oh\n"), ended("1", { outcome, text: "oh\n(exit code 3)" }));
    expect(drawn).toContain(words);
  });

  it("that changes a file shows the difference, unless the question has shown it", () => {
    const diff = "edited a.ts (1 place)\n--- a.ts\n+++ a.ts\n@@ -1 +1 @@\n-old\n+new";
    expect(shown(started("1", "x"), ended("1", { text: diff }))).toContain("  -old\n  +new\n  ✓");
    const ask: SessionEvent = {
      type: "ask",
      askId: "a",
      call: { id: "1", name: "edit", input: { path: "a.ts" } },
      access: { action: "write", inside: true, subject: diff },
      always: "",
    };
    expect(shown(ask, started("1", "x"), ended("1", { text: diff }))).not.toContain("+new");
  });
});

describe("what else happens", () => {
  it("is told in one line each, a notice that comes twice once", () => {
    const notice = new FakeSession();
    notice.add({ kind: "notice", text: "the folder is gone" });
    const entry = notice.history[0] as HistoryEntry;
    expect(
      shown(
        { type: "retry", attempt: 2, delayMs: 4000, reason: "the model is busy" },
        { type: "notice", text: "the folder is gone" },
        { type: "entry", entry },
        { type: "compacted", summary: "s" },
        { type: "run_end", reason: "limit" },
      ).split("\n"),
    ).toEqual([
      "… the model is busy; asking again in 4.0 s (attempt 2)",
      "the folder is gone",
      "the older part of the conversation is now a summary for the model",
      "(stopped: the limit of steps is reached; :retry goes on)",
      "",
    ]);
  });
});

describe("the last exchanges of a long conversation", () => {
  it("are found without reading all of it", () => {
    const history = new Proxy([] as HistoryEntry[], {
      get: (_target, field) => {
        if (field === "length") return 20_000;
        const seq = Number(String(field));
        expect(seq).toBeGreaterThan(19_900);
        const kind = seq % 2 === 0 ? "user" : "notice";
        return { seq, at: "", turn: 1, kind, text: `text ${seq}` };
      },
    });
    const drawn = textOf(historyLines(history, { count: 3, bounded: true, columns: 80 }));
    expect(drawn).toBe("\n> text 19994\ntext 19995\n\n> text 19996\ntext 19997\n\n> text 19998\ntext 19999\n");
  });

  it("are cut when they are long, and whole when asked for", () => {
    const session = new FakeSession();
    session.add({ kind: "user", text: "q" });
    const long = Array.from({ length: 500 }, (_, n) => `row${n}`).join("\n");
    session.add({ kind: "reply", text: long, calls: [], model: "m", usage: {}, finish: "stop" });
    const options = { count: 3, columns: 80 };
    expect(textOf(historyLines(session.history, { ...options, bounded: true })).split("\n").length).toBeLessThan(20);
    expect(textOf(historyLines(session.history, { ...options, bounded: false }))).toContain(long);
  });
});
