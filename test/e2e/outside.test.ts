import { appendFileSync, copyFileSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome } from "../support/chat.js";
import { say, talk } from "../support/conversation.js";
import { type ModelServer, startModelServer } from "../support/model-server.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

describe("when somebody else changes the files of an open conversation", () => {
  it.each<[string, (log: string) => void]>([
    ["appends a line to the log", (log) => appendFileSync(log, '{"seq":999,"kind":"alien"}\n')],
    ["appends half a line to the log", (log) => appendFileSync(log, '{"seq":9')],
    [
      "puts a copy in its place",
      (log) => {
        copyFileSync(log, `${log}.copy`);
        renameSync(`${log}.copy`, log);
      },
    ],
    ["removes the log", (log) => rmSync(log)],
    ["removes the whole folder", (log) => rmSync(dirname(log), { recursive: true })],
  ])("%s, no message after it is lost without a word", async (_what, change) => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    const log = home.filesWith("MARK-0").find((file) => file.endsWith("log.jsonl"));
    if (log === undefined) throw new Error("no log");
    change(log);
    const marks = [1, 2, 3, 4, 5].map((n) => `MARK-AFTER-${n}.`);
    for (const mark of marks) {
      await say(chat, mark);
      await chat.waitFor((terminal) => new RegExp(`${mark}[\\s\\S]*\\n> $`).test(`${terminal.screen()} `));
    }
    const screen = chat.screen();
    chat.kill("SIGKILL");
    await chat.exit;

    const finished = await home.run(["-c", "-p", "MARK-LAST"]);
    const sent = server.requests.at(-1)?.text ?? "";
    for (const mark of marks) {
      const elsewhere = home.filesWith(mark).filter((file) => screen.includes(file) || screen.includes(dirname(file)));
      const isKept = finished.code === 0 && sent.includes("MARK-LAST") && sent.includes(mark);
      expect(isKept || elsewhere.length > 0, `${mark} is neither resumed nor in a file that was named\n${screen}`).toBe(
        true,
      );
    }
  });
});
