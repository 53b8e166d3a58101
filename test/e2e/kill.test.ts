import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome, type Home, type Provider } from "../support/chat.js";
import { asked, enter, permit, quit, ready, say, talk } from "../support/conversation.js";
import { call, calls, drip, gate, type ModelServer, stall, startModelServer, text } from "../support/model-server.js";
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

const ranIn = (home: Home): string[] => {
  const file = join(home.work, "ran.txt");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
};

/** What a command waits for until {@link go}. */
const untilGo = "until [ -e go ]; do sleep 0.05; done";

function go(home: Home): void {
  writeFileSync(join(home.work, "go"), "");
}

/** Resumes, lets it go on by itself if it does, says one more thing, and gives the last request. */
async function resumeAndSay(home: Home, line: string) {
  server.clear();
  server.always((request) => text(request.text.includes(line) ? "FINAL REPLY" : "Went on."));
  const chat = home.open(["--resume", "--yes"]);
  await talk(chat, line, "FINAL REPLY");
  await quit(chat);
  const request = server.requests.at(-1);
  if (request === undefined) throw new Error("no request");
  return request;
}

describe.each<Provider>(["anthropic", "openai"])("kill -9, with %s,", (provider) => {
  it("right after Enter: the message is there, and is answered by itself on resume", async () => {
    const home = createHome(server, provider);
    const chat = home.open();
    server.reply(stall());
    await say(chat, "MARK-1");
    await server.waitForRequest(1);
    await killHard(chat);

    server.reply(text("The answer at last."));
    const again = home.open(["--resume"]);
    await again.waitFor("MARK-1");
    await again.waitFor("The answer at last.");
    expect(server.requests[1]?.userTexts.join()).toContain("MARK-1");
    await quit(again);
  });

  it("while the model streams: the message is kept and the request asked again", async () => {
    const home = createHome(server, provider);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    server.reply(drip(["MARK-P half"]));
    await say(chat, "MARK-1");
    await chat.waitFor("MARK-P half");
    await killHard(chat);
    const request = await resumeAndSay(home, "MARK-2");
    expect(request.text).toMatch(/MARK-0[\s\S]*Answer 1\.[\s\S]*MARK-1[\s\S]*MARK-2/);
  });

  it("while a tool runs: it goes on, is not run again, and the model gets its result", async () => {
    const home = createHome(server, provider);
    const chat = home.open(["--yes"]);
    server.reply(calls("", call("bash", { command: `echo once >> ran.txt; ${untilGo}; echo MARK-$((40 + 2))` })));
    await say(chat, "MARK-1");
    await until("the tool runs", () => ranIn(home).length > 0);
    await killHard(chat);
    go(home);
    const request = await resumeAndSay(home, "MARK-2");
    expect(ranIn(home)).toEqual(["once"]);
    expect(request.results).toMatchObject([{ text: "MARK-42\n", isError: false }]);
    expect(request.text).toMatch(/MARK-1[\s\S]*MARK-2/);
  });

  it("between parallel results: the finished one is kept, the other picked up, none run twice", async () => {
    const home = createHome(server, provider);
    const chat = home.open(["--yes"]);
    server.reply(
      calls(
        "",
        call("bash", { command: "echo fast >> ran.txt; echo MARK-$((40 + 2))" }),
        call("bash", { command: `echo slow >> ran.txt; ${untilGo}; echo MARK-$((40 + 3))` }),
      ),
    );
    await say(chat, "MARK-1");
    await until("the first result is saved and the second tool runs", () => {
      const saved = home.textsWith("MARK-1").some((content) => content.includes("MARK-42"));
      return saved && ranIn(home).includes("slow");
    });
    await killHard(chat);
    go(home);
    const request = await resumeAndSay(home, "MARK-2");
    expect(ranIn(home).sort()).toEqual(["fast", "slow"]);
    expect(request.results.map((result) => result.text)).toEqual(["MARK-42\n", "MARK-43\n"]);
  });

  it("a second time during the resume changes nothing", async () => {
    const home = createHome(server, provider);
    const chat = home.open(["--yes"]);
    server.reply(
      calls("", call("bash", { command: `echo once >> ran.txt; ${untilGo}; echo MARK-$((40 + 2))` })),
      stall(),
      stall(),
    );
    await say(chat, "MARK-1");
    await until("the tool runs", () => ranIn(home).length > 0);
    await killHard(chat);
    go(home);
    const second = home.open(["--resume", "--yes"]);
    const resumed = await server.waitForRequest(2);
    await killHard(second);
    const request = await resumeAndSay(home, "MARK-2");
    expect(ranIn(home)).toEqual(["once"]);
    expect(request.results).toEqual(resumed.results);
  });
});

describe("kill -9 at any moment of a turn with a tool", () => {
  const moments = [
    "typed, Enter not pressed",
    "Enter pressed",
    "the request has come",
    "the text streams",
    "a call is half streamed",
    "the question stands",
    "just allowed",
    "the tool has started",
    "the second request has come",
    "the second answer streams",
    "the answer is there",
  ] as const;
  it.each(moments)("%s", async (moment) => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    const tool = call("bash", { command: "echo once >> ran.txt; echo MARK-$((40 + 2)); sleep 0.2" });
    const held = gate();
    const hold = (until: string): Promise<unknown>[] => (moment === until ? [held.wait] : []);
    const first = {
      "the text streams": drip(["Let me "]),
      "a call is half streamed": drip(["Let me "], tool),
    };
    server.reply(
      moment in first ? first[moment as keyof typeof first] : calls("Let me ", tool),
      text("Seen ", ...hold("the second answer streams"), "it."),
    );
    await reach(moment, chat, home);
    await killHard(chat);
    held.open();

    const sent = server.requests.some((request) => request.number > 1 && request.text.includes("MARK-1"));
    const request = await resumeAndSay(home, "MARK-2");
    expect(request.text).toMatch(/MARK-0[\s\S]*Answer 1\.[\s\S]*MARK-2/);
    if (sent) expect(request.text).toContain("MARK-1");
    expect(ranIn(home).length).toBeLessThanOrEqual(1);
    if (moment === "the second request has come" || moment === "the answer is there") {
      expect(request.results[0]?.text).toContain("MARK-42");
    }
  });

  async function reach(moment: (typeof moments)[number], chat: Terminal, home: Home): Promise<void> {
    await ready(chat);
    if (moment === "typed, Enter not pressed") {
      chat.type("MARK-1");
      return chat.waitFor((terminal) => terminal.cursorLine().endsWith("MARK-1"));
    }
    await enter(chat, "MARK-1");
    if (moment === "Enter pressed") return;
    await server.waitForRequest(2);
    if (moment === "the request has come") return;
    await chat.waitFor("Let me");
    if (moment === "the text streams" || moment === "a call is half streamed") return;
    await asked(chat);
    if (moment === "the question stands") return;
    await permit(chat, "y");
    if (moment === "just allowed") return;
    await until("the tool runs", () => ranIn(home).length > 0);
    if (moment === "the tool has started") return;
    await server.waitForRequest(3);
    if (moment === "the second request has come") return;
    await chat.waitFor("Seen");
    if (moment === "the second answer streams") return;
    await chat.waitFor("Seen it.");
    await ready(chat);
  }
});

describe("kill -9 some time after Enter, after the request or after the tool's run", () => {
  it("never loses a message that the model got, nor runs a tool twice", async () => {
    const home = createHome(server);
    const accepted: string[] = [];
    let isSaved = false;
    // The delays are the fault, not a way to wait. However slow the machine, some rounds get to the model and to the tool.
    const rounds = [
      ...[0, 6, 15, 40, 90, 140].map((delayMs) => ({ after: "Enter", delayMs })),
      ...[0, 10, 30].map((delayMs) => ({ after: "request", delayMs })),
      ...[0, 20].map((delayMs) => ({ after: "tool", delayMs })),
    ];
    for (const [round, { after, delayMs }] of rounds.entries()) {
      const mark = `MARK-R${round}.`;
      const command = `echo r${round} >> ran.txt`;
      server.always((request) =>
        request.text.includes(mark) && !request.text.includes(command)
          ? calls("", call("bash", { command }))
          : text("Done."),
      );
      isSaved ||= (await home.list()).length > 0;
      const chat = home.open(isSaved ? ["--resume", "--yes"] : ["--yes"]);
      const hasCome = (): boolean => server.requests.some((request) => request.text.includes(mark));
      await say(chat, mark);
      if (after !== "Enter") await until("the request has come", hasCome);
      if (after === "tool") await until("the tool has run", () => ranIn(home).includes(`r${round}`));
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await killHard(chat);
      if (hasCome()) accepted.push(mark);
    }
    const request = await resumeAndSay(home, "MARK-LAST");
    for (const mark of accepted) expect(request.text).toContain(mark);
    const ran = ranIn(home);
    expect(new Set(ran).size).toBe(ran.length);
    // Else the sweep has shown nothing.
    expect(accepted.length).toBeGreaterThanOrEqual(5);
    expect(ran.length).toBeGreaterThanOrEqual(2);
  });
});

describe("kill -9 after what is no turn", () => {
  it("a rename that was confirmed is kept", async () => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    await say(chat, ":rename MARK-NAME");
    await chat.waitFor('is now "MARK-NAME"');
    await killHard(chat);
    expect(await home.list()).toMatchObject([{ name: "MARK-NAME" }]);
    const again = home.open(["-r", "MARK-NAME"]);
    await again.waitFor("MARK-0");
    await quit(again);
  });

  it("a change of the model that was confirmed is kept, and the resume asks that model", async () => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    await say(chat, ":model anthropic/claude-mark");
    await chat.waitFor("the next turn asks anthropic/claude-mark");
    await killHard(chat);
    const request = await resumeAndSay(home, "MARK-1");
    expect(request.body.model).toBe("claude-mark");
    expect(request.text).toMatch(/MARK-0[\s\S]*MARK-1/);
  });

  it("a !command that has ended is kept with its output, and is not run again", async () => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    await say(chat, "!echo once >> ran.txt; echo MARK-$((40 + 2))");
    await chat.waitFor("MARK-42");
    await ready(chat);
    await killHard(chat);
    const request = await resumeAndSay(home, "MARK-1");
    expect(request.text).toMatch(/MARK-0[\s\S]*MARK-42[\s\S]*MARK-1/);
    expect(ranIn(home)).toEqual(["once"]);
  });
});
