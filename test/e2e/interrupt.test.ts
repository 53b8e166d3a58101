import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome } from "../support/chat.js";
import { quit, ready, say, talk } from "../support/conversation.js";
import { call, calls, drip, type ModelServer, stall, startModelServer } from "../support/model-server.js";
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

describe("Ctrl+C during a turn", () => {
  it("keeps the text that was streamed, and sends it next time, marked as cut off", async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(drip(["MARK-P first half"]));
    await say(chat, "MARK-1");
    await chat.waitFor("MARK-P first half");
    chat.key("ctrl-c");
    await ready(chat);
    await server.requests[0]?.ended;
    await talk(chat, "MARK-2", "Answer 2.");
    const { text, assistantTexts } = server.requests[1] ?? { text: "", assistantTexts: [] };
    expect(text).toMatch(/MARK-1[\s\S]*MARK-P first half[\s\S]*MARK-2/);
    expect(text).toMatch(/MARK-P first half[\s\S]*(cut off|interrupted)/);
    expect(assistantTexts.join()).toContain("MARK-P first half");
    await quit(chat);

    const again = home.open(["-r"]);
    await again.waitFor("MARK-P first half");
    await talk(again, "MARK-3", "Answer 3.");
    expect(server.requests[2]?.text).toMatch(/MARK-P first half[\s\S]*MARK-2[\s\S]*Answer 2\.[\s\S]*MARK-3/);
    await quit(again);
  });

  it("stops a request that nobody answers, and a half-streamed call is dropped", async () => {
    const chat = createHome(server, "openai").open();
    server.reply(stall(), drip(["MARK-TEXT"], call("bash", { command: "echo MARK-NEVER >> ran.txt" })));
    await say(chat, "MARK-1");
    await server.waitForRequest(1);
    chat.key("ctrl-c");
    await say(chat, "MARK-2");
    await chat.waitFor("MARK-TEXT");
    chat.key("ctrl-c");
    await talk(chat, "MARK-3", "Answer 3.");
    expect(server.requests[2]?.calls).toEqual([]);
    expect(server.requests[2]?.text).toMatch(/MARK-1[\s\S]*MARK-2[\s\S]*MARK-TEXT[\s\S]*MARK-3/);
    await quit(chat);
  });

  it("ends a running tool with everything it started, and closes the call", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    const command = "touch started; sleep 7001 & setsid sleep 7002 & wait";
    server.reply(calls("", call("bash", { command })));
    await say(chat, "go");
    await until("the tool runs", () => existsSync(join(home.work, "started")) && sleeps(home.folder, 2));
    chat.key("ctrl-c");
    await ready(chat);
    await until("no process is left", () =>
      processesWith(home.folder).every(({ command }) => !/sleep 700/.test(command)),
    );
    await talk(chat, "MARK-2", "Answer 2.");
    expect(server.requests[1]?.results.map((result) => result.text).join()).toContain("(interrupted by user)");
    await quit(chat);
  });

  it("closes several calls at once, one of them still waiting for an answer", async () => {
    const home = createHome(server, "openai");
    const chat = home.open();
    server.reply(calls("", call("bash", { command: "echo one" }), call("bash", { command: "echo two" })));
    await say(chat, "go");
    await chat.waitFor("[n]o >");
    chat.key("ctrl-c");
    await talk(chat, "MARK-2", "Answer 2.");
    const results = server.requests[1]?.results ?? [];
    expect(results).toHaveLength(2);
    for (const result of results) expect(result.text).toContain("interrupted by user)");
    await quit(chat);
  });

  it("stops a !command", async () => {
    const home = createHome(server);
    const chat = home.open();
    await say(chat, "!touch started; sleep 7003");
    await until("the command runs", () => existsSync(join(home.work, "started")));
    chat.key("ctrl-c");
    await ready(chat);
    await until("it is gone", () => processesWith(home.folder).every(({ command }) => !command.includes("sleep 7003")));
    await quit(chat);
  });
});

function sleeps(folder: string, count: number): boolean {
  return processesWith(folder).filter(({ command }) => /^sleep 70/.test(command)).length >= count;
}

describe("at the prompt", () => {
  it("Ctrl+C throws away what was typed; twice with nothing typed leaves with 130", async () => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-1", "Answer 1.");
    chat.type("not to be sent");
    await chat.waitFor((terminal) => terminal.cursorLine().endsWith("not to be sent"));
    chat.key("ctrl-c");
    await ready(chat);
    chat.key("ctrl-c");
    await chat.waitFor(/again/i);
    chat.key("ctrl-c");
    expect((await chat.exit).status).toBe(130);
    expect(server.requests).toHaveLength(1);
    expect(chat.screen()).toMatch(/chat (--resume|-r) /);
  });

  it("Ctrl+D leaves with 0", async () => {
    const chat = createHome(server).open();
    await talk(chat, "MARK-1", "Answer 1.");
    chat.key("ctrl-d");
    expect((await chat.exit).status).toBe(0);
    expect(chat.screen()).toMatch(/chat (--resume|-r) /);
  });
});
