import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome, type Home } from "../support/chat.js";
import { quit, ready, say, talk } from "../support/conversation.js";
import { call, calls, type ModelServer, startModelServer, text } from "../support/model-server.js";
import { endProcess, processesWith } from "../support/processes.js";
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

const linesIn = (home: Home, name: string): string[] => {
  const file = join(home.work, name);
  return existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : [];
};
const touch = (home: Home, name: string): void => writeFileSync(join(home.work, name), "");

/** Runs until the file `go` is there, and says in `ran.txt` that it began and that it ended. */
const COMMAND =
  "echo began >> ran.txt; echo MARK-$((40 + 1)); until [ -e go ]; do sleep 0.05; done; echo ended >> ran.txt; echo MARK-$((40 + 2))";

async function runTool(home: Home, chat: Terminal, command = COMMAND, message = "MARK-0"): Promise<void> {
  server.reply(calls("", call("bash", { command })));
  await say(chat, message);
  await until("the tool runs", () => linesIn(home, "ran.txt").length > 0);
}

async function killHard(chat: Terminal): Promise<void> {
  chat.kill("SIGKILL");
  expect((await chat.exit).signal).toBe(9);
}

/** Nothing of the home's runs any more: no command, no runner, no sleeper. */
const nothingLeft = (home: Home) =>
  until(
    () => `nothing is left: ${JSON.stringify(processesWith(home.folder))}`,
    () => processesWith(home.folder).length === 0,
  );

const ended = (home: Home) => until("the command has ended", () => linesIn(home, "ran.txt").includes("ended"));

/** The folders of calls that are kept. */
const callFolders = (home: Home): string[] =>
  home.files().flatMap((file) => (dirname(dirname(file)).endsWith("/calls") ? [dirname(file)] : []));

describe("a command that runs when the chat is killed", () => {
  it("and ends meanwhile: resume has its real result, and it ran once", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    await killHard(chat);
    touch(home, "go");
    await ended(home);
    await nothingLeft(home);

    server.reply(text("I have seen it."));
    const again = home.open(["--resume", "--yes"]);
    await again.waitFor("I have seen it.");
    expect(again.screen()).toMatch(/● bash[\s\S]*MARK-41\n {2}MARK-42\n {2}✓[\s\S]*going on with the turn/);
    await ready(again);
    await quit(again);
    expect(server.requests[1]?.results).toMatchObject([{ text: "MARK-41\nMARK-42\n", isError: false }]);
    expect(linesIn(home, "ran.txt")).toEqual(["began", "ended"]);
    expect(callFolders(home)).toEqual([]);
  });

  it("and still runs: resume follows it live, then the turn goes on", async () => {
    const home = createHome(server, "openai");
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    await killHard(chat);

    server.reply(text("I have seen it."));
    const again = home.open(["--resume", "--yes"]);
    await again.waitFor("MARK-41");
    expect(server.requests).toHaveLength(1);
    expect(again.screen()).not.toContain("MARK-42");
    touch(home, "go");
    await again.waitFor("I have seen it.");
    expect(again.screen().match(/MARK-41$/gm)).toHaveLength(1);
    await ready(again);
    await quit(again);
    expect(server.requests[1]?.results).toMatchObject([{ text: "MARK-41\nMARK-42\n", isError: false }]);
    expect(linesIn(home, "ran.txt")).toEqual(["began", "ended"]);
    await nothingLeft(home);
  });

  it("and still runs: Ctrl+C stops it, and the turn does not go on by itself", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    await killHard(chat);

    const again = home.open(["--resume", "--yes"]);
    await again.waitFor("MARK-41");
    again.key("ctrl-c");
    await again.waitFor("interrupted");
    await nothingLeftBut(home, again);
    await talk(again, "MARK-1", "Answer 2.");
    await quit(again);
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.results[0]?.text).toBe("MARK-41\n\n(interrupted by user)");
    expect(linesIn(home, "ran.txt")).toEqual(["began"]);
  });

  it("is followed through a second kill and a second resume", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    await killHard(chat);
    const second = home.open(["--resume", "--yes"]);
    await second.waitFor("MARK-41");
    await killHard(second);
    touch(home, "go");
    server.reply(text("I have seen it."));
    const third = home.open(["--resume", "--yes"]);
    await third.waitFor("I have seen it.");
    await ready(third);
    await quit(third);
    expect(server.requests[1]?.results[0]?.text).toBe("MARK-41\nMARK-42\n");
    expect(linesIn(home, "ran.txt")).toEqual(["began", "ended"]);
  });

  it("is taken in with --wait, and the model is asked nothing", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    await killHard(chat);
    touch(home, "go");
    await ended(home);
    const again = home.open(["--resume", "--wait", "--yes"]);
    await again.waitFor("MARK-42");
    await quit(again);
    expect(server.requests).toHaveLength(1);
    server.reply(text("Answer A."));
    const third = home.open(["--resume", "--wait"]);
    await talk(third, "MARK-1", "Answer A.");
    await quit(third);
    expect(server.requests[1]?.results).toMatchObject([{ text: "MARK-41\nMARK-42\n" }]);
  });

  it("is waited for before a message that is given with -p -c", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    await killHard(chat);
    server.reply(text("Went on."), text("Answered."));
    const print = home.start(["-c", "-p", "MARK-1", "--yes"]);
    print.stdin.end();
    await until("it follows", () => print.stderr().includes("MARK-41") || callIsAttached(home));
    expect(server.requests).toHaveLength(1);
    touch(home, "go");
    const { code, stdout } = await print.done;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Answered.\n" });
    expect(server.requests[1]?.results[0]?.text).toBe("MARK-41\nMARK-42\n");
    expect(server.requests[2]?.text).toMatch(/MARK-0[\s\S]*Went on\.[\s\S]*MARK-1/);
  });

  it("is ended when its time is over, with nobody there, and all that it had started", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    server.reply(
      calls("", call("bash", { command: "setsid sleep 7301 & echo began >> ran.txt; sleep 7302", timeoutMs: 2500 })),
    );
    await say(chat, "MARK-0");
    await until("the tool runs", () => linesIn(home, "ran.txt").length > 0);
    await killHard(chat);
    await nothingLeft(home);
    const again = home.open(["--resume", "--yes"]);
    await again.waitFor("timed out");
    await again.waitFor("Answer 2.");
    await ready(again);
    await quit(again);
    expect(server.requests[1]?.results[0]?.text).toContain("(timed out after 2.5 s");
  });

  it("had not started: the result says that it did not run, and it never does", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    // What a crash between the mark of the start and the start leaves: the mark, and no folder of the call.
    const crashed = home.copy();
    for (const folder of new Set(callFolders(crashed))) rmSync(dirname(folder), { recursive: true });
    const again = crashed.open(["--resume", "--wait"]);
    await again.waitFor("did not run");
    await talk(again, "MARK-1", "Answer 2.");
    await quit(again);
    expect(server.requests[1]?.results[0]?.text).toBe("(not run: the run stopped before this call started)");
    expect(linesIn(crashed, "ran.txt")).toEqual(["began"]);
    touch(home, "go");
    await chat.waitFor("MARK-42");
    await quit(chat);
  });

  it("is unknown only where nobody can know: its runner was killed too", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    await killHard(chat);
    for (const { pid } of processesWith(home.folder)) endProcess(pid);
    await nothingLeft(home);
    const again = home.open(["--resume", "--wait"]);
    await again.waitFor("may or may not have run");
    await talk(again, "MARK-1", "Answer 2.");
    await quit(again);
    expect(server.requests[1]?.results[0]?.text).toMatch(/^\(unknown: .*Check whether it took effect/);
    expect(linesIn(home, "ran.txt")).toEqual(["began"]);
  });
});

describe("a terminal that goes away while a command runs", () => {
  it.each(["SIGHUP", "closed"])("%s: the command goes on and its result is there on resume", async (how) => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    if (how === "SIGHUP") chat.kill("SIGHUP");
    else chat.hangUp();
    expect((await chat.exit).status).toBe(129);
    expect(home.filesWith('"reason":"aborted:SIGHUP"')).toHaveLength(1);
    expect(home.filesWith('"kind":"result"')).toEqual([]);
    touch(home, "go");
    await ended(home);
    await nothingLeft(home);
    server.reply(text("I have seen it."));
    const again = home.open(["--resume", "--yes"]);
    await again.waitFor("I have seen it.");
    await ready(again);
    await quit(again);
    expect(server.requests[1]?.results).toMatchObject([{ text: "MARK-41\nMARK-42\n", isError: false }]);
    expect(linesIn(home, "ran.txt")).toEqual(["began", "ended"]);
  });

  it("with hangup: end it is ended as with SIGTERM", async () => {
    const home = createHome(server);
    mkdirSync(join(home.home, ".config/perdure"), { recursive: true });
    writeFileSync(join(home.home, ".config/perdure/config.json"), '{ "format": 1, "hangup": "end" }');
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    chat.kill("SIGHUP");
    expect((await chat.exit).status).toBe(129);
    await nothingLeft(home);
    const again = home.open(["--resume", "--wait"]);
    await talk(again, "MARK-1", "Answer 2.");
    await quit(again);
    expect(server.requests[1]?.results[0]?.text).toContain("(aborted: SIGHUP)");
  });

  it("a configuration that says nothing usable is named with its file and key", async () => {
    const home = createHome(server);
    mkdirSync(join(home.home, ".config/perdure"), { recursive: true });
    writeFileSync(join(home.home, ".config/perdure/config.json"), '{ "format": 1, "hangup": "maybe" }');
    const { code, stderr } = await home.run(["-p", "hello"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/config\.json: hangup is "maybe"[\s\S]*"keep" or "end"/);
    expect(server.requests).toEqual([]);
  });
});

describe("SIGTERM", () => {
  it("ends the command and leaves nothing behind", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    chat.kill("SIGTERM");
    expect((await chat.exit).status).toBe(143);
    await nothingLeft(home);
    expect(linesIn(home, "ran.txt")).toEqual(["began"]);
  });
});

describe("a child in the background", () => {
  it("ends with the chat, also with kill -9", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    server.reply(calls("", call("bash", { command: "setsid sleep 7401 > /dev/null 2>&1 & sleep 7402 & echo hi" })));
    await talk(chat, "MARK-0", "Answer 2.");
    expect(server.requests[1]?.results[0]?.text).toContain("2 background processes still run");
    await killHard(chat);
    await nothingLeft(home);
  });
});

describe("!command", () => {
  it("that runs when the chat is killed is followed on resume, and its output enters the conversation", async () => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-0", "Answer 1.");
    await say(chat, `!${COMMAND}`);
    await until("it runs", () => linesIn(home, "ran.txt").length > 0);
    await killHard(chat);
    const again = home.open(["--resume"]);
    await again.waitFor("MARK-41");
    touch(home, "go");
    await again.waitFor("MARK-42");
    await talk(again, "MARK-1", "Answer 2.");
    await quit(again);
    expect(server.requests[1]?.text).toMatch(
      /MARK-0[\s\S]*the person ran a command[\s\S]*MARK-41\nMARK-42\n\n\(exit code 0\)[\s\S]*MARK-1/,
    );
    expect(linesIn(home, "ran.txt")).toEqual(["began", "ended"]);
  });
});

describe(":calls", () => {
  it("shows what runs, and what ran with its end", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    server.reply(calls("", call("bash", { command: "exit 3" })));
    await talk(chat, "MARK-0", "Answer 2.");
    await runTool(home, chat, COMMAND, "MARK-1");
    chat.type(":calls\r");
    await chat.waitFor(/failed \(exit 3\).*bash exit 3\n.*running .*bash echo began/);
    touch(home, "go");
    await chat.waitFor("Answer 4.");
    await ready(chat);
    await say(chat, ":calls");
    await chat.waitFor(/finished .*bash echo began/);
    await quit(chat);
  });
});

describe("deleting a conversation whose command still runs", () => {
  it("ends the command first", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    await runTool(home, chat);
    await killHard(chat);
    const [row] = await home.list();
    const { code } = await home.run(["delete", String(row?.id), "--yes"]);
    expect(code).toBe(0);
    await nothingLeft(home);
    expect(
      readdirSync(join(home.home, ".local/share/perdure/conversations")).filter((name) => !name.startsWith(".")),
    ).toEqual([]);
  });
});

/** A process of another chat has taken the call up. */
function callIsAttached(home: Home): boolean {
  return home.files().some((file) => file.endsWith("/attached"));
}

/** Only this chat itself runs in the home. */
const nothingLeftBut = (home: Home, chat: Terminal) =>
  until(
    () => `nothing else runs: ${JSON.stringify(processesWith(home.folder))}`,
    () => processesWith(home.folder).every(({ pid }) => pid === chat.pid),
  );
