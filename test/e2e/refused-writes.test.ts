import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { createHome, type Home } from "../support/chat.js";
import { ready, say, talk } from "../support/conversation.js";
import { type ModelServer, startModelServer } from "../support/model-server.js";
import { mountSmallDisk } from "../support/small-disk.js";

let server: ModelServer;
const undo: (() => void)[] = [];
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) step();
  await server.close();
  expect(server.refusals).toEqual([]);
});

/** Does it, and remembers how to undo it. The test is skipped, aloud, where it takes rights that we do not have. */
function need(context: TestContext, does: string, undoes: string): () => void {
  const run = (command: string) => spawnSync("/bin/sh", ["-c", command], { stdio: "ignore" }).status === 0;
  if (!run(does)) {
    console.warn(`skipped: \`${does}\` does not work here (it takes root on Linux)`);
    context.skip();
  }
  let done = false;
  const once = () => {
    if (!done) run(undoes);
    done = true;
  };
  undo.push(once);
  return once;
}

function logOf(home: Home): string {
  const log = home.filesWith("MARK-0").find((file) => file.endsWith("log.jsonl"));
  if (log === undefined) throw new Error("no log");
  return log;
}

async function everythingIsResumed(home: Home, marks: readonly string[]): Promise<void> {
  const { code } = await home.run(["-c", "-p", "MARK-LAST"]);
  expect(code).toBe(0);
  for (const mark of [...marks, "MARK-LAST"]) expect(server.requests.at(-1)?.text).toContain(mark);
}

describe("files that cannot be written", () => {
  it("a log that may not be changed, for good: all of it goes into a recovery conversation that is named", async (context) => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    const log = logOf(home);
    need(context, `chattr +i ${log}`, `chattr -i ${log}`);
    await say(chat, "MARK-1");
    await chat.waitFor("Answer 2.");
    await chat.waitFor(/not saved: \S*log\.jsonl: EPERM[\s\S]*\[not saved\] >/);
    await chat.waitFor(/this conversation goes on, saved whole, as [a-z0-9]+ \("recovered /);
    await talk(chat, "MARK-2", "Answer 3.");
    chat.kill("SIGKILL");
    await chat.exit;
    await everythingIsResumed(home, ["MARK-0", "MARK-1", "MARK-2"]);
  });

  it("a log that may not be changed for a moment: saved there when it may", async (context) => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    const log = logOf(home);
    const allow = need(context, `chattr +i ${log}`, `chattr -i ${log}`);
    await say(chat, "MARK-1");
    await chat.waitFor("not saved: ");
    allow();
    await chat.waitFor("saved: all of this conversation is on disk again");
    await ready(chat);
    expect(chat.screen()).not.toContain("recovered");
    chat.kill("SIGKILL");
    await chat.exit;
    expect(readFileSync(log, "utf8")).toContain("MARK-1");
    await everythingIsResumed(home, ["MARK-0", "MARK-1"]);
  });

  it("a snapshot that cannot be replaced (EBUSY): told once, and every message is saved", async (context) => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    const log = logOf(home);
    const snapshot = join(dirname(log), "snapshot.json");
    const release = need(context, `mount --bind ${snapshot} ${snapshot}`, `umount -l ${snapshot}`);
    await talk(chat, "MARK-1", "Answer 2.");
    await talk(chat, "MARK-2", "Answer 3.");
    expect(chat.screen().match(/the messages are saved, but not the summary[^\n]*EBUSY/g)).toHaveLength(1);
    expect(chat.screen()).not.toContain("not saved");
    release();
    await talk(chat, "MARK-3", "Answer 4.");
    chat.kill("SIGKILL");
    await chat.exit;
    expect(JSON.parse(readFileSync(snapshot, "utf8")).entries).toBeGreaterThan(12);
    expect(home.files().filter((file) => file.endsWith(".tmp"))).toEqual([]);
    await everythingIsResumed(home, ["MARK-0", "MARK-1", "MARK-2", "MARK-3"]);
  });

  it("a folder in which nothing may be made: told once, and every message is saved", async (context) => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    const log = logOf(home);
    const folder = dirname(log);
    need(context, `chattr +i ${folder}`, `chattr -i ${folder}`);
    await talk(chat, "MARK-1", "Answer 2.");
    expect(chat.screen()).toMatch(/the messages are saved, but not the summary[^\n]*EPERM/);
    chat.kill("SIGKILL");
    await chat.exit;
    await everythingIsResumed(home, ["MARK-0", "MARK-1"]);
  });
});

describe("a place where conversations cannot be kept", () => {
  async function refuses(home: Home, place: string | undefined): Promise<void> {
    const { code, stdout, stderr } = await home.run(["-p", "MARK-1"], {
      ...(place === undefined ? { prefix: ["/usr/bin/env", "-u", "HOME"] } : { env: { HOME: place } }),
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^chat: [^\n]+\nFix: [^\n]+--store DIR[^\n]+\n$/);
    expect(stderr).toContain(place ?? "HOME is not set");
    expect(server.requests).toEqual([]);
  }

  it.each([
    ["no HOME", undefined],
    ["a HOME that does not exist", "/nonexistent"],
    ["a HOME that is a device", "/dev/null"],
  ])("%s: one clear line with the path and what to do, and nothing is sent", async (_what, place) => {
    await refuses(createHome(server), place);
  });

  it("a read-only disk: the same", async (context) => {
    const home = createHome(server);
    const folder = join(home.folder, "disk");
    const disk = await mountSmallDisk(folder);
    if (disk === undefined) {
      console.warn("skipped: a file system cannot be mounted here (it takes root on Linux)");
      return context.skip();
    }
    undo.push(() => disk.unmount());
    disk.readOnly(true);
    await refuses(home, folder);
  });

  it("a folder of somebody else's: the same", async (context) => {
    const home = createHome(server);
    const folder = join(home.folder, "theirs");
    mkdirSync(folder);
    chmodSync(folder, 0o555);
    if (process.getuid?.() === 0) {
      console.warn("skipped: root may write everywhere");
      return context.skip();
    }
    await refuses(home, folder);
  });
});
