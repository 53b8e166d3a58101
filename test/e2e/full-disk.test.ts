import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { createHome, type Home } from "../support/chat.js";
import { enter, quit, ready, say, talk } from "../support/conversation.js";
import { type ModelServer, startModelServer, text } from "../support/model-server.js";
import { mountSmallDisk, type SmallDisk } from "../support/small-disk.js";
import type { Terminal } from "../support/terminal.js";

const notSaved = "[not saved] > ";
let server: ModelServer;
let disk: SmallDisk | undefined;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  disk?.unmount();
  disk = undefined;
  await server.close();
  expect(server.refusals).toEqual([]);
});

/** A home whose conversations lie on a disk of 1 MiB. */
async function homeOnSmallDisk(context: TestContext): Promise<{ home: Home; disk: SmallDisk }> {
  const home = createHome(server);
  const mounted = await mountSmallDisk(join(home.home, ".local/share/perdure"));
  if (mounted === undefined) {
    console.warn("skipped: a small file system cannot be mounted here (it takes root on Linux)");
    context.skip();
    throw new Error("skipped");
  }
  disk = mounted;
  return { home, disk: mounted };
}

function readyUnsaved(chat: Terminal): Promise<void> {
  return chat.waitFor(function thePromptThatSaysNotSaved(terminal) {
    return terminal.cursorLine() === notSaved;
  });
}

/** More than what may be left in the last block of a file. */
const long = (mark: string) => text(`${mark} ${"word ".repeat(1200)}${mark}-END`);

function everyFileReads(home: Home): void {
  for (const file of home.files()) {
    expect(file).not.toMatch(/\.tmp$/);
    if (!file.endsWith("log.jsonl")) continue;
    const lines = readFileSync(file, "utf8").split("\n");
    expect(lines.pop()).toBe("");
    for (const line of lines) JSON.parse(line);
  }
}

describe("a conversation on a disk that is full", () => {
  it("says so once, goes on in memory, saves all of it when there is space, and kill -9 loses nothing", async (context) => {
    const { home, disk } = await homeOnSmallDisk(context);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    disk.fill();
    server.reply(long("REPLY-1"));
    await say(chat, "MARK-1");
    await chat.waitFor("REPLY-1-END");
    await readyUnsaved(chat);
    server.reply(long("REPLY-2"));
    await enter(chat, "MARK-2");
    await chat.waitFor("REPLY-2-END");
    await readyUnsaved(chat);
    everyFileReads(home);
    const screen = chat.screen();
    expect(screen.match(/not saved: /g)).toHaveLength(1);
    expect(screen).toMatch(/not saved: \S*log\.jsonl: ENOSPC: no space left on device \(free some space/);
    expect(screen).toMatch(/Nothing after message [12] is on disk/);

    disk.free();
    await chat.waitFor("saved: all of this conversation is on disk again");
    await ready(chat);
    chat.kill("SIGKILL");
    await chat.exit;
    everyFileReads(home);
    const again = await home.run(["-c", "-p", "MARK-LAST"]);
    expect(again.code).toBe(0);
    const sent = server.requests.at(-1)?.text ?? "";
    for (const mark of ["MARK-0", "MARK-1", "REPLY-1-END", "MARK-2", "REPLY-2-END", "MARK-LAST"])
      expect(sent).toContain(mark);
  });

  it("leaves with 1, says what is not saved, and promises only what is there", async (context) => {
    const { home, disk } = await homeOnSmallDisk(context);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    disk.fill();
    server.reply(long("REPLY-1"));
    await say(chat, "MARK-1");
    await readyUnsaved(chat);
    await enter(chat, ":quit");
    expect((await chat.exit).status).toBe(1);
    expect(chat.screen()).toMatch(/not saved: nothing after message [12] is on disk, and what came after it ends/);
    expect(chat.screen()).not.toContain("To go on");
    const id = /Only up to message [12]: chat --resume (\S+)/.exec(chat.screen())?.[1];
    expect((await home.list()).map((row) => row.id)).toEqual([id]);
  });

  it("claims nothing when its first message cannot be saved", async (context) => {
    const { home, disk } = await homeOnSmallDisk(context);
    disk.fill();
    const chat = home.open();
    await say(chat, "MARK-1");
    await chat.waitFor("Answer 1.");
    await readyUnsaved(chat);
    expect(chat.screen()).toContain("Nothing of this conversation is on disk");
    await enter(chat, ":quit");
    expect((await chat.exit).status).toBe(1);
    expect(chat.screen()).not.toContain("--resume");
    expect(await home.list()).toEqual([]);
    expect(home.filesWith("MARK-1").filter((file) => file.includes("conversations"))).toEqual([]);
  });

  it("gives a script its answer, says on standard error that it is not saved, and ends with 1", async (context) => {
    const { home, disk } = await homeOnSmallDisk(context);
    disk.fill();
    const { code, stdout, stderr } = await home.run(["-p", "MARK-1"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "Answer 1.\n" });
    expect(stderr).toMatch(/^chat: not saved: .*ENOSPC: no space left on device/);
    expect(stderr).not.toMatch(/To go on|--resume/);
    const json = await home.run(["-p", "MARK-2", "--output-format", "json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      conversationId: null,
      status: "error",
      text: "Answer 2.",
      error: { code: "ENOSPC" },
    });
  });

  it("holds every message that was said to be saved, however often it is tried beyond the end", async (context) => {
    const { home } = await homeOnSmallDisk(context);
    server.always((request) => text(`REPLY-${request.number} ${"x".repeat(30_000)}`));
    const script = Array.from({ length: 30 }, (_, n) => `MARK-${n}. ${"y".repeat(10_000)}`).join("\n");
    const lines = await home.run([], { input: `${script}\n` });
    expect(lines.code).toBe(1);
    expect(lines.stderr.match(/not saved: \S+: ENOSPC/g)).toHaveLength(1);
    everyFileReads(home);
    const saved = Number(/nothing after message (\d+) is on disk/.exec(lines.stderr)?.[1]);
    expect(saved).toBeGreaterThan(5);
    expect(saved).toBeLessThan(30);
    const { stdout } = await home.run(["show", "--json", (await home.list())[0]?.id ?? ""]);
    expect(stdout).toContain(`MARK-${saved - 1}.`);
  });
});

describe("a conversation on a disk that becomes read-only", () => {
  it("says so, goes on in memory, and is saved when the disk can be written again", async (context) => {
    const { home, disk } = await homeOnSmallDisk(context);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    await quit(chat);
    const again = home.open(["--resume"]);
    await ready(again);
    disk.readOnly(true);
    await say(again, "MARK-1");
    await again.waitFor("Answer 2.");
    await readyUnsaved(again);
    expect(again.screen()).toMatch(/not saved: \S+: EROFS: read-only file system/);
    disk.readOnly(false);
    await again.waitFor("saved: all of this conversation is on disk again");
    again.kill("SIGKILL");
    await again.exit;
    expect(home.filesWith("MARK-1").length).toBeGreaterThan(0);
  });
});
