import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { EntryBody, PermissionRule } from "../../src/agent/entries.js";
import { State } from "../../src/agent/state.js";
import { forkState } from "../../src/session/fork-state.js";
import { LocalSessions } from "../../src/session/local-sessions.js";
import type { Session, SessionEvent } from "../../src/session/session.js";
import { FileStore } from "../../src/store/file-store.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { OtherProcess } from "../store/other-process.js";
import { tempFolder } from "../support/temp-folder.js";

let root: string;
let store: FileStore;
beforeEach(async () => {
  root = await tempFolder();
  store = new FileStore(root);
});

const usage = { inputTokens: 3, outputTokens: 4 };
const agent = { name: "chat", model: "fake/model", systemHash: "0123456789abcdef", tools: ["bash"] };
const call = { id: "call_3_0", name: "bash", input: { command: "deploy" } };
const reply = (text: string, calls: (typeof call)[] = []): EntryBody => {
  return { kind: "reply", text, calls, model: "fake/model", usage, finish: "stop" };
};
/** A turn that is under way: its tool has started. */
const running: EntryBody[] = [
  { kind: "run_start", agent },
  { kind: "request", model: "fake/model" },
  reply("I deploy", [call]),
  { kind: "call_started", callId: call.id, name: "bash" },
];

async function saved(id: string, ...bodies: EntryBody[]): Promise<State> {
  const state = new State("MARK-1", { id });
  for (const body of bodies) state.record(body);
  await store.write(id, state.history, state.snapshot(), { create: true });
  await store.unlock(id);
  return state;
}

/** The copy, as the next process loads it. */
async function copyOf(ref: string | undefined, options: { name?: string } = {}): Promise<State> {
  const id = await forkState(store, ref, options);
  await store.unlock(id);
  const record = await new FileStore(root).read(id);
  expect(record?.damage).toBeUndefined();
  if (record === undefined) throw new Error("no copy");
  const state = State.fromRecord(id, record);
  // All of it was on disk.
  expect(state.history.length).toBe(record.entries.length);
  return state;
}

function files(id: string): string[] {
  return readdirSync(join(root, id)).map((name) => `${name} ${readFileSync(join(root, id, name), "latin1")}`);
}

describe("a copy of a conversation", () => {
  it("has the same entries at the same places, its own id and name, and says where it comes from", async () => {
    const original = await saved("k7f2", reply("MARK-2"));
    const before = files("k7f2");
    const copy = await copyOf("k7f2");
    expect(copy.id).not.toBe("k7f2");
    expect(copy.history.slice(0, 2)).toEqual(original.history);
    expect(copy.history.slice(2)).toMatchObject([
      { seq: 2, kind: "forked", from: "k7f2" },
      { seq: 3, kind: "renamed", name: "MARK-1 (copy)" },
    ]);
    expect(copy.context).toEqual(original.context);
    expect(copy.createdAt).toBe(original.createdAt);
    expect(files("k7f2")).toEqual(before);
  });

  it("is of the most recently updated one without an id, and is named as its person wants", async () => {
    await saved("older");
    await saved("newest");
    expect((await copyOf(undefined, { name: "try two" })).name).toBe("try two");
    expect((await store.list()).map(({ task }) => task)).toEqual(["MARK-1", "MARK-1", "MARK-1"]);
  });

  it("has a name of its own, also as a copy of a copy", async () => {
    await saved("k7f2", { kind: "renamed", name: "the parser" });
    const names = [];
    for (const ref of ["k7f2", "k7f2", "the parser (copy)"]) names.push((await copyOf(ref)).name);
    expect(names).toEqual(["the parser (copy)", "the parser (copy 2)", "the parser (copy 3)"]);
  });

  it("can be made while the original is open elsewhere, which goes on as if nothing had been", async () => {
    await saved("k7f2", reply("MARK-2"));
    const other = await OtherProcess.start(root);
    await other.call("lock", "k7f2");
    const copy = await copyOf("k7f2");
    await other.call("write", "k7f2", [{ seq: 2, at: copy.createdAt, kind: "user", turn: 2, text: "MARK-3" }]);
    expect((await store.read("k7f2"))?.entries).toHaveLength(3);
    expect(copy.history[2]).toMatchObject({ kind: "forked" });
  });

  it("closes open calls and the running turn on its own side: nothing of it goes on by itself in the copy", async () => {
    const original = await saved("k7f2", ...running);
    const before = files("k7f2");
    const copy = await copyOf("k7f2");
    expect(copy.history.slice(original.history.length)).toMatchObject([
      { kind: "result", callId: call.id, outcome: "unknown" },
      { kind: "run_end", reason: "forked" },
      { kind: "forked" },
      { kind: "renamed" },
    ]);
    expect(copy.cutOffTurn).toBeUndefined();
    expect(copy.pendingCalls).toEqual([]);
    expect(files("k7f2")).toEqual(before);
  });

  it("does not answer by itself a message that the original is about to answer", async () => {
    await saved("k7f2");
    const copy = await copyOf("k7f2");
    expect(copy.cutOffTurn).toBeUndefined();
    expect(copy.isAnswered()).toBe(false);
  });

  it("has what had streamed until then as a cut-off reply; the draft stays the original's", async () => {
    await saved("k7f2", { kind: "run_start", agent }, { kind: "request", model: "fake/model" });
    await store.writeDraft("k7f2", { requestSeq: 2, text: "MARK-HALF" });
    await store.unlock("k7f2");
    const copy = await copyOf("k7f2");
    expect(copy.history[3]).toMatchObject({
      kind: "reply",
      text: "MARK-HALF",
      cutOff: expect.stringContaining("copied"),
    });
    expect(readdirSync(join(root, "k7f2"))).toContain("streaming");
    expect(readdirSync(join(root, copy.id))).not.toContain("streaming");
  });

  it("keeps kinds and fields that this version does not know, and the places of entries that were lost", async () => {
    const alien = { kind: "from-the-future", what: [1] };
    const head = { at: "2026-01-02T03:04:05.678Z", turn: 1 };
    await saved("k7f2", reply("MARK-2"));
    await store.write(
      "k7f2",
      [
        { seq: 2, ...head, ...alien },
        { seq: 3, ...head, kind: "user", text: "x", extra: 1 },
      ],
      undefined,
    );
    await store.unlock("k7f2");
    const log = join(root, "k7f2", "log.jsonl");
    writeFileSync(log, readFileSync(log, "utf8").replace(/[^\n]*MARK-2[^\n]*/, "damaged"));
    const copy = await copyOf("k7f2");
    expect(copy.history[1]).toMatchObject({ seq: 1, kind: "missing" });
    expect(copy.history[2]).toMatchObject(alien);
    expect(copy.history[3]).toMatchObject({ kind: "user", extra: 1 });
    // Told once, in words of the history, and not again by the next load.
    expect(copy.history.filter((entry) => entry.kind === "notice")).toMatchObject([{ missing: [{ from: 1, to: 1 }] }]);
  });

  it("of one that is not there, or cannot be read, is an error, and nothing is made", async () => {
    await saved("k7f2");
    await expect(forkState(store, "nosuch")).rejects.toMatchObject({ code: "STATE_NOT_FOUND" });
    writeFileSync(join(root, "k7f2", "log.jsonl"), "");
    await expect(forkState(store, "k7f2")).rejects.toMatchObject({ code: "STATE_DAMAGED" });
    await expect(forkState(store, undefined)).rejects.toMatchObject({ code: "STATE_NONE" });
    expect(readdirSync(root).filter((name) => !name.startsWith("."))).toEqual(["k7f2"]);
  });
});

describe("a session in a copy", () => {
  async function fork(
    folder: string,
    cwd: string,
  ): Promise<{ session: Session; events: SessionEvent[]; model: ScriptedModel }> {
    const model = new ScriptedModel([{ text: "", calls: [{ name: "bash", input: { command: "true" } }] }, "MARK-END"]);
    const sessions = new LocalSessions({
      store: new FileStore(folder),
      modelFor: async () => model.name,
      openModel: async () => model,
      system: () => "You are a test.",
      cwd,
      cwdGiven: true,
      env: { PATH: process.env.PATH },
      name: undefined,
      permissions: { mode: "ask", allow: [], deny: [] },
    });
    const session = await sessions.fork("k7f2");
    onTestFinished(() => session.shutdown("SIGTERM", 5000));
    const events: SessionEvent[] = [];
    session.on((event) => events.push(event));
    return { session, events, model };
  }

  it("says what it is, and keeps permissions for the same folder only", async () => {
    const cwd = await tempFolder();
    const elsewhere = await tempFolder();
    const rule: PermissionRule = { tool: "bash", where: "anywhere", cwd };
    await saved("k7f2", { kind: "folder", cwd }, { kind: "permission", rule }, ...running);
    for (const [folder, asks] of [
      [cwd, false],
      [elsewhere, true],
    ] as const) {
      const { session, events } = await fork(root, folder);
      expect(events).toContainEqual({ type: "notice", text: expect.stringContaining("this is a copy of k7f2") });
      expect(events).toContainEqual({ type: "notice", text: expect.stringContaining(":retry") });
      expect(await session.continueCutOff()).toBe(false);
      const asked = new Promise<boolean>((resolve) => {
        session.on((event) => {
          if (event.type !== "ask" && event.type !== "idle") return;
          if (event.type === "ask") session.answer(event.askId, { kind: "no" });
          resolve(event.type === "ask");
        });
      });
      await session.send("MARK-NEXT");
      expect(await asked).toBe(asks);
      await session.idle();
    }
  });
});
