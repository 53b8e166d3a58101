import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome, type Home } from "../support/chat.js";
import { quit, ready, resumeId, say, talk } from "../support/conversation.js";
import { call, calls, drip, type ModelServer, startModelServer } from "../support/model-server.js";
import { childrenOf, endProcess, processesWith } from "../support/processes.js";
import { until } from "../support/until.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

/** The environment of a program that throws what nobody catches when it gets SIGUSR2. */
function crashing(home: Home): { NODE_OPTIONS: string } {
  const hook = join(home.folder, "crash.cjs");
  writeFileSync(hook, 'process.on("SIGUSR2", () => setImmediate(() => { throw new Error("injected crash"); }));');
  return { NODE_OPTIONS: `--require ${hook}` };
}

describe("an exception that nobody catches", () => {
  it("while an answer streams: saved, told, exit 1, and it can be resumed", async () => {
    const home = createHome(server);
    const chat = home.open([], { env: crashing(home) });
    server.reply(drip(["MARK-P first half"]));
    await say(chat, "MARK-1");
    await chat.waitFor("MARK-P first half");
    chat.kill("SIGUSR2");
    expect((await chat.exit).status).toBe(1);
    expect(chat.screen()).toContain("injected crash");
    const id = resumeId(chat.screen());
    const again = home.open(["--resume", id, "--wait"]);
    await again.waitFor("MARK-P first half");
    await talk(again, "MARK-2", "Answer 2.");
    expect(server.requests[1]?.text).toMatch(/MARK-1[\s\S]*MARK-P first half[\s\S]*MARK-2/);
    await quit(again);
  });

  it("while a tool runs: its processes are ended and its call closed", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"], { env: crashing(home) });
    server.reply(calls("", call("bash", { command: "sleep 7501 & setsid sleep 7502 & wait" })));
    await say(chat, "MARK-1");
    const sleeps = (): number => processesWith(home.folder).filter(({ command }) => /^sleep 750/.test(command)).length;
    await until("the tool runs", () => sleeps() === 2);
    chat.kill("SIGUSR2");
    expect((await chat.exit).status).toBe(1);
    await until("no process is left", () => sleeps() === 0);
    const again = home.open(["-r", "--wait"]);
    await talk(again, "MARK-2", "Answer 2.");
    expect(server.requests[1]?.results).toHaveLength(1);
    await quit(again);
  });

  it("leaves the terminal as it was", async () => {
    const home = createHome(server);
    const script = 'stty -g; "$@"; echo "status=$?"; stty -g; echo END';
    const shell = home.open([], { prefix: ["/bin/sh", "-c", script, "sh"], env: crashing(home), columns: 200 });
    await ready(shell);
    const [pid = 0] = childrenOf(shell.pid);
    endProcess(pid, "SIGUSR2");
    await shell.waitFor(/status=1[\s\S]*END/);
    const settings = shell.screen().match(/^[0-9a-f]+(:[0-9a-f]+){20,}$/gm) ?? [];
    expect(settings).toHaveLength(2);
    expect(settings[1]).toBe(settings[0]);
    expect(shell.raw.toString("latin1")).toMatch(/\x1b\[\?2004l[\s\S]*status=1/);
    await shell.exit;
  });
});
