import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Session, SessionEvent } from "../../src/session/session.js";
import type { ScriptedStep } from "../../src/testing/scripted-model.js";
import { FaultyDisk } from "../store/faulty-disk.js";
import { tempFolder } from "../support/temp-folder.js";
import { endSessions, openSessions, savedHistory } from "./sessions.js";

let folder: string;
let disk: FaultyDisk;
beforeEach(async () => {
  folder = await tempFolder();
  disk = new FaultyDisk();
});
afterEach(endSessions);

const full = { call: "write", path: /(log\.jsonl|\.tmp|snapshot\.json)$/, code: "ENOSPC" } as const;

function told(events: readonly SessionEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "saving_failed" || event.type === "saving_works" ? [event.text] : [],
  );
}

async function start(steps: readonly ScriptedStep[]) {
  const { sessions, root } = openSessions({ folder, disk, steps });
  const session = await sessions.create();
  const events: SessionEvent[] = [];
  session.on((event) => events.push(event));
  const say = async (text: string) => {
    await session.send(text);
    await session.idle();
  };
  return { sessions, session, root, events, say };
}

const replies = (session: Session) => session.history.flatMap((entry) => (entry.kind === "reply" ? [entry.text] : []));

describe("when the disk is full", () => {
  it("says once why, answers all the same, and says so when all of it is saved", async () => {
    const { session, root, events, say } = await start(["one", "two", "three", "four"]);
    await say("message 1");
    disk.faults.add(full);
    await say("message 2");
    await say("message 3");
    expect(replies(session)).toEqual(["one", "two", "three"]);
    expect(told(events)).toEqual([
      expect.stringMatching(/^not saved: .*log\.jsonl: ENOSPC.*free some space.*Nothing after message 1 is on disk/),
    ]);
    expect(session.info.unsaved).toEqual({ afterMessage: 1 });
    expect((await savedHistory(root, session.info.id)).map((entry) => entry.text)).not.toContain("message 2");

    disk.faults.clear();
    await say("message 4");
    expect(told(events).slice(1)).toEqual([expect.stringContaining("saved")]);
    expect(session.info.unsaved).toBeUndefined();
    expect(await savedHistory(root, session.info.id)).toEqual(session.history);
    await session.close();
  });

  it("saves by itself when there is space again, though nobody says anything", async () => {
    const { session, root, say } = await start(["one"]);
    disk.faults.add(full);
    await say("message 1");
    const works = new Promise((resolve) => session.on((event) => event.type === "saving_works" && resolve(true)));
    disk.faults.clear();
    await works;
    expect(await savedHistory(root, session.info.id)).toEqual(session.history);
  });

  it("claims no conversation when the first message could not be saved", async () => {
    const { session, sessions, root, events, say } = await start(["one"]);
    disk.faults.add(full);
    await say("message 1");
    expect(replies(session)).toEqual(["one"]);
    expect(told(events)).toEqual([expect.stringContaining("Nothing of this conversation is on disk")]);
    expect(session.info).toMatchObject({ saved: false, unsaved: { afterMessage: 0 } });
    await expect(session.close()).rejects.toMatchObject({
      code: "NOT_SAVED",
      problem: expect.stringContaining("nothing of this conversation is on disk"),
    });
    expect(await sessions.list()).toEqual([]);
    expect(existsSync(join(root, session.info.id))).toBe(false);
  });

  it("leaving says what is not saved, and gives the conversation free", async () => {
    const { session, sessions, say } = await start(["one", "two"]);
    await say("message 1");
    disk.faults.add(full);
    await say("message 2");
    await expect(session.close()).rejects.toMatchObject({
      code: "NOT_SAVED",
      problem: expect.stringMatching(/nothing after message 1 is on disk.*ENOSPC/),
    });
    disk.faults.clear();
    const again = await sessions.resume(session.info.id);
    expect(again.info.messageCount).toBe(1);
    await again.close();
  });

  it("leaving saves what is missing when there is space again", async () => {
    const { session, root, say } = await start(["one", "two"]);
    await say("message 1");
    disk.faults.add(full);
    await say("message 2");
    disk.faults.clear();
    await session.close();
    expect(await savedHistory(root, session.info.id)).toEqual(session.history);
  });

  it("a signal says what is not saved too", async () => {
    const { session, say } = await start(["one"]);
    disk.faults.add(full);
    await say("message 1");
    await expect(session.shutdown("SIGTERM", 5000)).rejects.toMatchObject({ code: "NOT_SAVED" });
  });

  it("runs no call that could run twice after a crash, but those that only read", async () => {
    const calls = [
      { name: "bash", input: { command: "echo ran >> ran.txt" } },
      { name: "read", input: { path: "here.txt" } },
    ];
    await writeFile(join(folder, "here.txt"), "MARK-READ\n");
    const step = () => {
      disk.faults.add(full);
      return { calls };
    };
    const { session, say } = await start([step, "done"]);
    await say("message 1");
    const results = session.history.flatMap((entry) => (entry.kind === "result" ? [entry.text] : []));
    expect(results).toEqual([
      expect.stringMatching(/^\(not run: the conversation cannot be saved now/),
      expect.stringContaining("MARK-READ"),
    ]);
    expect(existsSync(join(folder, "ran.txt"))).toBe(false);
    expect(replies(session).at(-1)).toBe("done");
  });

  it("a turn that was cut off does not go on by itself, for that could happen again and again", async () => {
    const { session, sessions } = await start([{ chunks: ["half"], stall: true }, "the answer"]);
    const text = new Promise((resolve) => session.on((event) => event.type === "text" && resolve(true)));
    await session.send("message 1");
    await text;
    await session.shutdown("SIGTERM", 5000);
    const again = await sessions.resume(undefined);
    disk.faults.add(full);
    expect(await again.continueCutOff()).toBe(false);
    expect(again.info.busy).toBe(false);
    await again.retry();
    await again.idle();
    expect(replies(again)).toEqual(["half", "the answer"]);
    disk.faults.clear();
    await again.close();
  });

  it("another trouble is told too", async () => {
    const { events, say } = await start(["one", "two"]);
    disk.faults.add(full);
    await say("message 1");
    disk.faults.clear();
    disk.faults.add({ ...full, code: "EDQUOT" });
    await say("message 2");
    expect(told(events)).toEqual([expect.stringContaining("ENOSPC"), expect.stringContaining("EDQUOT")]);
  });
});

describe("when only the snapshot cannot be replaced", () => {
  it("says so once, and every message is saved", async () => {
    const { session, root, events, say } = await start(["one", "two", "three"]);
    await say("message 1");
    disk.faults.add({ call: "rename", path: /snapshot\.json$/, code: "EBUSY" });
    await say("message 2");
    await say("message 3");
    expect(told(events)).toEqual([]);
    const notices = events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
    expect(notices).toEqual([expect.stringMatching(/the messages are saved.*snapshot\.json: EBUSY/)]);
    expect(session.info.unsaved).toBeUndefined();
    expect(await savedHistory(root, session.info.id)).toEqual(session.history);
    const before = readFileSync(join(root, session.info.id, "snapshot.json"), "utf8");
    disk.faults.clear();
    await session.rename("later");
    expect(readFileSync(join(root, session.info.id, "snapshot.json"), "utf8")).not.toBe(before);
    await session.close();
  });
});
