import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import type { HistoryEntry } from "../../src/agent/entries.js";
import { State } from "../../src/agent/state.js";
import type { FileStore } from "../../src/index.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { copyOfStore, expectSound, gate, kinds, makeStore, results, tool } from "./support.js";

const unknown =
  "(unknown: the run stopped before this result was saved, so the tool may or may not have run. Check whether it took effect before relying on it or running it again)";
const notRun = "(not run: the run stopped before this call started)";

/** Runs until the tool `die` is called, and returns the store as it was at that moment. */
async function dieInTool(calls: string[], options: { firstResult?: boolean } = {}): Promise<FileStore> {
  const { store, root } = makeStore();
  const resultSaved = gate();
  let left: FileStore | undefined;
  const model = new ScriptedModel([{ text: "I look.", calls: calls.map((name) => ({ name })) }, "done"]);
  const state = new State("go", { id: "s" });
  const agent = new Agent({
    model,
    store,
    tools: [
      tool("work", () => "WORKED"),
      tool("die", async () => {
        if (options.firstResult) await resultSaved.promise;
        left ??= copyOfStore(root);
        return "";
      }),
    ],
    onEvent: (event) => {
      if (event.type === "saved" && state.history[state.savedLength - 1]?.kind === "result") resultSaved.open();
    },
  });
  await agent.run(state);
  if (left === undefined) throw new Error("the tool did not run");
  return left;
}

describe("when the process dies while a tool runs", () => {
  it("keeps the results of the tools that had finished, and says of the other that it may have run", async () => {
    const store = await dieInTool(["work", "die"], { firstResult: true });
    const state = await store.load("s");
    expect(results(state)).toEqual(["WORKED", unknown]);
    expect(state.pendingCalls).toEqual([]);
    expect(state.cutOffTurn).toEqual({ turn: 1, cause: "killed", continued: false });
    expectSound(state);
  });

  it("does not run the call again, and the model decides", async () => {
    const store = await dieInTool(["die"]);
    const state = await store.load("s");
    const model = new ScriptedModel(["I check first."]);
    let ran = 0;
    const agent = new Agent({ model, store, tools: [tool("die", () => `ran ${++ran}`)] });
    expect(await agent.run(state)).toBe("I check first.");
    expect(ran).toBe(0);
    expect(model.requests[0]?.messages.at(-1)).toMatchObject({
      role: "tool",
      results: [{ text: unknown, isError: true }],
    });
  });

  it("saves that closing result, so that a second load gives the same words once", async () => {
    const store = await dieInTool(["die"]);
    const first = await store.load("s");
    const second = await store.load("s");
    expect(second.context).toEqual(first.context);
    await new Agent({ model: new ScriptedModel([]), store }).save(first);
    const third = await store.load("s");
    expect(results(third)).toEqual([unknown]);
    expect(third.savedLength).toBe(third.history.length);
    expect(third.context).toEqual(first.context);
  });

  it("says that a call which had not started did not run", async () => {
    const { store, root } = makeStore();
    const asked = gate();
    const model = new ScriptedModel([{ calls: [{ name: "work" }] }, "done"]);
    let left: FileStore | undefined;
    const agent = new Agent({
      model,
      store,
      tools: [tool("work", () => "x")],
      permissions: [
        async () => {
          left = copyOfStore(root);
          asked.open();
          return { allow: true };
        },
      ],
    });
    await agent.run(new State("go", { id: "s" }));
    const state = await left?.load("s");
    expect(state && results(state)).toEqual([notRun]);
  });

  it("keeps a message that waited for its place", async () => {
    const { store, root } = makeStore();
    const state = new State("go", { id: "s" });
    const model = new ScriptedModel([{ calls: [{ name: "die" }] }, "done"]);
    let left: FileStore | undefined;
    const agent = new Agent({
      model,
      store,
      tools: [
        tool("die", async () => {
          state.addUserMessage("and this");
          await agent.save(state);
          left = copyOfStore(root);
          return "ok";
        }),
      ],
    });
    await agent.run(state);
    const loaded = await left?.load("s");
    expect(loaded?.context.at(-1)).toEqual({ role: "user", text: "and this" });
    expect(loaded?.context.at(-2)).toMatchObject({ role: "tool", results: [{ text: unknown }] });
  });
});

describe("when the process dies while the model is asked", () => {
  it("drops the request, keeps the message and asks again", async () => {
    const { store, root } = makeStore();
    let left: FileStore | undefined;
    const model = new ScriptedModel([
      () => {
        left = copyOfStore(root);
        return "first answer";
      },
    ]);
    await new Agent({ model, store }).run(new State("MARK-1", { id: "s" }));
    const copy = left;
    if (copy === undefined) throw new Error("not asked");
    const state = await copy.load("s");
    expect(state.cutOffTurn).toEqual({ turn: 1, cause: "killed", continued: false });
    expect(state.isAnswered()).toBe(false);
    const again = new ScriptedModel(["second answer"]);
    expect(await new Agent({ model: again, store: copy }).run(state)).toBe("second answer");
    expect(again.requests[0]?.messages).toEqual([{ role: "user", text: "MARK-1" }]);
  });
});

describe("a turn that was cut off", () => {
  async function runEndedBy(reason: unknown): Promise<State> {
    const { store } = makeStore();
    const controller = new AbortController();
    const model = new ScriptedModel([
      () => {
        controller.abort(reason);
        return { stall: true };
      },
    ]);
    const state = new State("go");
    await expect(new Agent({ model, store }).run(state, { signal: controller.signal })).rejects.toBe(reason);
    return store.load(state.id);
  }

  it("is known as such after a signal or an exception, and not after Ctrl+C", async () => {
    const { SignalAbort, UserInterrupt } = await import("../../src/index.js");
    expect((await runEndedBy(new SignalAbort("SIGTERM"))).cutOffTurn?.cause).toBe("aborted:SIGTERM");
    expect((await runEndedBy(new SignalAbort("SIGHUP"))).cutOffTurn?.cause).toBe("aborted:SIGHUP");
    expect((await runEndedBy(new TypeError("bug"))).cutOffTurn?.cause).toBe("aborted:TypeError");
    const interrupted = await runEndedBy(new UserInterrupt());
    expect(interrupted.cutOffTurn).toBeUndefined();
    expect(interrupted.stoppedBy).toBe("interrupted");
  });

  it("goes on by itself once: the mark for it is kept with its turn", async () => {
    const store = await dieInTool(["die"]);
    const state = await store.load("s");
    state.record({ kind: "continued" });
    await new Agent({ model: new ScriptedModel([]), store }).save(state);
    const again = await store.load("s");
    expect(again.cutOffTurn).toEqual({ turn: 1, cause: "killed", continued: true });
    again.addUserMessage("next");
    expect(again.turn).toBe(2);
    await new Agent({ model: new ScriptedModel([]), store }).save(again);
    expect((await store.load("s")).cutOffTurn).toEqual({ turn: 2, cause: "not run", continued: false });
  });

  it("is none when the model had answered, or its request had failed for good", async () => {
    const { store } = makeStore();
    const answered = new State("a");
    await new Agent({ model: new ScriptedModel(["yes"]), store }).run(answered);
    expect((await store.load(answered.id)).cutOffTurn).toBeUndefined();
    const failed = new State("b");
    const model = new ScriptedModel([
      { error: Object.assign(new Error("500"), { code: "MODEL_SERVER" }) },
      "late answer",
    ]);
    const agent = new Agent({ model, store });
    await expect(agent.run(failed)).rejects.toThrow("500");
    const loaded = await store.load(failed.id);
    expect(loaded.cutOffTurn).toBeUndefined();
    expect(loaded.stoppedBy).toBe("error");
    expect(kinds(loaded.history)).toContain("error");
    expect(await agent.run(loaded)).toBe("late answer");
  });
});

describe("a store that failed halfway", () => {
  const at = "2026-01-01T00:00:00.000Z";
  const entries = (...bodies: object[]) => bodies.map((body, seq) => ({ seq, at, turn: 1, ...body }) as HistoryEntry);
  const snapshot = (historyLength: number) => ({
    task: "go",
    createdAt: at,
    historyLength,
    turn: 1,
    data: { step: "complete" },
  });
  const reply = { kind: "reply", text: "", model: "m", usage: {}, finish: "tool-calls" };
  const whole = [
    { kind: "user", text: "go" },
    { kind: "request", model: "m" },
    { ...reply, calls: [{ id: "call_2_0", name: "send", input: {} }] },
  ];
  const broken = [
    { kind: "call_started", callId: "call_2_0", name: "send" },
    { kind: "result", callId: "call_2_0", name: "send", text: "sent", isError: false, outcome: "ok" },
    { kind: "compaction", keepFrom: "?" },
    { ...reply, calls: [{ id: "call_6_0", name: "pay", input: {} }] },
    { kind: "call_started", callId: "call_6_0", name: "pay" },
  ];

  it("continues from the last complete save, with a notice that names the calls that may have run", () => {
    const record = { entries: entries(...whole, ...broken), snapshot: snapshot(3) };
    const state = State.fromRecord("s", record);
    expect(state.history.slice(0, 8)).toEqual(record.entries);
    const notice = state.history.find((entry) => entry.kind === "notice");
    expect(notice).toMatchObject({ skip: { from: 3, to: 7 } });
    expect(notice?.kind === "notice" && notice.text).toContain("send (call_2_0), pay (call_6_0)");
    expect(results(state).at(-1)).toBe(unknown);
    expect(state.context.map((message) => message.role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(state.data).toEqual({ step: "complete" });
    expectSound(state);
  });

  it("says so once: a second load adds nothing", () => {
    const first = State.fromRecord("s", { entries: entries(...whole, ...broken), snapshot: snapshot(3) });
    const again = State.fromRecord("s", { entries: first.history, snapshot: snapshot(3) });
    expect(again.history).toEqual(first.history);
    expect(again.context).toEqual(first.context);
  });

  it("reads around a step in the middle that cannot be replayed", () => {
    const damaged = entries(...whole.slice(0, 1), { kind: "reply", text: 7 }, { kind: "user", text: "MARK-2" });
    const state = State.fromRecord("s", { entries: damaged, snapshot: snapshot(3) });
    expect(state.context.map((message) => message.role === "user" && message.text)).toEqual([
      "go",
      "MARK-2",
      expect.stringContaining("history entries 1."),
    ]);
    expect(state.history.slice(0, 3)).toEqual(damaged);
  });

  it("tells when the snapshot knows of more steps than there are", () => {
    const state = State.fromRecord("s", { entries: entries({ kind: "user", text: "go" }), snapshot: snapshot(5) });
    expect(state.history[1]).toMatchObject({ kind: "notice", missing: [{ from: 1, to: 4 }] });
    const again = State.fromRecord("s", { entries: state.history, snapshot: snapshot(5) });
    expect(again.history).toEqual(state.history);
  });
});

describe("a history with a part that was lost", () => {
  it("keeps every position, loads both sides and says so once", async () => {
    const { store } = makeStore();
    const state = new State("MARK-1");
    const agent = new Agent({ model: new ScriptedModel(["one", "two"]), store });
    await agent.run(state);
    state.addUserMessage("MARK-6");
    await agent.run(state);
    const record = await store.read(state.id);
    if (record === undefined) throw new Error("not saved");
    const lost = { ...record, entries: record.entries.filter((entry) => entry.seq !== 2 && entry.seq !== 3) };
    const loaded = State.fromRecord("s", lost);
    expectSound(loaded);
    expect(kinds(loaded.history).slice(1, 5)).toEqual(["run_start", "missing", "missing", "run_end"]);
    expect(loaded.context).toContainEqual({ role: "user", text: "MARK-1" });
    expect(loaded.context).toContainEqual({ role: "user", text: "MARK-6" });
    expect(loaded.history.at(-1)).toMatchObject({ kind: "notice", missing: [{ from: 2, to: 3 }] });
    expect(loaded.usage).toEqual(state.usage);
    const again = State.fromRecord("s", {
      ...lost,
      entries: loaded.history.filter((entry) => entry.kind !== "missing"),
    });
    expect(again.history).toEqual(loaded.history);
  });

  it("keeps entries of kinds it does not know", () => {
    const entries = [
      { seq: 0, at: "", turn: 1, kind: "user", text: "hi" },
      { seq: 1, at: "", turn: 1, kind: "from-the-future", what: { ever: true } },
    ];
    const state = State.fromRecord("s", { entries, snapshot: undefined });
    expect(state.history).toEqual(entries);
    expect(state.context).toEqual([{ role: "user", text: "hi" }]);
  });
});
