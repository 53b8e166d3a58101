import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome } from "../support/chat.js";
import { quit, ready, say, talk } from "../support/conversation.js";
import { call, calls, type ModelServer, startModelServer } from "../support/model-server.js";
import { until } from "../support/until.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

describe("a conversation that is open", () => {
  it("cannot be opened by a second process, which is told who holds it", async () => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-1", "Answer 1.");
    const [row] = await home.list();
    for (const args of [["-r", String(row?.id), "-p", "MARK-X"], ["-c", "-p", "MARK-X"], ["-r"]]) {
      const finished = await home.run(args);
      expect(finished.code).toBe(75);
      expect(finished.stderr).toContain(String(chat.pid));
      expect(finished.stderr).not.toMatch(/\n\s+at /);
    }
    const second = home.open(["-r"]);
    expect((await second.exit).status).toBe(75);
    expect(server.requests).toHaveLength(1);
    await talk(chat, "MARK-2", "Answer 2.");
    await quit(chat);
    expect((await home.run(["-c", "-p", "MARK-3"])).code).toBe(0);
  });

  it("after a mere resume is held too, and another conversation is not", async () => {
    const home = createHome(server);
    await home.run(["-p", "MARK-1"]);
    const chat = home.open(["-r"]);
    await ready(chat);
    expect((await home.run(["-c", "-p", "MARK-X"])).code).toBe(75);
    expect((await home.run(["-p", "MARK-NEW"])).code).toBe(0);
    await quit(chat);
  });

  it("is free again once its process is killed, also while its tool lives on", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    server.reply(calls("", call("bash", { command: "setsid sleep 7301 & touch started; sleep 7302" })));
    await say(chat, "MARK-1");
    await until("the tool runs", () => existsSync(join(home.work, "started")));
    chat.kill("SIGKILL");
    await chat.exit;
    // A resume would wait for the tool's result.
    const [row] = await home.list();
    expect((await home.run(["rename", String(row?.id), "free"])).code).toBe(0);
  });
});
