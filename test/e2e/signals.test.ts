import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome, type Home } from "../support/chat.js";
import { quit, ready, say, talk } from "../support/conversation.js";
import { call, calls, drip, type ModelServer, startModelServer, text } from "../support/model-server.js";
import { childrenOf, endProcess, processesWith } from "../support/processes.js";
import type { Terminal } from "../support/terminal.js";
import { until } from "../support/until.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

const running = (home: Home, command: RegExp): boolean =>
  processesWith(home.folder).some((found) => command.test(found.command));

async function runTool(home: Home, chat: Terminal, command: string): Promise<void> {
  server.reply(calls("", call("bash", { command: `${command.replace("READY", "touch started")}` })));
  await say(chat, "go");
  await until("the tool runs", () => existsSync(join(home.work, "started")));
}

describe.each([
  ["SIGTERM", 143],
  ["SIGHUP", 129],
  ["SIGINT", 130],
] as const)("%s", (signal, status) => {
  it(`keeps streamed text and exits with ${status}`, async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(drip(["MARK-P first half"]));
    await say(chat, "MARK-1");
    await chat.waitFor("MARK-P first half");
    chat.kill(signal);
    expect((await chat.exit).status).toBe(status);

    const again = home.open(["-r", "--wait"]);
    await again.waitFor("MARK-P first half");
    await talk(again, "MARK-2", "Answer 2.");
    expect(server.requests[1]?.text).toMatch(/MARK-1[\s\S]*MARK-P first half[\s\S]*MARK-2/);
    await quit(again);
  });

  it(`at the prompt exits with ${status}, and nothing is lost`, async () => {
    const home = createHome(server, "openai");
    const chat = home.open();
    await talk(chat, "MARK-1", "Answer 1.");
    chat.kill(signal);
    expect((await chat.exit).status).toBe(status);
    const again = home.open(["-r"]);
    await talk(again, "MARK-2", "Answer 2.");
    expect(server.requests[1]?.text).toMatch(/MARK-1[\s\S]*Answer 1\.[\s\S]*MARK-2/);
    await quit(again);
  });
});

describe("SIGTERM while a tool runs", () => {
  it("ends the whole tree even when the tool ignores signals, and tells the model", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(
      home,
      chat,
      "trap '' TERM INT HUP; sleep 7101 & setsid sleep 7102 & READY; while :; do sleep 1; done",
    );
    const before = Date.now();
    chat.kill("SIGTERM");
    expect((await chat.exit).status).toBe(143);
    // The bound is 2 s; the rest is for a busy machine.
    expect(Date.now() - before).toBeLessThan(8000);
    await until("no tool process is left", () => !running(home, /sleep 710|trap/));
    server.reply(text("Answer A."));
    const again = home.open(["-r", "--wait"]);
    await talk(again, "MARK-2", "Answer A.");
    expect(server.requests[1]?.results[0]?.text).toContain("(aborted: SIGTERM)");
    await quit(again);
  });

  it("closes a call that nobody has answered yet", async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(calls("", call("bash", { command: "echo hi" })));
    await say(chat, "go");
    await chat.waitFor("[n]o >");
    chat.kill("SIGTERM");
    expect((await chat.exit).status).toBe(143);
    const again = home.open(["-r", "--wait"]);
    await talk(again, "MARK-2", "Answer 2.");
    expect(server.requests[1]?.results).toHaveLength(1);
    await quit(again);
  });
});

describe("leaving while a tool has to be killed", () => {
  const holding = (onEnd: string) => `trap '${onEnd}' TERM; READY; while :; do sleep 7103 & wait; done`;
  const isClosed = (home: Home): boolean => home.filesWith("aborted:SIGINT").length > 0;

  it("is cut short by a second signal: its status, no end of the run on disk, and the resume closes the call", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    // Two signals at once may come in either order: so the tool sends the second one when the first has reached it.
    await runTool(home, chat, holding(`kill -TERM ${chat.pid}`));
    chat.kill("SIGINT");
    expect((await chat.exit).status).toBe(143);
    expect(isClosed(home)).toBe(false);
    await until("no tool process is left", () => !running(home, /sleep 7103/));
    const again = home.open(["-r", "--wait"]);
    await talk(again, "MARK-2", "Answer 2.");
    expect(server.requests[1]?.results).toHaveLength(1);
    await quit(again);
  });

  it("with one signal has the status of that one, and the end of the run is on disk", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat, holding(":"));
    chat.kill("SIGINT");
    expect((await chat.exit).status).toBe(130);
    expect(isClosed(home)).toBe(true);
  });
});

describe("a terminal that is closed", () => {
  it("while an answer streams: what was said and streamed is kept, and there is no stack trace anywhere", async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(drip(["MARK-P first half"]));
    await say(chat, "MARK-1");
    await chat.waitFor("MARK-P first half");
    chat.hangUp();
    expect((await chat.exit).status).toBe(129);
    expect(home.filesWith("    at ")).toEqual([]);
    const again = home.open(["-r", "--wait"]);
    await again.waitFor("MARK-P first half");
    await talk(again, "MARK-2", "Answer 2.");
    expect(server.requests[1]?.text).toContain("MARK-P first half");
    await quit(again);
  });

  it("at the prompt: the program leaves", async () => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-1", "Answer 1.");
    chat.hangUp();
    expect((await chat.exit).status).toBe(129);
    expect(home.filesWith("MARK-1").length).toBeGreaterThan(0);
  });

  it("while a tool runs: the call gets exactly one result for the next resume", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat, "READY; until [ -e go ]; do sleep 0.05; done");
    chat.hangUp();
    expect((await chat.exit).status).toBe(129);
    writeFileSync(join(home.work, "go"), "");
    const again = home.open(["-r", "--wait"]);
    await talk(again, "MARK-2", "Answer 2.");
    expect(server.requests[1]?.results).toHaveLength(1);
    await quit(again);
  });
});

describe("the terminal's modes", () => {
  it.each(["SIGTERM", "SIGHUP", "ctrl-c twice", ":quit", "SIGTERM while streaming"])(
    "are as before after %s",
    async (how) => {
      const home = createHome(server);
      const script = 'stty -g; "$@"; echo "status=$?"; stty -g; echo END';
      const shell = home.open([], { prefix: ["/bin/sh", "-c", script, "sh"], columns: 200 });
      await ready(shell);
      const [pid = 0] = childrenOf(shell.pid);
      if (how === ":quit") await quitLine(shell);
      else if (how === "ctrl-c twice") {
        shell.key("ctrl-c");
        await shell.waitFor(/again/i);
        shell.key("ctrl-c");
      } else if (how === "SIGTERM while streaming") {
        server.reply(drip(["streaming"]));
        await say(shell, "go");
        await shell.waitFor("streaming");
        endProcess(pid, "SIGTERM");
      } else endProcess(pid, how === "SIGHUP" ? "SIGHUP" : "SIGTERM");
      await shell.waitFor(/status=\d+[\s\S]*END/);
      const settings = shell.screen().match(/^[0-9a-f]+(:[0-9a-f]+){20,}$/gm) ?? [];
      expect(settings).toHaveLength(2);
      expect(settings[1]).toBe(settings[0]);
      const output = shell.raw.toString("latin1");
      for (const [, mode = ""] of output.matchAll(/\x1b\[\?(1000|1002|1003|1006|1049|2004)h/g)) {
        expect(output.lastIndexOf(`\x1b[?${mode}l`)).toBeGreaterThan(output.lastIndexOf(`\x1b[?${mode}h`));
      }
      expect(output.lastIndexOf("\x1b[?25h")).toBeGreaterThanOrEqual(output.lastIndexOf("\x1b[?25l"));
      await shell.exit;
    },
  );
});

async function quitLine(shell: Terminal): Promise<void> {
  shell.type(":quit");
  shell.key("enter");
  await shell.waitFor("status=0");
}
