import { appendFileSync, cpSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { lstat, mkdir, readlink, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { State } from "../../src/agent/state.js";
import { type Recovered, RecoveringStore } from "../../src/session/recovering-store.js";
import type { Session, SessionEvent } from "../../src/session/session.js";
import { FileStore } from "../../src/store/file-store.js";
import { nodeDisk } from "../../src/store/node-disk.js";
import { FaultyDisk } from "../store/faulty-disk.js";
import { tempFolder } from "../support/temp-folder.js";
import { endSessions, openSessions, savedContext, savedHistory } from "./sessions.js";

let folder: string;
beforeEach(async () => {
  folder = await tempFolder();
});
afterEach(endSessions);

async function say(session: Session, text: string): Promise<void> {
  await session.send(text);
  await session.idle();
}

function watch(session: Session): SessionEvent[] {
  const events: SessionEvent[] = [];
  session.on((event) => events.push(event));
  return events;
}

const recoveries = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === "recovered" ? [event] : []));

const changes: [string, (log: string) => void][] = [
  ["has a line appended", (log) => appendFileSync(log, '{"seq":999,"kind":"alien"}\n')],
  ["has half a line appended", (log) => appendFileSync(log, '{"seq":9')],
  ["is replaced by a copy", (log) => replace(log, readFileSync(log))],
  ["is replaced by something else", (log) => replace(log, Buffer.from("nonsense\n"))],
  ["is truncated", (log) => truncateSync(log, 10)],
  ["is removed", (log) => rmSync(log)],
  ["is removed with its folder", (log) => rmSync(join(log, ".."), { recursive: true })],
  ["is removed with the whole store", (log) => rmSync(join(log, "../.."), { recursive: true })],
];

function replace(log: string, bytes: Buffer): void {
  writeFileSync(`${log}.new`, bytes);
  renameSync(`${log}.new`, log);
}

describe("an open conversation whose log", () => {
  it.each(changes)("%s goes on in a recovery conversation, and nothing is lost", async (_what, change) => {
    const { sessions, root } = openSessions({ folder, steps: ["one", "two", "three", "four"] });
    const session = await sessions.create();
    const events = watch(session);
    await say(session, "message 1");
    const from = session.info.id;
    change(join(root, from, "log.jsonl"));
    await say(session, "message 2");
    await say(session, "message 3");

    const { id } = session.info;
    expect(id).not.toBe(from);
    expect(recoveries(events)).toEqual([
      { type: "recovered", from, id, text: expect.stringMatching(new RegExp(`${from}.*saved whole, as ${id}`)) },
    ]);
    expect(events.filter((event) => event.type === "saving_failed")).toEqual([]);
    expect(session.info).toMatchObject({ name: `recovered ${from}`, unsaved: undefined });
    expect(await savedHistory(root, id)).toEqual(session.history);
    // Its lock is ours: another process (a store with a disk of its own) does not get it.
    const other = new FileStore(root, { disk: { ...nodeDisk } });
    await expect(other.lock(id)).rejects.toMatchObject({ code: "STATE_LOCKED" });

    await session.close();
    const again = await sessions.resume(undefined);
    expect(again.info.id).toBe(id);
    await say(again, "message 4");
    expect((await savedContext(root, id)).at(-1)).toMatchObject({ text: "four" });
    await again.close();
  });

  it("is changed is left as it is for the person", async () => {
    const { sessions, root } = openSessions({ folder, steps: ["one", "two"] });
    const session = await sessions.create();
    await say(session, "message 1");
    const log = join(root, session.info.id, "log.jsonl");
    appendFileSync(log, '{"seq":999,"kind":"alien"}\n');
    const before = readFileSync(log, "utf8");
    await say(session, "message 2");
    await session.close();
    expect(readFileSync(log, "utf8")).toBe(before);
  });

  it.each([
    ["appended to", (log: string) => appendFileSync(log, `${lastLine(log).replace(/"seq":\d+/, '"seq":6')}\n`)],
    ["cut", (log: string) => truncateSync(log, Buffer.byteLength(firstLines(log, 3)))],
    ["removed", (log: string) => rmSync(log)],
  ])("is %s between its resume and the first message loses none", async (_what, change) => {
    const { sessions, root } = openSessions({ folder, steps: ["one", "two"] });
    const first = await sessions.create();
    await say(first, "message 1");
    await first.close();
    const session = await sessions.resume(undefined);
    const events = watch(session);
    expect(session.history).toHaveLength(6);
    change(join(root, session.info.id, "log.jsonl"));
    await say(session, "message 2");
    expect(recoveries(events)).toHaveLength(1);
    expect(await savedHistory(root, session.info.id)).toEqual(session.history);
    await session.close();
  });

  it("was damaged before keeps the places of what was lost", async () => {
    const { sessions, root } = openSessions({ folder, steps: ["one", "two", "three"] });
    const first = await sessions.create();
    await say(first, "message 1");
    await first.close();
    const log = join(root, first.info.id, "log.jsonl");
    writeFileSync(log, readFileSync(log, "utf8").replace(/.*"seq":2,.*\n/, "\0\0\n"));
    const session = await sessions.resume(undefined);
    await say(session, "message 2");
    rmSync(log);
    await say(session, "message 3");
    expect(await savedHistory(root, session.info.id)).toEqual(session.history);
    expect(await savedContext(root, session.info.id)).toEqual(contextOf(session));
    await session.close();
  });
});

describe("a recovery that is not possible", () => {
  it("is tried again: full disk, then space", async () => {
    const disk = new FaultyDisk();
    const { sessions, root } = openSessions({ folder, disk, steps: ["one", "two", "three"] });
    const session = await sessions.create();
    const events = watch(session);
    await say(session, "message 1");
    const from = session.info.id;
    rmSync(join(root, from), { recursive: true });
    disk.faults.add({ call: "write", path: /log\.jsonl$/, code: "ENOSPC" });
    await say(session, "message 2");
    expect(session.info).toMatchObject({ id: from, unsaved: { afterMessage: 1 } });
    disk.faults.clear();
    await say(session, "message 3");
    expect(recoveries(events)).toHaveLength(1);
    expect(await savedHistory(root, session.info.id)).toEqual(session.history);
    await session.close();
  });
});

describe("files that refuse every write while the rest of the store does not", () => {
  function setUp() {
    const disk = new FaultyDisk();
    const root = join(folder, "store");
    const state = new State("message 1");
    const recovered: Recovered[] = [];
    let now = 0;
    const store = new RecoveringStore({
      store: new FileStore(root, { disk }),
      state,
      recovered: (event) => recovered.push(event),
      snapshotFailed: () => undefined,
      now: () => now,
    });
    const save = () =>
      store.write(state.id, state.history.slice(state.savedLength), state.snapshot(), {
        create: state.savedLength === 0,
      });
    const pass = (ms: number) => {
      now += ms;
    };
    return { disk, root, state, store, recovered, save, pass };
  }

  it.each(["EPERM", "EIO", "EACCES"])(
    "%s for a moment is only a failed save; for good, all goes elsewhere",
    async (code) => {
      const { disk, root, state, store, recovered, save, pass } = setUp();
      await save();
      state.markSaved(state.history.length);
      disk.faults.add({ call: "write", path: new RegExp(`/${state.id}/log\\.jsonl$`), code });
      state.addUserMessage("message 2");
      await expect(save()).rejects.toMatchObject({ code });
      pass(3999);
      await expect(save()).rejects.toMatchObject({ code });
      expect(recovered).toEqual([]);
      pass(1);
      await save();
      expect(recovered).toEqual([{ from: state.id, id: store.id, problem: expect.stringContaining(code) }]);
      expect(store.id).not.toBe(state.id);
      expect((await savedHistory(root, store.id)).map((entry) => entry.text ?? entry.name)).toEqual([
        "message 1",
        "message 2",
        `recovered ${state.id}`,
      ]);
      await store.unlock();
    },
  );

  it("goes nowhere when nothing in the store can be written, or the disk is full", async () => {
    for (const [path, code] of [
      [/log\.jsonl$/, "EIO"],
      [/\/log\.jsonl$/, "ENOSPC"],
      [/\/log\.jsonl$/, "EROFS"],
    ] as const) {
      const { disk, state, store, recovered, save, pass } = setUp();
      await save();
      state.markSaved(state.history.length);
      disk.faults.add({ call: "write", path, code });
      state.addUserMessage("message 2");
      await expect(save()).rejects.toMatchObject({ code });
      pass(60_000);
      await expect(save()).rejects.toMatchObject({ code });
      expect(recovered).toEqual([]);
      expect(state.name).toBeUndefined();
      disk.faults.clear();
      await save();
      expect(store.id).toBe(state.id);
      await store.unlock();
    }
  });
});

describe("a call that runs while its conversation is recovered", () => {
  it("keeps its files where they are; whoever resumes the recovery cannot take it for one that never started", async () => {
    const root = join(folder, "store");
    const state = new State("message 1");
    const inner = new FileStore(root);
    const nothing = () => undefined;
    const store = new RecoveringStore({ store: inner, state, recovered: nothing, snapshotFailed: nothing });
    await store.write(state.id, state.history, state.snapshot(), { create: true });
    for (const id of ["ended", "open"]) {
      const start = { kind: "call_started", callId: id, name: "bash", boot: "b1" } as const;
      state.record(start);
    }
    const head = { kind: "result", name: "bash", isError: false, outcome: "ok" } as const;
    state.record({ ...head, callId: "ended", text: "done" });
    rmSync(join(root, state.id, "log.jsonl"));
    await store.write(state.id, state.history.slice(1), undefined);

    expect(store.id).not.toBe(state.id);
    expect(store.callPath("open")).toBe(inner.callPath(state.id, "open"));
    expect(store.callPath("later")).toBe(inner.callPath(store.id, "later"));
    const starts = (await savedHistory(root, store.id)).filter((entry) => entry.kind === "call_started");
    expect(starts).toEqual([
      expect.objectContaining({ callId: "ended", boot: "b1" }),
      expect.not.objectContaining({ boot: expect.anything() }),
    ]);
    await store.unlock();
  });
});

describe("links", () => {
  it("to the store, a conversation, its log and its snapshot stay links, and their targets get what is said", async () => {
    const elsewhere = join(folder, "elsewhere");
    await mkdir(join(elsewhere, "store"), { recursive: true });
    await symlink(join(elsewhere, "store"), join(folder, "store"));
    const { sessions, root } = openSessions({ folder, steps: ["one", "two"] });
    const first = await sessions.create();
    await say(first, "message 1");
    await first.close();
    const { id } = first.info;
    const moved = join(elsewhere, "moved");
    renameSync(join(root, id), moved);
    await symlink(moved, join(root, id));
    for (const name of ["log.jsonl", "snapshot.json"]) {
      cpSync(join(moved, name), join(elsewhere, name));
      rmSync(join(moved, name));
      await symlink(join(elsewhere, name), join(moved, name));
    }

    const session = await sessions.resume(undefined);
    const events = watch(session);
    await say(session, "message 2");
    expect(recoveries(events)).toEqual([]);
    await session.close();
    for (const link of [root, join(root, id), join(moved, "log.jsonl"), join(moved, "snapshot.json")]) {
      expect((await lstat(link)).isSymbolicLink(), link).toBe(true);
      expect(await readlink(link)).toContain("elsewhere");
    }
    expect(readFileSync(join(elsewhere, "log.jsonl"), "utf8")).toContain("message 2");
    expect(JSON.parse(readFileSync(join(elsewhere, "snapshot.json"), "utf8"))).toMatchObject({
      entries: session.history.length,
    });
  });
});

function contextOf(session: Session) {
  return State.fromRecord("x", { entries: session.history, snapshot: undefined }).context;
}

function lastLine(log: string): string {
  return readFileSync(log, "utf8").trimEnd().split("\n").at(-1) ?? "";
}

function firstLines(log: string, count: number): string {
  return `${readFileSync(log, "utf8").split("\n").slice(0, count).join("\n")}\n`;
}
