import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome, type Home } from "../support/chat.js";
import { converse, permit, quit, ready, say, talk } from "../support/conversation.js";
import { call, calls, drip, type ModelServer, stall, startModelServer, text } from "../support/model-server.js";
import { until } from "../support/until.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

/** What a resume that says `message` sends. */
async function sent(home: Home, args: string[], message = "MARK-NOW"): Promise<string> {
  const { code, stderr } = await home.run(["-p", message, ...args]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return server.requests.at(-1)?.text ?? "";
}

/** Every file of the conversations, with its bytes; the locks left out. */
function bytesOf(home: Home): Record<string, string> {
  const kept = home.filesWith("").filter((file) => !/lock|input-history|typed/.test(file.slice(home.home.length)));
  return Object.fromEntries(kept.map((file) => [file, readFileSync(file, "latin1")]));
}

describe("a conversation is found", () => {
  it("by its id, the beginning of its id and its name", async () => {
    const home = createHome(server);
    const id = await converse(home, "MARK-1", "-n", "My Name");
    await converse(home, "MARK-2");
    for (const ref of [id, id.slice(0, id.length - 1), "My Name"]) {
      expect(await sent(home, ["-r", ref])).toMatch(/MARK-1[\s\S]*MARK-NOW/);
    }
    const chat = home.open(["--resume", id]);
    await chat.waitFor("My Name");
    await quit(chat);
  });

  it("never by anything else: an error that repeats it, and nothing is created", async () => {
    const home = createHome(server, "openai");
    await converse(home, "MARK-1");
    const before = bytesOf(home);
    const refs = ["nosuch", "", "../../x", "/tmp/victim", "..", "a/b", "CON", "%00", "x".repeat(5000)];
    const commands = [...refs.map((ref) => ["--resume", ref]), ["--resume="], ["--resume", "nosuch", "-p", "hello"]];
    for (const args of commands) {
      const finished = await home.run(args);
      expect([1, 2], args.join(" ")).toContain(finished.code);
      expect(finished.stderr).toContain((args[1] ?? "").slice(0, 100));
      expect(finished.stderr).not.toMatch(/\n\s+at /);
      expect(finished.stdout).toBe("");
    }
    expect(bytesOf(home)).toEqual(before);
    expect(server.requests).toHaveLength(1);
  });

  it("never by a beginning that several have: they are named", async () => {
    const home = createHome(server);
    const ids: string[] = [];
    for (let n = 0; n < 12; n += 1) ids.push(await converse(home, `MARK-${n}`, "-m", "offline"));
    const shared = ids.map((id) => id.slice(0, 1)).find((first, at, all) => all.indexOf(first) !== at);
    // 12 random ids of at most 36 first characters may all differ: then the name is the ambiguous one.
    const ref = shared ?? "same";
    if (shared === undefined) for (const id of ids.slice(0, 2)) await home.run(["rename", id, "same"]);
    const finished = await home.run(["--resume", ref]);
    expect(finished.code).toBe(1);
    const named = ids.filter((id) => finished.stderr.includes(id));
    expect(named.length).toBeGreaterThan(1);
  });

  it("never when it is damaged: it is named, and not touched", async () => {
    const home = createHome(server);
    const id = await converse(home, "MARK-1");
    const other = await converse(home, "MARK-2");
    for (const file of home.filesWith("MARK-1")) writeFileSync(file, "\0".repeat(413));
    const before = bytesOf(home);
    const finished = await home.run(["--resume", id]);
    expect(finished.code).toBe(1);
    expect(finished.stderr).toContain(id);
    expect(bytesOf(home)).toEqual(before);
    expect((await home.list()).map((row) => row.id).sort()).toEqual([id, other].sort());
    expect(await sent(home, ["-c"])).toContain("MARK-2");
  });

  it("in a terminal, an unknown one says so and leaves", async () => {
    const home = createHome(server);
    const chat = home.open(["--resume", "nosuch"]);
    expect([1, 2]).toContain((await chat.exit).status);
    expect(chat.screen()).toContain("nosuch");
    expect(await home.list()).toEqual([]);
  });

  it("says that there is none yet", async () => {
    const finished = await createHome(server).run(["--resume"]);
    expect(finished.code).toBe(1);
    expect(finished.stderr).toMatch(/no conversation/);
  });
});

describe("without an id", () => {
  it("it is the one written last, also after a kill, a touch and a copy", async () => {
    const home = createHome(server);
    const first = await converse(home, "MARK-FIRST");
    const second = await converse(home, "MARK-SECOND");
    const chat = home.open(["-r", first]);
    server.reply(stall());
    await say(chat, "MARK-THIRD");
    await server.waitForRequest(3);
    chat.kill("SIGKILL");
    await chat.exit;
    const later = new Date(Date.now() + 3_600_000);
    for (const file of home.filesWith("MARK-SECOND")) utimesSync(file, later, later);
    expect((await home.list()).map((row) => row.id)).toEqual([first, second]);
    expect(await sent(home.copy(), ["-c", "--wait"])).toMatch(/MARK-FIRST[\s\S]*MARK-THIRD/);
    expect(await sent(home, ["-r", "--wait"])).toMatch(/MARK-FIRST[\s\S]*MARK-THIRD/);
  });

  it("looking changes nothing: neither bytes nor order", async () => {
    const home = createHome(server);
    const first = await converse(home, "MARK-FIRST");
    const second = await converse(home, "MARK-SECOND");
    const before = bytesOf(home);
    for (const args of [["-r", first], ["-r", first], ["-c"]]) {
      const chat = home.open(args);
      await chat.waitFor(/MARK-(FIRST|SECOND)/);
      await quit(chat);
    }
    await home.run(["show", first]);
    expect(bytesOf(home)).toEqual(before);
    expect((await home.list()).map((row) => row.id)).toEqual([second, first]);
    expect(server.requests).toHaveLength(2);
  });

  it.each([
    ["a call that waits for permission", "echo MARK-OUT"],
    ["a tool that runs", "touch started; sleep 600"],
  ])("%s, interrupted, stays one call with one result through five idle resumes", async (what, command) => {
    const home = createHome(server);
    const runs = what === "a tool that runs";
    const chat = home.open(runs ? ["--yes"] : []);
    server.reply(calls("", call("bash", { command }, { id: "call_1" })));
    await say(chat, "MARK-1");
    if (runs) await until("the tool runs", () => existsSync(join(home.work, "started")));
    else await chat.waitFor("[n]o >");
    chat.key("ctrl-c");
    await ready(chat);
    await quit(chat);
    const before = bytesOf(home);
    for (let n = 0; n < 5; n += 1) {
      const again = home.open(["-r"]);
      await again.waitFor("MARK-1");
      await quit(again);
    }
    expect(bytesOf(home)).toEqual(before);
    expect(await sent(home, ["-c"])).toMatch(/MARK-1[\s\S]*interrupted by user[\s\S]*MARK-NOW/);
    const request = server.requests.at(-1);
    expect(request?.calls).toHaveLength(1);
    expect(request?.results.map(({ id }) => id)).toEqual(request?.calls.map(({ id }) => id));
  });
});

describe("on resuming", () => {
  it("shows the title, the model, the folder and the last exchanges", async () => {
    const home = createHome(server);
    const id = await converse(home, "MARK-1");
    const chat = home.open(["-r"], { columns: 200 });
    await ready(chat);
    const screen = chat.screen();
    for (const part of [id, "MARK-1", "Answer 1.", "anthropic/", home.work]) expect(screen).toContain(part);
    await quit(chat);
  });

  it("a turn that was cut off goes on by itself, says so, and only once", async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(drip(["MARK-P"]), stall());
    await say(chat, "MARK-1");
    await chat.waitFor("MARK-P");
    chat.kill("SIGTERM");
    await chat.exit;

    const second = home.open(["-r"]);
    await server.waitForRequest(2);
    await second.waitFor(/going on|continu/i);
    second.kill("SIGKILL");
    await second.exit;

    const third = home.open(["-r"]);
    await ready(third);
    await talk(third, "MARK-2", "Answer 3.");
    expect(server.requests).toHaveLength(3);
    expect(server.requests[2]?.text).toMatch(/MARK-1[\s\S]*MARK-P[\s\S]*MARK-2/);
    await quit(third);
  });

  it("it does not go on after Ctrl+C", async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(drip(["MARK-P"]));
    await say(chat, "MARK-1");
    await chat.waitFor("MARK-P");
    chat.key("ctrl-c");
    await ready(chat);
    await quit(chat);
    const again = home.open(["-r"]);
    await ready(again);
    await quit(again);
    expect(server.requests).toHaveLength(1);
  });

  it("it does not go on with --wait, and Ctrl+C stops it when it does", async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(stall(), stall());
    await say(chat, "MARK-1");
    await server.waitForRequest(1);
    chat.kill("SIGKILL");
    await chat.exit;
    const waiting = home.open(["-r", "--wait"]);
    await ready(waiting);
    await quit(waiting);
    expect(server.requests).toHaveLength(1);
    const again = home.open(["-r"]);
    const second = await server.waitForRequest(2);
    again.key("ctrl-c");
    await second.ended;
    await ready(again);
    await quit(again);
  });

  it("a message given with -c comes after the turn that goes on", async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(stall());
    await say(chat, "MARK-1");
    await server.waitForRequest(1);
    chat.kill("SIGKILL");
    await chat.exit;
    server.reply(text("MARK-A1"), text("MARK-A2"));
    const again = home.open(["-c", "MARK-2"]);
    await again.waitFor("MARK-A2");
    expect(server.requests[1]?.text).not.toContain("MARK-2");
    expect(server.requests[2]?.text).toMatch(/MARK-1[\s\S]*MARK-A1[\s\S]*MARK-2/);
    await quit(again);
  });
});

describe("the folder", () => {
  it("when it was moved or is reached by a link, the conversation is found all the same", async () => {
    const home = createHome(server);
    const a = join(home.folder, "a");
    mkdirSync(a);
    expect((await home.run(["-p", "MARK-1"], { cwd: a })).code).toBe(0);
    const id = String((await home.list())[0]?.id);
    const b = join(home.folder, "b");
    renameSync(a, b);
    symlinkSync(b, join(home.folder, "c"));
    for (const cwd of [b, join(home.folder, "c"), home.work]) {
      for (const args of [["-c"], ["-r", id]]) {
        const finished = await home.run(["-p", "MARK-NOW", ...args], { cwd });
        expect(finished.code).toBe(0);
        expect(server.requests.at(-1)?.text).toContain("MARK-1");
      }
    }
  });

  it("is where the tools work again, wherever it is resumed from", async () => {
    const home = createHome(server);
    await converse(home, "MARK-1");
    server.reply(calls("", call("bash", { command: "pwd" })), text("Done."));
    const { code } = await home.run(["-p", "where?", "-c", "--yes"], { cwd: home.home });
    expect(code).toBe(0);
    expect(server.requests.at(-1)?.results[0]?.text).toContain(home.work);
  });

  it("when it is gone, the current one is used, said so, and permissions are asked anew", async () => {
    const home = createHome(server);
    const gone = join(home.folder, "gone");
    mkdirSync(gone);
    const chat = home.open([], { cwd: gone });
    server.reply(calls("", call("bash", { command: "pwd" })), text("Done one."));
    await say(chat, "MARK-1");
    await permit(chat, "a");
    await chat.waitFor("Done one.");
    await quit(chat);
    rmSync(gone, { recursive: true });
    const again = home.open(["-r"]);
    await again.waitFor(/gone/);
    server.reply(calls("", call("bash", { command: "pwd" })), text("Done two."));
    await say(again, "MARK-2");
    await permit(again, "y");
    await again.waitFor("Done two.");
    expect(server.requests.at(-1)?.results.at(-1)?.text).toContain(home.work);
    await quit(again);
  });

  it("when it disappears during the conversation, or is gone at the start, the program stays alive", async () => {
    const home = createHome(server);
    const dead = join(home.folder, "dead");
    mkdirSync(dead);
    const chat = home.open(["--yes"], { cwd: dead });
    await ready(chat);
    rmSync(dead, { recursive: true });
    server.reply(calls("", call("bash", { command: "pwd" })), text("Done."));
    await say(chat, "MARK-1");
    await chat.waitFor("Done.");
    expect(server.requests[1]?.results).toHaveLength(1);
    await quit(chat);
    mkdirSync(dead);
    const script = 'rmdir "$PWD"; exec "$@"';
    const again = home.open(["--resume"], { cwd: dead, prefix: ["/bin/sh", "-c", script, "sh"] });
    await again.waitFor("MARK-1");
    await talk(again, "MARK-2", "Answer 3.");
    await quit(again);
    expect(again.screen()).not.toMatch(/\n\s+at /);
  });
});

describe("what was copied", () => {
  it("to another home opens there", async () => {
    const home = createHome(server);
    const id = await converse(home, "MARK-1");
    const other = createHome(server);
    cpSync(home.home, other.home, { recursive: true });
    expect(await sent(other, ["-r", id])).toContain("MARK-1");
  });
});
