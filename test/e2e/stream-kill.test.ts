import { existsSync, readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome, type Home, type Provider } from "../support/chat.js";
import { quit, ready, say, talk } from "../support/conversation.js";
import { call, calls, drip, gate, type ModelServer, startModelServer, text } from "../support/model-server.js";
import type { Chunk } from "../support/reply-steps.js";
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

async function killHard(chat: Terminal): Promise<void> {
  chat.kill("SIGKILL");
  expect((await chat.exit).signal).toBe(9);
}

/** The text of the files where it is kept while it streams. */
const onDisk = (home: Home, word: string) => until(`${word} is on disk`, () => home.filesWith(word).length > 0);

const word = (number: number) => `WORD-${number}.`;

/** Words in the pace of a model. The waits are the server's: the test waits for what it sees. */
function dripping(count: number): Chunk[] {
  let at = Promise.resolve();
  return Array.from({ length: count }, (_, number) => {
    at = at.then(() => new Promise<void>((resolve) => setTimeout(resolve, 20)));
    return [at, `${word(number)} `];
  }).flat();
}

describe.each<Provider>(["anthropic", "openai"])("kill -9 while the model streams, with %s:", (provider) => {
  it("what was on the screen is shown again as a cut-off reply, and the model gets it", async () => {
    const home = createHome(server, provider);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    server.reply(() => drip(dripping(60)));
    await say(chat, "MARK-1");
    await chat.waitFor(word(20));
    // What was there then is on disk long before these are on the screen.
    await chat.waitFor(word(50));
    await killHard(chat);

    const held = gate();
    server.reply(text(held.wait, "The rest of it."));
    const again = home.open(["--resume"]);
    await again.waitFor("(cut off: the program was killed)");
    await again.waitFor("going on with the turn that was cut off");
    const shown = again.screen();
    for (let number = 0; number <= 20; number += 1) expect(shown).toContain(word(number));
    held.open();
    await again.waitFor("The rest of it.");
    await ready(again);
    const request = server.requests.at(-1);
    for (let number = 0; number <= 20; number += 1) expect(request?.assistantTexts.join()).toContain(word(number));
    expect(request?.userTexts.at(-1)).toContain("the reply above was cut off: the program was killed");
    expect(request?.text).toMatch(/MARK-0[\s\S]*Answer 1\.[\s\S]*MARK-1[\s\S]*WORD-0\./);
    await quit(again);
  });

  it("every time: each part is there once, in order, in every request after it", async () => {
    const home = createHome(server, provider);
    let chat = home.open();
    server.reply(drip(["PART-1. half"]));
    await say(chat, "MARK-1");
    await chat.waitFor("PART-1. half");
    await onDisk(home, "PART-1.");
    await killHard(chat);

    // Goes on by itself, once.
    server.reply(drip(["PART-2. half"]));
    chat = home.open(["--resume"]);
    await chat.waitFor("PART-2. half");
    await onDisk(home, "PART-2.");
    await killHard(chat);

    // After that the person asks for it.
    server.reply(drip(["PART-3. half"]));
    chat = home.open(["--resume"]);
    await say(chat, ":retry");
    await chat.waitFor("PART-3. half");
    await onDisk(home, "PART-3.");
    await killHard(chat);

    server.always(text("FINAL REPLY"));
    chat = home.open(["--resume"]);
    await talk(chat, "MARK-2", "FINAL REPLY");
    await quit(chat);
    const parts = server.requests.map((request) => request.text.match(/PART-\d\./g) ?? []);
    expect(parts).toEqual([[], ["PART-1."], ["PART-1.", "PART-2."], ["PART-1.", "PART-2.", "PART-3."]]);
    expect(server.requests.at(-1)?.text).toMatch(/MARK-1[\s\S]*PART-3[\s\S]*MARK-2/);
  });
});

describe("kill -9 while a reply streams", () => {
  it("after a whole reply in the same turn: both are kept", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    server.reply(calls("FIRST reply.", call("bash", { command: "echo MARK-$((40 + 2))" })), drip(["SECOND half"]));
    await say(chat, "MARK-1");
    await chat.waitFor("SECOND half");
    await onDisk(home, "SECOND half");
    await killHard(chat);
    server.always(text("FINAL REPLY"));
    const again = home.open(["--resume"]);
    await again.waitFor("FINAL REPLY");
    await quit(again);
    expect(server.requests.at(-1)?.text).toMatch(/MARK-1[\s\S]*FIRST reply[\s\S]*MARK-42[\s\S]*SECOND half/);
    expect(server.requests.at(-1)?.results).toHaveLength(1);
  });

  it("looking at it changes nothing on disk, and it is shown every time", async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(drip(["HALF of it"]));
    await say(chat, "MARK-1");
    await chat.waitFor("HALF of it");
    await onDisk(home, "HALF of it");
    await killHard(chat);
    const kept = () =>
      home
        .files()
        .filter((file) => /log\.jsonl$|snapshot\.json$|streaming$/.test(file))
        .map((file) => [file, readFileSync(file, "utf8")]);
    const before = kept();
    expect(before.map(([file = ""]) => basename(file)).sort()).toEqual(["log.jsonl", "snapshot.json", "streaming"]);
    for (let times = 0; times < 2; times += 1) {
      const again = home.open(["--resume", "--wait"]);
      await again.waitFor("HALF of it");
      await again.waitFor("(cut off: the program was killed)");
      await quit(again);
      expect(kept()).toEqual(before);
    }
    expect(server.requests).toHaveLength(1);
  });

  it("with -p: the next start has what had streamed", async () => {
    const home = createHome(server);
    server.reply(drip(["HALF of it"]));
    const running = home.start(["-p", "MARK-1", "--output-format", "stream-json"]);
    running.stdin.end("");
    await until("it is shown", () => running.stdout().includes("HALF of it"));
    await onDisk(home, "HALF of it");
    process.kill(running.pid, "SIGKILL");
    expect((await running.done).signal).toBe("SIGKILL");
    server.always(text("The rest."));
    expect(await home.run(["-c", "-p", "MARK-2"])).toMatchObject({ code: 0 });
    expect(server.requests[1]?.text).toMatch(/MARK-1[\s\S]*HALF of it/);
    expect(server.requests.at(-1)?.text).toMatch(/HALF of it[\s\S]*The rest\.[\s\S]*MARK-2/);
  });

  it("the file is the person's alone, and gone when the reply is whole", async () => {
    const home = createHome(server);
    const chat = home.open([], { prefix: ["/bin/sh", "-c", 'umask 0; exec "$@"', "sh"] });
    const held = gate();
    server.reply(text("HALF ", held.wait, "and half"));
    await say(chat, "MARK-1");
    await chat.waitFor("HALF");
    await onDisk(home, "HALF ");
    const [file = ""] = home.filesWith("HALF ");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    held.open();
    await chat.waitFor("HALF and half");
    await ready(chat);
    expect(existsSync(file)).toBe(false);
    expect(home.filesWith("HALF and half").map((path) => basename(path))).toEqual(["log.jsonl"]);
    await quit(chat);
  });
});
