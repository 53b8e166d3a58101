import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LocalSessions } from "../../src/session/local-sessions.js";
import type { Session, SessionEvent } from "../../src/session/session.js";
import type { PermissionSettings, SessionParts } from "../../src/session/session-parts.js";
import { FileStore } from "../../src/store/file-store.js";
import { ScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { tempFolder } from "../support/temp-folder.js";

let folder: string;
const open: Session[] = [];
beforeEach(async () => {
  folder = await tempFolder();
});
afterEach(async () => {
  for (const session of open.splice(0)) await session.shutdown("SIGTERM", 5000);
});

interface Setup {
  readonly steps?: readonly ScriptedStep[];
  readonly permissions?: Partial<PermissionSettings>;
  readonly parts?: Partial<SessionParts>;
}

function setUp({ steps = [], permissions = {}, parts = {} }: Setup = {}) {
  const model = new ScriptedModel(steps);
  const root = join(folder, "store");
  const sessions = new LocalSessions({
    store: new FileStore(root),
    modelFor: async () => model.name,
    openModel: async () => model,
    system: () => "You are a test.",
    cwd: folder,
    cwdGiven: false,
    env: { PATH: process.env.PATH, ANTHROPIC_API_KEY: "sk-CANARY-0123456789" },
    name: undefined,
    permissions: { mode: "yes", allow: [], deny: [], ...permissions },
    ...parts,
  });
  return { model, sessions, root };
}

function watch(session: Session): SessionEvent[] {
  const events: SessionEvent[] = [];
  open.push(session);
  session.on((event) => events.push(event));
  return events;
}

function next<T extends SessionEvent["type"]>(session: Session, type: T): Promise<Extract<SessionEvent, { type: T }>> {
  return new Promise((resolve) => {
    const off = session.on((event) => {
      if (event.type !== type) return;
      off();
      resolve(event as Extract<SessionEvent, { type: T }>);
    });
  });
}

const logOf = (root: string, id: string) => readFileSync(join(root, id, "log.jsonl"), "utf8");
const bash = (command: string): ScriptedStep => ({ calls: [{ name: "bash", input: { command } }] });

describe("a conversation in this process", () => {
  it("is nowhere on disk before the first message", async () => {
    const { sessions, root } = setUp();
    watch(await sessions.create());
    expect(existsSync(root)).toBe(false);
  });

  it("has the message on disk before the model is asked", async () => {
    let atRequest = "";
    const { sessions, root } = setUp({
      steps: [
        () => {
          atRequest = logOf(root, session.info.id);
          return "hello";
        },
      ],
    });
    const session = await sessions.create();
    watch(session);
    await session.send("MARK-1");
    await session.idle();
    expect(atRequest).toContain("MARK-1");
    expect(session.history.at(-1)).toMatchObject({ kind: "run_end", reason: "answered" });
  });

  it("answers a message that comes while a turn runs in the same turn", async () => {
    const { sessions, model } = setUp({ steps: [bash("echo one"), "both answered"] });
    const session = await sessions.create();
    watch(session);
    const started = next(session, "call_started");
    await session.send("first");
    await started;
    await session.send("second");
    await session.idle();
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]?.messages.at(-1)).toEqual({ role: "user", text: "second" });
  });

  it("closes a running command when the person stops the turn, and its processes are gone", async () => {
    const { sessions } = setUp({ steps: [bash("echo $$; exec sleep 600")] });
    const session = await sessions.create();
    watch(session);
    const output = next(session, "call_output");
    await session.send("go");
    const pid = Number((await output).chunk.trim());
    await session.interrupt();
    expect(session.history.find((entry) => entry.kind === "result")).toMatchObject({
      text: expect.stringContaining("(interrupted by user)"),
      outcome: "interrupted",
    });
    expect(() => process.kill(pid, 0)).toThrow();
  });

  it("keeps what was streamed when a signal ends it, saves, and gives the conversation free", async () => {
    const { sessions, root } = setUp({ steps: [{ chunks: ["MARK-P first half"], stall: true }] });
    const session = await sessions.create();
    watch(session);
    const text = next(session, "text");
    await session.send("go");
    await text;
    await session.shutdown("SIGTERM", 5000);
    const log = logOf(root, session.info.id);
    expect(log).toContain("MARK-P first half");
    expect(log).toContain('"reason":"aborted:SIGTERM"');
    await setUp().sessions.delete(session.info.id);
  });

  it("asks, tells the model the reason of a no, and goes on", async () => {
    const { sessions, model } = setUp({
      steps: [{ calls: [{ name: "write", input: { path: "a", content: "b" } }] }, "fine"],
      permissions: { mode: "ask" },
    });
    const session = await sessions.create();
    watch(session);
    const asked = next(session, "ask");
    await session.send("go");
    session.answer((await asked).askId, { kind: "no", reason: "use another name" });
    await session.idle();
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("use another name");
    expect(existsSync(join(folder, "a"))).toBe(false);
  });

  it("remembers in the conversation what was always allowed, also after a resume", async () => {
    const write = (path: string): ScriptedStep => ({ calls: [{ name: "write", input: { path, content: "b" } }] });
    const first = setUp({ steps: [write("a"), "done"], permissions: { mode: "ask" } });
    const session = await first.sessions.create();
    watch(session);
    const asked = next(session, "ask");
    await session.send("go");
    session.answer((await asked).askId, { kind: "always" });
    await session.idle();
    await session.close();

    const again = setUp({ steps: [write("b"), "done"], permissions: { mode: "ask" } });
    const resumed = await again.sessions.resume(session.info.id);
    const events = watch(resumed);
    await resumed.send("and b");
    await resumed.idle();
    expect(events.filter((event) => event.type === "ask")).toEqual([]);
    expect(existsSync(join(folder, "b"))).toBe(true);
  });

  it("lets no provider's key into a tool's environment, the history or the screen", async () => {
    const { sessions, root } = setUp({
      steps: [bash("env; cat /proc/$PPID/environ; echo sk-CAN''ARY-0123456789"), "done"],
    });
    const session = await sessions.create();
    const events = watch(session);
    await session.send("go");
    await session.idle();
    expect(logOf(root, session.info.id)).not.toContain("CANARY");
    expect(JSON.stringify(events)).not.toContain("CANARY");
    expect(logOf(root, session.info.id)).toContain("[redacted]");
  });

  it("puts the person's own command into the conversation", async () => {
    const { sessions, model } = setUp({ steps: ["seen"] });
    const session = await sessions.create();
    watch(session);
    await session.shell("echo MARK-S; exit 3");
    await session.send("what was that?");
    await session.idle();
    expect(model.requests[0]?.messages[0]).toMatchObject({ text: expect.stringContaining("MARK-S") });
    expect(session.history.find((entry) => entry.kind === "shell")).toMatchObject({ exitCode: 3 });
  });

  it("can be asked again after the model failed for good, and not after a complete turn", async () => {
    const { sessions } = setUp({ steps: [{ error: new Error("no luck") }, "now it works"] });
    const session = await sessions.create();
    const events = watch(session);
    await session.send("go");
    await session.idle();
    expect(events).toContainEqual(
      expect.objectContaining({ type: "error", problem: expect.stringContaining("no luck") }),
    );
    await session.retry();
    await session.idle();
    expect(session.history.at(-1)).toMatchObject({ kind: "run_end", reason: "answered" });
    await expect(session.retry()).rejects.toMatchObject({ code: "RETRY_NOTHING" });
  });
});

describe("resuming", () => {
  async function cutOff(end: (session: Session) => Promise<void>) {
    const { sessions } = setUp({ steps: [{ chunks: ["half an answer"], stall: true }] });
    const session = await sessions.create();
    watch(session);
    const text = next(session, "text");
    await session.send("question");
    await text;
    await end(session);
    await session.close();
    return session.info.id;
  }

  it("goes on with a turn that a signal cut off, once", async () => {
    const id = await cutOff((session) => session.shutdown("SIGTERM", 5000));
    const first = setUp({ steps: [{ chunks: ["again half"], stall: true }] });
    const session = await first.sessions.resume(id);
    watch(session);
    const text = next(session, "text");
    expect(await session.continueCutOff()).toBe(true);
    await text;
    await session.shutdown("SIGTERM", 5000);

    const again = await setUp().sessions.resume(id);
    watch(again);
    expect(await again.continueCutOff()).toBe(false);
  });

  it("does not go on by itself after the person stopped the turn", async () => {
    const id = await cutOff((session) => session.interrupt());
    const session = await setUp().sessions.resume(id);
    watch(session);
    expect(await session.continueCutOff()).toBe(false);
  });

  it("changes no byte when nothing was said", async () => {
    const { sessions, root } = setUp({ steps: ["hello"] });
    const session = await sessions.create();
    watch(session);
    await session.send("hi");
    await session.idle();
    await session.close();
    const files = () =>
      readdirSync(join(root, session.info.id)).map((name) => [
        name,
        readFileSync(join(root, session.info.id, name), "latin1"),
      ]);
    const before = files().filter(([name]) => name !== "lock");
    const resumed = await setUp().sessions.resume(session.info.id);
    watch(resumed);
    expect(await resumed.continueCutOff()).toBe(false);
    await resumed.close();
    expect(files().filter(([name]) => name !== "lock")).toEqual(before);
  });

  it("works in the recorded folder, and in the current one when that is gone", async () => {
    const work = join(folder, "work");
    await mkdir(work);
    const first = setUp({ steps: ["hello"], parts: { cwd: work } });
    const session = await first.sessions.create();
    watch(session);
    await session.send("hi");
    await session.idle();
    await session.close();
    const there = await setUp().sessions.resume(session.info.id);
    expect(there.info.cwd).toBe(work);
    await there.close();
    await rm(work, { recursive: true });
    const moved = await setUp().sessions.resume(session.info.id);
    const events = watch(moved);
    expect(moved.info.cwd).toBe(folder);
    expect(events).toContainEqual({ type: "notice", text: expect.stringContaining(work) });
  });

  it("looks at no other conversation when it is given an id", async () => {
    const id = await cutOff((session) => session.interrupt());
    class OneByOne extends FileStore {
      override list(): never {
        throw new Error("all conversations were looked at");
      }
    }
    const { sessions } = setUp({ parts: { store: new OneByOne(join(folder, "store")) } });
    const session = await sessions.resume(id);
    watch(session);
    expect(session.info.id).toBe(id);
  });

  it("refuses what is not there and creates nothing", async () => {
    const { sessions, root } = setUp();
    for (const ref of ["nosuch", "", "../../x"]) {
      await expect(sessions.resume(ref)).rejects.toMatchObject({ code: "STATE_NOT_FOUND" });
    }
    await expect(sessions.resume(undefined)).rejects.toMatchObject({ code: "STATE_NONE" });
    expect(existsSync(root)).toBe(false);
  });
});

describe("damage", () => {
  async function talked(text: string) {
    const { sessions } = setUp({ steps: ["hello"] });
    const session = await sessions.create();
    watch(session);
    await session.send(text);
    await session.idle();
    await session.close();
    return session.info.id;
  }

  it("is named with its file when a conversation is resumed, and the rest is there", async () => {
    const id = await talked("MARK-1");
    const { sessions, root } = setUp();
    const path = join(root, id, "log.jsonl");
    writeFileSync(
      path,
      logOf(root, id).replace(/.*"kind":"request".*/, (line) => "\0".repeat(line.length)),
    );
    const session = await sessions.resume(id);
    const events = watch(session);
    expect(events).toContainEqual({ type: "notice", text: expect.stringContaining(path) });
    expect(session.history.map((entry) => entry.kind)).toContain("missing");
    expect(session.info.task).toBe("MARK-1");
  });

  it("of a newer conversation is told when an older one is resumed in its place", async () => {
    const older = await talked("MARK-1");
    const newer = await talked("MARK-2");
    const { sessions, root } = setUp();
    writeFileSync(join(root, newer, "log.jsonl"), "");
    const session = await sessions.resume(undefined);
    const events = watch(session);
    expect(session.info.id).toBe(older);
    expect(events).toContainEqual({ type: "notice", text: expect.stringContaining(newer) });
  });
});

describe("an answer that is none", () => {
  for (const [name, step, words] of [
    ["with nothing in it", { text: " \n" }, "the model answered nothing"],
    ["that a filter stopped", { text: "", finish: "content-filter" }, "content filter"],
    ["that ends at the output limit", { text: "abc", finish: "length" }, "output limit"],
  ] as const) {
    it(`${name} is told`, async () => {
      const { sessions } = setUp({ steps: [step] });
      const session = await sessions.create();
      const events = watch(session);
      await session.send("go");
      await session.idle();
      expect(events).toContainEqual({ type: "notice", text: expect.stringContaining(words) });
    });
  }
});
