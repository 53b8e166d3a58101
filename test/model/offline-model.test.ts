import { describe, expect, it } from "vitest";
import type { ModelMessage, ModelRequest, ToolSpec } from "../../src/model/model.js";
import { createOfflineModel } from "../../src/model/offline-model.js";
import { openModel } from "../../src/model/open-model.js";
import { callsOf, collect, textOf, user } from "./model-cases.js";

const model = createOfflineModel({ cwd: "/work/project", wordDelayMs: 0 });
const tools: readonly ToolSpec[] = ["bash", "read", "write", "edit", "list", "search"].map((name) => ({
  name,
  description: "",
  inputSchema: { type: "object" },
}));

function request(messages: readonly ModelMessage[], parts: Partial<ModelRequest> = {}): ModelRequest {
  return { system: undefined, messages, tools, ...parts };
}

async function callsFor(text: string): Promise<unknown[]> {
  return callsOf(await collect(model, request([user(text)]))).map((call) => [call.name, call.input]);
}

async function answerTo(...messages: ModelMessage[]): Promise<string> {
  return textOf(await collect(model, request(messages)));
}

const ran = (command: string, text: string, isError = false): ModelMessage[] => [
  { role: "assistant", text: "", calls: [{ id: command, name: "bash", input: { command } }] },
  { role: "tool", results: [{ callId: command, name: "bash", text, isError }] },
];

describe("a phrase", () => {
  it.each([
    ["run ls -la", "bash", { command: "ls -la" }],
    ["$ git status", "bash", { command: "git status" }],
    ["$ls", "bash", { command: "ls" }],
    ["Run cat <<E\nhello\nE", "bash", { command: "cat <<E\nhello\nE" }],
    ["read package.json", "read", { path: "package.json" }],
    ["write notes.txt: hello world", "write", { path: "notes.txt", content: "hello world" }],
    ["write a.txt:\none\ntwo", "write", { path: "a.txt", content: "one\ntwo" }],
    ["edit a b.txt: old text => new", "edit", { path: "a b.txt", oldText: "old text", newText: "new" }],
    ["list", "list", {}],
    ["list src", "list", { path: "src" }],
    ["search TODO", "search", { pattern: "TODO" }],
    ["search TODO in src", "search", { pattern: "TODO", path: "src" }],
  ])("%j calls %s", async (text, tool, input) => {
    expect(await callsFor(text)).toEqual([[tool, input]]);
  });

  it("on each of several lines calls all of them at once", async () => {
    expect(await callsFor("run sleep 1\nread a.txt\n\nlist")).toEqual([
      ["bash", { command: "sleep 1" }],
      ["read", { path: "a.txt" }],
      ["list", {}],
    ]);
  });

  it("gets an id of its own each time", async () => {
    const asked = request([user("run ls\nrun ls")]);
    const ids = [...callsOf(await collect(model, asked)), ...callsOf(await collect(model, asked))].map((c) => c.id);
    expect(new Set(ids).size).toBe(4);
  });

  it("joined by `and then` waits for the one before it, and for its success", async () => {
    const said = user("run make and then run make test");
    expect(await callsFor("run make and then run make test")).toEqual([["bash", { command: "make" }]]);
    const second = await collect(model, request([said, ...ran("make", "built")]));
    expect(callsOf(second).map((call) => call.input)).toEqual([{ command: "make test" }]);
    expect(await answerTo(said, ...ran("make", "built"), ...ran("make test", "ok"))).toBe(
      "bash finished: built\nbash finished: ok",
    );
    expect(await answerTo(said, ...ran("make", "no rule", true))).toBe("bash failed: no rule");
  });

  it("does not run for a second time when notices follow its result", async () => {
    expect(await answerTo(user("run ls"), ...ran("ls", "a.txt"), user("[notice] resumed"))).toBe(
      "bash finished: a.txt",
    );
  });

  it("whose tool is not offered is answered in words", async () => {
    const events = await collect(model, request([user("run ls")], { tools: [] }));
    expect(callsOf(events)).toEqual([]);
    expect(textOf(events)).toContain("bash");
  });
});

describe("the offline model", () => {
  it("says what it is, what was said, and how to get a real one, the same way each time", async () => {
    const answer = await answerTo(user("What is the meaning of life?"));
    expect(answer).toContain("not a language model");
    expect(answer).toContain("What is the meaning of life?");
    expect(answer).toContain("ANTHROPIC_API_KEY");
    expect(await answerTo(user("What is the meaning of life?"))).toBe(answer);
  });

  it("lists its phrases and the folder on help", async () => {
    const answer = await answerTo(user("help"));
    expect(answer).toContain("write PATH: TEXT");
    expect(answer).toContain("/work/project");
  });

  it("streams word by word", async () => {
    const events = await collect(model, request([user("hello")]));
    expect(events.filter((event) => event.type === "text").length).toBeGreaterThan(10);
    expect(events.at(-1)).toEqual({ type: "finish", reason: "stop", usage: {} });
  });

  it("says numbered words, stops when aborted, and goes on where it was cut off", async () => {
    expect(await answerTo(user("say 3 words"))).toBe("word1 word2 word3");
    const abort = new AbortController();
    const reason = new Error("enough");
    let said = "";
    const reading = (async () => {
      for await (const event of model.stream(request([user("say 100000 words")]), { signal: abort.signal })) {
        if (event.type === "text") said += event.text;
        if (said.includes("word5")) abort.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    const cutOff: ModelMessage = { role: "assistant", text: said, calls: [] };
    expect(await answerTo(user("say 7 words"), cutOff, user("[notice] The reply was cut off."))).toBe("word6 word7");
  });

  it("shows the first lines of long results", async () => {
    const long = Array.from({ length: 50 }, (_, index) => `line ${index + 1}`).join("\n");
    expect(await answerTo(user("run seq"), ...ran("seq", long))).toBe(
      "bash finished: line 1\nline 2\nline 3\nline 4\nline 5 …",
    );
  });

  it("summarises for a compaction what the person said", async () => {
    const messages = [user("run ls"), ...ran("ls", "a.txt"), user("Summarize the conversation so far.")];
    const summary = textOf(await collect(model, request(messages, { tools: [] })));
    expect(summary).toContain("- run ls");
    expect(summary).toContain("1 tool calls: bash");
    expect(summary).not.toContain("Summarize");
  });

  it("answers a schema with the smallest value that fits", async () => {
    const outputSchema = {
      type: "object",
      properties: {
        name: { type: "string", minLength: 9 },
        kind: { enum: ["bug", "feature"] },
        count: { type: "integer", minimum: 3 },
        tags: { type: "array", items: { $ref: "#/$defs/tag" }, minItems: 1 },
        note: { anyOf: [{ type: "null" }, { type: "string" }] },
        optional: { type: "boolean" },
      },
      required: ["name", "kind", "count", "tags", "note"],
      $defs: { tag: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } },
    };
    expect(JSON.parse(textOf(await collect(model, request([user("describe")], { outputSchema }))))).toEqual({
      name: "offline..",
      kind: "bug",
      count: 3,
      tags: [{ ok: false }],
      note: null,
    });
  });

  it("opens by name without any key, and its own name opens it again", async () => {
    const opened = await openModel("offline", { env: {}, offline: { cwd: "/work/project" } });
    expect((await openModel(opened.name, { env: {} })).name).toBe(opened.name);
    expect(textOf(await collect(opened, request([user("help")])))).toContain("/work/project");
  });
});
