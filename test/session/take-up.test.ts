import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LocalSessions } from "../../src/session/local-sessions.js";
import type { Session, SessionEvent } from "../../src/session/session.js";
import type { PermissionSettings, SessionParts } from "../../src/session/session-parts.js";
import { FileStore } from "../../src/store/file-store.js";
import { ScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { processesWith } from "../support/processes.js";
import { tempFolder } from "../support/temp-folder.js";
import { until } from "../support/until.js";

let folder: string;
const open: Session[] = [];
beforeEach(async () => {
  folder = await tempFolder();
});
afterEach(async () => {
  for (const session of open.splice(0)) await session.shutdown("SIGTERM", 5000);
});

/** A process of its own on the same store. */
function chat(steps: readonly ScriptedStep[] = [], parts: Partial<SessionParts> = {}) {
  const model = new ScriptedModel(steps);
  const permissions: PermissionSettings = { mode: "yes", allow: [], deny: [] };
  const sessions = new LocalSessions({
    store: new FileStore(join(folder, "store")),
    modelFor: async () => model.name,
    openModel: async () => model,
    system: () => "You are a test.",
    cwd: folder,
    cwdGiven: false,
    env: { PATH: process.env.PATH, TEST_FOLDER: folder, ANTHROPIC_API_KEY: "sk-CANARY-0123456789" },
    name: undefined,
    permissions,
    ...parts,
  });
  return { model, sessions };
}

function watch(session: Session): SessionEvent[] {
  const events: SessionEvent[] = [];
  open.push(session);
  session.on((event) => events.push(event));
  return events;
}

const UNTIL_GO = "until [ -e go ]; do sleep 0.02; done";
const go = (): void => writeFileSync(join(folder, "go"), "");
const ran = (): string[] =>
  existsSync(join(folder, "ran")) ? readFileSync(join(folder, "ran"), "utf8").split("\n").filter(Boolean) : [];
const bash = (command: string): ScriptedStep => ({
  calls: [{ name: "bash", input: { command: `echo x >> ran; ${command}` } }],
});
const nothingRuns = () =>
  until(
    () => JSON.stringify(processesWith(folder)),
    () => processesWith(folder).length === 0,
  );
const resultsIn = (session: Session) =>
  session.history.flatMap((entry) => (entry.kind === "result" ? [entry.text] : []));

/** A chat whose terminal goes away while this command of the model's, or of the person's, runs. */
async function leftWith(command: string, who: "model" | "person" = "model"): Promise<string> {
  const { sessions } = chat([bash(command)]);
  const session = await sessions.create();
  watch(session);
  if (who === "model") await session.send("go");
  else void session.shell(`echo x >> ran; ${command}`);
  await until("it runs", () => ran().length > 0);
  await session.shutdown("SIGHUP", 5000);
  return session.info.id;
}

async function resumed(id: string, steps: readonly ScriptedStep[] = [], parts: Partial<SessionParts> = {}) {
  const { model, sessions } = chat(steps, parts);
  const session = await sessions.resume(id);
  return { model, sessions, session, events: watch(session) };
}

describe("a conversation whose terminal went away while a command ran", () => {
  it("has its open call in the history, and no result before it is taken up", async () => {
    const id = await leftWith(UNTIL_GO);
    const { session } = await resumed(id);
    expect(resultsIn(session)).toEqual([]);
    expect(session.calls()).toMatchObject([{ name: "bash", state: "running" }]);
    go();
    expect(await session.takeUpCalls()).toBe(true);
    expect(resultsIn(session)).toEqual(["(no output)"]);
    expect(session.calls()).toMatchObject([{ name: "bash", state: "ok", exitCode: 0 }]);
    expect(await session.takeUpCalls()).toBe(false);
    expect(ran()).toEqual(["x"]);
  });

  it("shows the output of one that has ended, and keeps no files of it", async () => {
    const id = await leftWith(`${UNTIL_GO}; echo MARK; exit 3`);
    go();
    await nothingRuns();
    const { session, events } = await resumed(id);
    await session.takeUpCalls();
    const types = events.map((event) => event.type).filter((type) => type.startsWith("call") || type === "idle");
    expect(types).toEqual(["call_taken_up", "call_output", "call_result", "idle"]);
    expect(resultsIn(session)).toEqual(["MARK\n(exit code 3)"]);
    expect(session.history.find((entry) => entry.kind === "result")).toMatchObject({ exitCode: 3, outcome: "error" });
    expect(readdirSync(join(folder, "store", id, "calls"))).toEqual([]);
  });

  it("answers a message that comes while it follows one, afterwards", async () => {
    const id = await leftWith(`${UNTIL_GO}; echo MARK`);
    const { session, model } = await resumed(id, ["both seen"]);
    const done = session.takeUpCalls();
    await session.send("and then?");
    expect(model.requests).toEqual([]);
    go();
    await done;
    await session.idle();
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]?.messages.slice(-2)).toMatchObject([
      { role: "tool", results: [{ text: "MARK\n" }] },
      { role: "user", text: "and then?" },
    ]);
  });

  it("goes on with its turn after it, once", async () => {
    const id = await leftWith("echo MARK");
    const { session, model } = await resumed(id, ["seen"]);
    await session.takeUpCalls();
    expect(await session.continueCutOff()).toBe(true);
    await session.idle();
    expect(model.requests[0]?.messages.at(-1)).toMatchObject({ role: "tool", results: [{ text: "MARK\n" }] });
    expect(session.history.at(-1)).toMatchObject({ kind: "run_end", reason: "answered" });
  });

  it("takes its results in whatever the next chat allows", async () => {
    const id = await leftWith("echo MARK");
    await nothingRuns();
    const permissions: PermissionSettings = { mode: "no-tools", allow: [], deny: ["bash"] };
    const { session } = await resumed(id, [], { permissions });
    await session.takeUpCalls();
    expect(resultsIn(session)).toEqual(["MARK\n"]);
  });

  it("lets no key into what it takes up", async () => {
    const id = await leftWith(`${UNTIL_GO}; echo sk-CAN''ARY-0123456789`);
    const { session, events } = await resumed(id);
    go();
    await session.takeUpCalls();
    expect(resultsIn(session)).toEqual(["[redacted]\n"]);
    expect(JSON.stringify(events)).not.toContain("CANARY-");
  });

  it("closes and ends what runs when the configuration says so", async () => {
    const { sessions } = chat([bash("sleep 7777")], { hangup: "end" });
    const session = await sessions.create();
    watch(session);
    await session.send("go");
    await until("it runs", () => ran().length > 0);
    await session.shutdown("SIGHUP", 5000);
    expect(resultsIn(session)).toEqual(["(aborted: SIGHUP)"]);
    await nothingRuns();
  });
});

describe("a command of the person's", () => {
  it("is taken up, shown, and enters the conversation", async () => {
    const id = await leftWith(`${UNTIL_GO}; echo MARK; exit 4`, "person");
    const { session, events, model } = await resumed(id, ["seen"]);
    go();
    await session.takeUpCalls();
    expect(session.history.at(-1)).toMatchObject({ kind: "shell", output: "MARK\n", exitCode: 4 });
    expect(events).toContainEqual({ type: "shell_taken_up", command: expect.stringContaining("echo MARK") });
    expect(events).toContainEqual({ type: "shell_end", exitCode: 4 });
    await session.send("what was that?");
    await session.idle();
    expect(model.requests[0]?.messages[0]).toMatchObject({ text: expect.stringContaining("MARK\n\n(exit code 4)") });
  });

  it("that cannot be started says so, and is no command that runs", async () => {
    const { sessions } = chat();
    const session = await sessions.create();
    const events = watch(session);
    await session.shell(`: ${"x".repeat(3_000_000)}`);
    expect(session.history.at(-1)).toMatchObject({ kind: "shell", exitCode: null, outcome: "not_run" });
    expect(events).toContainEqual({
      type: "shell_output",
      chunk: expect.stringContaining("(not run: the command could"),
    });
  });
});

describe("deleting a conversation", () => {
  it("names what still runs in it, and ends it", async () => {
    const id = await leftWith("sleep 7777");
    const { sessions } = chat();
    expect(await sessions.runningIn(id)).toEqual(["echo x >> ran; sleep 7777"]);
    await sessions.delete(id);
    await nothingRuns();
    expect(existsSync(join(folder, "store", id))).toBe(false);
  });
});
