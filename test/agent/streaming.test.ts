import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import type { AgentEvent } from "../../src/agent/events.js";
import { SignalAbort, UserInterrupt } from "../../src/agent/interrupt.js";
import { ReplyDraft } from "../../src/agent/reply-draft.js";
import { State } from "../../src/agent/state.js";
import type { FileStore } from "../../src/index.js";
import type { Draft, SavedRecord, Store } from "../../src/store/store.js";
import { MemoryStore } from "../../src/testing/memory-store.js";
import { ScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { deadlineMs } from "../support/deadline.js";
import { StandingClock, StreamingModel } from "./streaming-model.js";
import { copyOfStore, diskFull, expectSound, FaultyStore, kinds, makeStore } from "./support.js";

const killed = "the program was killed";
const notice = `[notice] the reply above was cut off: ${killed}`;

/** A reply that streams, on a real store, in a process that can be killed at any moment: then its files are copied. */
function streaming() {
  const { store, root } = makeStore();
  const model = new StreamingModel();
  const clock = new StandingClock();
  const controller = new AbortController();
  const events: AgentEvent[] = [];
  const state = new State("go", { id: "s" });
  const agent = new Agent({ model, store, clock, onEvent: (event) => events.push(event) });
  const run = agent.run(state, { signal: controller.signal });
  run.catch(() => undefined);
  const shown = () => events.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("");
  const onDisk = async () => (await store.read("s"))?.draft?.text ?? "";
  return {
    ...{ store, root, model, clock, state, agent, run, events, shown, onDisk },
    file: join(root, "s", "streaming"),
    abort: (reason: unknown) => controller.abort(reason),
    isShown: (text: string) => until(`${text} is shown`, () => shown().endsWith(text)),
    isOnDisk: (text: string) => until(`${text} is on disk`, async () => (await onDisk()) === text),
    kill: () => copyOfStore(root),
    /** The process that was killed is still this one: it lets go of its files. */
    async end() {
      controller.abort(new UserInterrupt());
      await run.catch(() => undefined);
      await store.unlock("s");
    },
  };
}

describe("when the process is killed while a reply streams", () => {
  it("what had streamed is there as a cut-off reply, and the model is asked again with it", async () => {
    const reply = streaming();
    reply.model.say("Once upon ");
    await reply.isOnDisk("Once upon ");
    reply.model.say("a time");
    await reply.isShown("a time");
    reply.clock.pass();
    await reply.isOnDisk("Once upon a time");
    const left = reply.kill();
    await reply.end();

    const state = await left.load("s");
    expectSound(state);
    expect(state.history.at(-1)).toMatchObject({
      kind: "reply",
      text: "Once upon a time",
      calls: [],
      model: "streaming/model",
      cutOff: killed,
    });
    expect(state.isAnswered()).toBe(false);
    expect(state.answer).toBeUndefined();
    expect(state.cutOffTurn).toEqual({ turn: 1, cause: "killed", continued: false });
    const model = new ScriptedModel(["there was a chat."]);
    expect(await new Agent({ model, store: left }).run(state)).toBe("there was a chat.");
    expect(model.requests[0]?.messages).toEqual([
      { role: "user", text: "go" },
      { role: "assistant", text: "Once upon a time", calls: [] },
      { role: "user", text: notice },
    ]);
    expect(existsSync(join(left.key, "s", "streaming"))).toBe(false);
    expect((await left.load("s")).history).toEqual(state.history);
  });

  it("a second load finds the same, saved or not, and looking writes nothing", async () => {
    const reply = streaming();
    reply.model.say("half");
    await reply.isOnDisk("half");
    const left = reply.kill();
    await reply.end();

    const files = () => readdirSync(join(left.key, "s"));
    const before = files();
    const first = await left.load("s");
    const second = await left.load("s");
    expect(files()).toEqual(before);
    expect(second.context).toEqual(first.context);
    expect(kinds(second.history)).toEqual(kinds(first.history));
    expect(first.savedLength).toBe(first.history.length - 1);
    await new Agent({ model: new ScriptedModel([]), store: left }).save(first);
    const saved = await left.load("s");
    expect(saved.history).toEqual(first.history);
    expect(saved.context).toEqual(first.context);
    expect(saved.savedLength).toBe(saved.history.length);
  });

  it("twice, also the second time: both parts are kept, in order", async () => {
    const reply = streaming();
    reply.model.say("first half");
    await reply.isOnDisk("first half");
    const left = reply.kill();
    await reply.end();

    const state = await left.load("s");
    const model = new StreamingModel();
    const controller = new AbortController();
    const run = new Agent({ model, store: left }).run(state, { signal: controller.signal });
    run.catch(() => undefined);
    model.say("second half");
    await until("it is on disk", async () => (await left.read("s"))?.draft?.text === "second half");
    const again = await copyOfStore(left.key).load("s");
    controller.abort(new UserInterrupt());
    await run.catch(() => undefined);
    expectSound(again);
    expect(again.context.map((message) => message.role === "tool" || message.text)).toEqual([
      ...["go", "first half", notice, "second half", notice],
    ]);
  });

  it("a message that came meanwhile stands after the cut-off reply", async () => {
    const reply = streaming();
    reply.model.say("half");
    await reply.isOnDisk("half");
    reply.state.addUserMessage("and this");
    await reply.agent.save(reply.state);
    const left = reply.kill();
    await reply.end();
    const state = await left.load("s");
    expectSound(state);
    expect(state.context.map((message) => message.role === "tool" || message.text)).toEqual([
      ...["go", "half", notice, "and this"],
    ]);
  });

  it("half a surrogate pair at its end becomes U+FFFD, so that every API accepts it", async () => {
    const reply = streaming();
    reply.model.say("smile \ud83d");
    await reply.isOnDisk("smile \ud83d");
    const left = reply.kill();
    await reply.end();
    const state = await left.load("s");
    expectSound(state);
    expect(state.context[1]).toMatchObject({ text: "smile \ufffd" });
    expect(await new Agent({ model: new ScriptedModel(["ok"]), store: left }).run(state)).toBe("ok");
  });

  it("nothing is made up of reasoning or of white space", async () => {
    const reply = streaming();
    reply.model.push({ type: "reasoning", text: "let me think" });
    reply.model.say(" \n");
    await reply.isShown(" \n");
    reply.clock.pass();
    await reply.agent.save(reply.state);
    expect(existsSync(reply.file)).toBe(false);
    await reply.end();
    const blank = await reply.store.load("s");
    expect(kinds(blank.history)).not.toContain("reply");
    const { entries, snapshot } = (await reply.store.read("s")) ?? { entries: [], snapshot: undefined };
    const requestSeq = entries.findIndex((entry) => entry.kind === "request");
    const cut = { entries: entries.slice(0, requestSeq + 1), snapshot };
    expect(State.fromRecord("s", { ...cut, draft: { requestSeq, text: "\n\u200b " } }).savedLength).toBe(
      requestSeq + 1,
    );
    expect(kinds(State.fromRecord("s", { ...cut, draft: { requestSeq, text: "\n\u200b " } }).history)).not.toContain(
      "reply",
    );
  });

  it("the beginning of what was shown is there, with all that was shown before the last wait, whatever the pieces", async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 8 }).map((text) => ({ text })) },
      { weight: 1, arbitrary: fc.constant("pass" as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
        const reply = streaming();
        // Visible from the beginning: blank text alone is not kept.
        let said = "a";
        reply.model.say(said);
        await reply.isOnDisk(said);
        let kept = said;
        for (const each of steps) {
          if (each === "pass") {
            reply.clock.pass();
            await reply.isOnDisk(said);
            kept = said;
          } else {
            reply.model.say(each.text);
            said += each.text;
            await until("it is shown", () => reply.shown() === said);
          }
        }
        const left = reply.kill();
        await reply.end();
        const draft = (await left.read("s"))?.draft?.text ?? "";
        expect(draft.startsWith(kept)).toBe(true);
        expect(said.startsWith(draft)).toBe(true);
        const state = await left.load("s");
        expectSound(state);
        expect(state.history.at(-1)).toMatchObject({ kind: "reply", cutOff: killed });
      }),
      { numRuns: 15 },
    );
  });
});

describe("a draft that is out of date", () => {
  const endings: [string, ScriptedStep[]][] = [
    ["answered", ["whole"]],
    ["cut and asked again", [{ chunks: ["part"], cut: true }, "whole"]],
    ["failed", [{ error: Object.assign(new Error("500"), { code: "MODEL_SERVER" }) }]],
    ["failed after a part", [{ chunks: ["part"], error: Object.assign(new Error("500"), { code: "MODEL_SERVER" }) }]],
  ];
  it.each(endings)("is left alone when its request was %s", async (_, steps) => {
    const { store } = makeStore();
    const state = new State("go", { id: "s" });
    const clock = { now: () => 0, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };
    const agent = new Agent({ model: new ScriptedModel(steps), store, clock });
    await agent.run(state).catch(() => undefined);
    for (const entry of state.history) {
      await store.writeDraft("s", { requestSeq: entry.seq, text: "long ago" });
      const loaded = await store.load("s");
      expect(loaded.history).toEqual(state.history);
      expect(loaded.context).toEqual(state.context);
    }
  });

  it("of an entry that is not there, or that is left out, is no reply", async () => {
    const at = "2026-01-01T00:00:00.000Z";
    const entries = [
      { seq: 0, at, turn: 1, kind: "user", text: "go" },
      { seq: 1, at, turn: 1, kind: "request", model: "m" },
      { seq: 2, at, turn: 1, kind: "compaction", keepFrom: "?" },
    ];
    const record: SavedRecord = {
      entries,
      snapshot: { task: "go", createdAt: at, historyLength: 1 },
      draft: { requestSeq: 1, text: "half" },
    };
    const first = State.fromRecord("s", record);
    expect(kinds(first.history)).toEqual(["user", "request", "compaction", "notice"]);
    const again = State.fromRecord("s", { ...record, entries: first.history });
    expect(again.history).toEqual(first.history);
    for (const requestSeq of [0, 2, 7]) {
      const state = State.fromRecord("s", { ...record, draft: { requestSeq, text: "half" } });
      expect(kinds(state.history)).not.toContain("reply");
    }
  });
});

describe("while a reply streams", () => {
  it("its first words are written at once, the pieces of a wait together, the last ones before the reply is saved", async () => {
    const { store, root } = makeStore();
    const drafts: (string | undefined)[] = [];
    const watched = new WatchedStore(store, (draft) => drafts.push(draft?.text));
    const model = new StreamingModel();
    const clock = new StandingClock();
    const shown: string[] = [];
    const state = new State("go", { id: "s" });
    const run = new Agent({
      ...{ model, clock, store: watched },
      onEvent: (event) => event.type === "text" && shown.push(event.text),
    }).run(state);
    for (let word = 0; word < 1000; word += 1) model.say(`${word} `);
    await until("all words are shown", () => shown.length === 1000);
    await until("the first is written", () => drafts.length === 1);
    clock.pass();
    await until("the others are written", () => drafts.length === 2);
    model.say("end");
    await until("the end is shown", () => shown.at(-1) === "end");
    model.finish();
    const answer = await run;
    await until("the draft is gone", () => !existsSync(join(root, "s", "streaming")));
    expect(drafts).toEqual(["0 ", shown.slice(0, 1000).join(""), answer, undefined]);
    expect(Math.max(...clock.sleeps)).toBeLessThan(100);
  });

  it("nothing is written after it has ended, however it ends", async () => {
    for (const reason of [new UserInterrupt(), new SignalAbort("SIGTERM")]) {
      const reply = streaming();
      reply.model.say("half");
      await reply.isOnDisk("half");
      reply.abort(reason);
      await expect(reply.run).rejects.toBe(reason);
      expect(existsSync(reply.file)).toBe(false);
      const state = await reply.kill().load("s");
      expect(state.history).toEqual(reply.state.history);
      expect(state.history.filter((entry) => entry.kind === "reply")).toHaveLength(1);
      await reply.store.unlock("s");
    }
  });

  it("a whole reply is durable before it is told of, and a run that has ended is saved", async () => {
    const { store, root } = makeStore();
    const atReply: string[][] = [];
    const copies: FileStore[] = [];
    const agent = new Agent({
      model: new ScriptedModel([{ chunks: ["on", "e"] }]),
      store,
      onEvent: (event) => event.type === "reply" && copies.push(copyOfStore(root)),
    });
    const state = new State("go", { id: "s" });
    await agent.run(state);
    for (const copy of copies) atReply.push(kinds((await copy.read("s"))?.entries ?? []));
    expect(atReply).toEqual([["user", "run_start", "request", "reply"]]);
    expect((await copyOfStore(root).load("s")).history).toEqual(state.history);
  });

  it("a whole reply that cannot be saved is not told of, and what streamed stays", async () => {
    const { store, root } = makeStore();
    const watched = new WatchedStore(store);
    const events: AgentEvent[] = [];
    watched.before = (entries) => {
      if (kinds(entries).includes("reply")) throw diskFull();
    };
    const model = new ScriptedModel(["one two"]);
    const agent = new Agent({ model, store: watched, onEvent: (event) => events.push(event) });
    await expect(agent.run(new State("go", { id: "s" }))).rejects.toMatchObject({ code: "ENOSPC" });
    expect(events.map((event) => event.type)).not.toContain("reply");
    await until("what streamed is on disk", async () => (await store.read("s"))?.draft?.text === "one two");
    const state = await copyOfStore(root).load("s");
    expect(state.history.at(-1)).toMatchObject({ kind: "reply", text: "one two", cutOff: killed });
  });
});

describe("a store that", () => {
  const reply: ScriptedStep = { chunks: ["one ", "two ", "three"] };

  it("cannot keep drafts works as before", async () => {
    const store = new FaultyStore(makeStore().store);
    const events: AgentEvent[] = [];
    const state = new State("go", { id: "s" });
    const agent = new Agent({ model: new ScriptedModel([reply]), store, onEvent: (event) => events.push(event) });
    expect(await agent.run(state)).toBe("one two three");
    expect((await store.read("s"))?.entries).toEqual(state.history);
    expect(events.map((event) => event.type)).not.toContain("draft_failed");
  });

  it("fails at drafts fails no reply; it is said once, and again only after it had worked", async () => {
    let broken = true;
    const store = new WatchedStore(makeStore().store, () => {
      if (broken) throw diskFull();
    });
    const events: AgentEvent[] = [];
    const state = new State("go", { id: "s" });
    const model = new ScriptedModel([reply, reply, reply, reply]);
    const agent = new Agent({ model, store, onEvent: (event) => events.push(event) });
    const failed = () => events.filter((event) => event.type === "draft_failed").length;
    for (const [isBroken, failures] of [
      ...([[true, 1] as const, [true, 1] as const, [false, 1] as const, [true, 2] as const] as const),
    ]) {
      broken = isBroken;
      state.addUserMessage("more");
      expect(await agent.run(state)).toBe("one two three");
      expect(failed()).toBe(failures);
    }
    expect((await store.read("s"))?.entries).toEqual(state.history);
  });

  it("hangs at a draft holds up no reply, no save and nobody who stops the run", async () => {
    const { store, root } = makeStore();
    const hanging = new WatchedStore(store, () => new Promise(() => undefined));
    const state = new State("go", { id: "s" });
    const model = new StreamingModel();
    const shown: string[] = [];
    const controller = new AbortController();
    const agent = new Agent({
      ...{ model, store: hanging },
      onEvent: (event) => event.type === "text" && shown.push(event.text),
    });
    model.say("one");
    model.finish();
    expect(await agent.run(state)).toBe("one");
    state.addUserMessage("more");
    const run = agent.run(state, { signal: controller.signal });
    model.say("half");
    await until("it is shown", () => shown.includes("half"));
    const reason = new UserInterrupt();
    controller.abort(reason);
    await expect(run).rejects.toBe(reason);
    expect((await copyOfStore(root).load("s")).history).toEqual(state.history);
    expect(state.history.at(-2)).toMatchObject({ kind: "reply", text: "half", cutOff: "interrupted by user" });
  });

  it("is in memory keeps them too", async () => {
    const store = new MemoryStore();
    const model = new StreamingModel();
    const controller = new AbortController();
    const run = new Agent({ model, store }).run(new State("go", { id: "s" }), { signal: controller.signal });
    model.say("half");
    await until("it is kept", async () => (await store.read("s"))?.draft?.text === "half");
    const record = await store.read("s");
    controller.abort(new UserInterrupt());
    await run.catch(() => undefined);
    if (record === undefined) throw new Error("not saved");
    expect(State.fromRecord("s", record).history.at(-1)).toMatchObject({ text: "half", cutOff: killed });
  });

  it("does not have the request gets no draft of its reply", async () => {
    const drafts: (string | undefined)[] = [];
    const store = new WatchedStore(makeStore().store, (draft) => drafts.push(draft?.text));
    const agent = new Agent({ model: new ScriptedModel([]), store });
    const state = new State("go", { id: "s" });
    await agent.save(state);
    const { seq } = state.record({ kind: "request", model: "m" });
    const draft = new ReplyDraft(agent, state, { text: "half", calls: [], finish: undefined });
    draft.begin(seq);
    draft.textCame();
    await agent.save(state);
    expect(drafts).toEqual([]);
    draft.textCame();
    draft.end();
    await until("it is written", () => drafts.length === 1);
    expect(drafts).toEqual(["half"]);
  });

  it("fails while a run is stopped keeps the draft: it is all there is", async () => {
    const { store, root } = makeStore();
    const drafts: (string | undefined)[] = [];
    const watched = new WatchedStore(store, (draft) => drafts.push(draft?.text));
    const model = new StreamingModel();
    const controller = new AbortController();
    const run = new Agent({ model, store: watched }).run(new State("go", { id: "s" }), { signal: controller.signal });
    model.say("half");
    await until("it is on disk", async () => (await store.read("s"))?.draft?.text === "half");
    watched.before = () => {
      throw diskFull();
    };
    controller.abort(new UserInterrupt());
    await expect(run).rejects.toThrow("interrupted by user");
    await store.unlock("s");
    expect(drafts).toEqual(["half"]);
    expect((await copyOfStore(root).load("s")).history.at(-1)).toMatchObject({ text: "half", cutOff: killed });
  });
});

/** Looks again at each turn of the event loop: what is waited for is a matter of microseconds. */
async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A FileStore whose drafts the test sees, or disturbs, before they are written. */
class WatchedStore implements Store {
  readonly key: string;
  before: FaultyStore["before"] = () => undefined;
  readonly #store: FileStore;
  readonly #beforeDraft: (draft: Draft | undefined) => unknown;

  constructor(store: FileStore, beforeDraft: (draft: Draft | undefined) => unknown = () => undefined) {
    this.#store = store;
    this.#beforeDraft = beforeDraft;
    this.key = store.key;
  }

  async write(...[id, entries, snapshot, options]: Parameters<FileStore["write"]>): Promise<void> {
    await this.before(entries, snapshot);
    await this.#store.write(id, entries, snapshot, options);
  }

  read(id: string): Promise<SavedRecord | undefined> {
    return this.#store.read(id);
  }

  async writeDraft(id: string, draft: Draft | undefined): Promise<void> {
    await this.#beforeDraft(draft);
    await this.#store.writeDraft(id, draft);
  }
}
