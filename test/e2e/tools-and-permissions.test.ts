import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome } from "../support/chat.js";
import { asked, permit, quit, say } from "../support/conversation.js";
import { call, calls, type ModelServer, startModelServer, text } from "../support/model-server.js";
import { processesWith } from "../support/processes.js";
import { until } from "../support/until.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

const append = (word: string) => call("bash", { command: `echo ${word} >> ran.txt; echo OUT-${word}` });
const ran = (work: string): string =>
  existsSync(join(work, "ran.txt")) ? readFileSync(join(work, "ran.txt"), "utf8") : "";

describe("a call that asks first", () => {
  it("runs after y, and its output reaches the model", async () => {
    const home = createHome(server, "openai");
    const chat = home.open();
    server.reply(calls("Let me look.", append("one")), text("Seen."));
    await say(chat, "go");
    await asked(chat);
    expect(ran(home.work)).toBe("");
    await permit(chat, "y");
    await chat.waitFor("Seen.");
    expect(ran(home.work)).toBe("one\n");
    expect(server.requests[1]?.results[0]?.text).toContain("OUT-one");
    await quit(chat);
  });

  it("works through Google's API too, two calls of one name in one turn", async () => {
    const home = createHome(server, "google");
    const chat = home.open(["--yes"]);
    server.reply(calls("Let me look.", append("one"), append("two")), text("Seen."));
    await say(chat, "go");
    await chat.waitFor("Seen.");
    expect(server.requests[1]?.results.map((result) => /OUT-\w+/.exec(result.text)?.[0])).toEqual([
      "OUT-one",
      "OUT-two",
    ]);
    await quit(chat);
  });

  it("does not run after n, and the model is told the reason", async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(calls("", append("one")), text("Understood."));
    await say(chat, "go");
    await permit(chat, "n MARK-REASON use make");
    await chat.waitFor("Understood.");
    expect(ran(home.work)).toBe("");
    expect(server.requests[1]?.results[0]?.text).toContain("MARK-REASON use make");
    await quit(chat);
  });

  it("stays one refused call after quitting, resuming and going on", async () => {
    const home = createHome(server);
    const first = home.open();
    server.reply(calls("", append("one")), text("Understood."));
    await say(first, "go");
    await permit(first, "n MARK-REASON");
    await first.waitFor("Understood.");
    await quit(first);
    const second = home.open(["-r"]);
    await say(second, "and now?");
    await second.waitFor("Answer 3.");
    expect(server.requests[2]?.results).toHaveLength(1);
    await quit(second);
  });

  it("is not asked about again after a, also after resuming, but in another folder it is", async () => {
    const home = createHome(server);
    const first = home.open();
    server.reply(calls("", append("one")), calls("", append("two")), text("Both."));
    await say(first, "go");
    await permit(first, "a");
    await first.waitFor("Both.");
    expect(ran(home.work)).toBe("one\ntwo\n");
    await quit(first);

    server.reply(calls("", append("three")), text("Third."));
    const second = home.open(["-c"]);
    await say(second, "again");
    await second.waitFor("Third.");
    expect(ran(home.work)).toBe("one\ntwo\nthree\n");
    await quit(second);

    const other = join(home.folder, "other");
    mkdirSync(other);
    server.reply(calls("", append("four")), text("Fourth."));
    const third = home.open(["-c", "--cwd", other]);
    await say(third, "elsewhere");
    await permit(third, "n");
    await third.waitFor("Fourth.");
    expect(ran(other)).toBe("");
    await quit(third);
  });

  it("asks for each of several calls in one turn, and each gets its own result", async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(calls("", append("one"), append("two")), text("Done."));
    await say(chat, "go");
    await permit(chat, "y");
    await chat.waitFor(/OUT-one|two >> ran/);
    await permit(chat, "n");
    await chat.waitFor("Done.");
    expect(ran(home.work)).toBe("one\n");
    await quit(chat);
  });
});

describe("reading", () => {
  it("inside the working folder does not ask; outside it does", async () => {
    const home = createHome(server);
    writeFileSync(join(home.work, "inside.txt"), "MARK-INSIDE\n");
    writeFileSync(join(home.folder, "outside.txt"), "MARK-OUTSIDE\n");
    const chat = home.open();
    server.reply(
      calls("", call("read", { path: "inside.txt" })),
      calls("", call("read", { path: "../outside.txt" })),
      text("Done."),
    );
    await say(chat, "go");
    const second = await server.waitForRequest(2);
    expect(second.results[0]?.text).toContain("MARK-INSIDE");
    await permit(chat, "n MARK-NO");
    const third = await server.waitForRequest(3);
    expect(third.text).not.toContain("MARK-OUTSIDE");
    await chat.waitFor("Done.");
    await quit(chat);
  });
});

describe("the flags", () => {
  it.each([
    ["--yes", true],
    ["--allow bash", true],
    ["--deny bash", false],
    ["--read-only", false],
  ])("%s decides without asking", async (flags, runs) => {
    const home = createHome(server, "openai");
    server.reply(calls("", append("one")), text("Done."));
    const chat = home.open(flags.split(" "));
    await say(chat, "go");
    await chat.waitFor("Done.");
    expect(ran(home.work)).toBe(runs ? "one\n" : "");
    await quit(chat);
  });

  it("--no-tools gives the model none", async () => {
    const chat = createHome(server).open(["--no-tools"]);
    await say(chat, "go");
    await chat.waitFor("Answer 1.");
    expect(server.requests[0]?.conversation.tools).toEqual([]);
    await quit(chat);
  });
});

describe("a tool that takes too long", () => {
  it("is ended with everything it started, and the model is told", async () => {
    const home = createHome(server);
    const command = "sh -c 'sleep 7401 & setsid sleep 7402 & wait'";
    server.reply(calls("", call("bash", { command, timeoutMs: 300 })), text("Done."));
    const chat = home.open(["--yes"]);
    await say(chat, "go");
    await chat.waitFor("Done.");
    expect(server.requests[1]?.results[0]?.text).toContain("timed out");
    await until("no process is left", () =>
      processesWith(home.folder).every((each) => !/sleep 740/.test(each.command)),
    );
    await quit(chat);
  });
});

describe("a tool that fails", () => {
  it("tells the model, and the turn goes on", async () => {
    const chat = createHome(server).open(["--yes"]);
    server.reply(
      calls(
        "",
        call("bash", { command: "echo MARK-ERR >&2; exit 3" }),
        call("nosuchtool", {}),
        call("bash", { wrong: 1 }),
      ),
      text("Done."),
    );
    await say(chat, "go");
    await chat.waitFor("Done.");
    const results = server.requests[1]?.results.map((result) => result.text) ?? [];
    expect(results[0]).toMatch(/MARK-ERR/);
    expect(results[0]).toMatch(/3/);
    expect(results[1]).toContain("nosuchtool");
    expect(results[2]).toContain("command");
    await quit(chat);
  });

  it("sees no input, so that a program that reads it ends", async () => {
    const chat = createHome(server).open(["--yes"]);
    server.reply(calls("", call("bash", { command: "cat; echo MARK-EOF" })), text("Done."));
    await say(chat, "go");
    await chat.waitFor("Done.");
    expect(server.requests[1]?.results[0]?.text).toContain("MARK-EOF");
    await quit(chat);
  });
});
