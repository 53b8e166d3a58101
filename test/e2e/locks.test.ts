import { existsSync, writeFileSync } from "node:fs";
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
    server.reply(calls("", call("bash", { command: "touch started; until [ -e go ]; do sleep 0.05; done" })));
    await say(chat, "MARK-1");
    await until("the tool runs", () => existsSync(join(home.work, "started")));
    chat.kill("SIGKILL");
    await chat.exit;
    // It is this one's now: it follows the tool, and then says what it was given.
    const print = home.start(["-c", "-p", "MARK-2"]);
    print.stdin.end();
    await until("it has the conversation", () => home.files().some((file) => file.endsWith("/attached")));
    writeFileSync(join(home.work, "go"), "");
    expect((await print.done).code).toBe(0);
    expect(server.requests.at(-1)?.text).toMatch(/MARK-1[\s\S]*MARK-2/);
  });
});
