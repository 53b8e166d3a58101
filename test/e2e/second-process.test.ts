import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome, type Home } from "../support/chat.js";
import { asked, converse, enter, quit, ready, say, talk } from "../support/conversation.js";
import { call, calls, drip, gate, type ModelServer, startModelServer, text } from "../support/model-server.js";
import { processesWith } from "../support/processes.js";
import { until } from "../support/until.js";

let server: ModelServer;
let home: Home;
beforeEach(async () => {
  server = await startModelServer();
  home = createHome(server);
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

async function idOf(title: string): Promise<string> {
  const row = (await home.list()).find((each) => each.task === title && !String(each.name).endsWith("(copy)"));
  if (row === undefined) throw new Error(`no conversation ${title}`);
  return row.id;
}

const shown = (running: { stdout(): string }, words: string) =>
  until(
    () => `${words} in:\n${running.stdout()}`,
    () => running.stdout().includes(words),
  );

describe("who meets a conversation that is open elsewhere", () => {
  it("is told who has it, since when and where, and both ways to go on work, on a terminal too", async () => {
    const chat = home.open();
    await talk(chat, "MARK-1", "Answer 1.");
    const id = await idOf("MARK-1");
    const finished = await home.run(["-r", id, "-p", "MARK-X"]);
    expect(finished.code).toBe(75);
    for (const words of [
      `pid ${chat.pid}`,
      "since 20",
      `in ${home.work}`,
      `chat --resume ${id} --fork`,
      `chat show ${id} --follow`,
    ]) {
      expect(finished.stderr).toContain(words);
    }
    const second = home.open(["-r", id], { columns: 300 });
    expect((await second.exit).status).toBe(75);
    expect(second.screen()).toContain(`chat --resume ${id} --fork`);
    expect((await home.run(["--resume", id, "--fork", "-p", "MARK-2"])).code).toBe(0);
    expect(server.requests.at(-1)?.text).toMatch(/MARK-1[\s\S]*MARK-2/);
    await talk(chat, "MARK-3", "Answer 3.");
    expect(server.requests.at(-1)?.text).not.toContain("MARK-2");
    await quit(chat);
    expect(await home.list()).toHaveLength(2);
  });
});

describe("a copy of a conversation whose tool runs", () => {
  it("runs nothing of it by itself, and the original gets its result", async () => {
    const chat = home.open(["--yes"]);
    const command = "echo ran >> runs; until [ -e go ]; do sleep 0.05; done; echo MARK-RESULT";
    server.reply(calls("", call("bash", { command })), text("In the copy."));
    await say(chat, "MARK-1");
    await until("the tool runs", () => runsOf(home) === 1);
    const id = await idOf("MARK-1");

    const copy = home.open(["-r", id, "--fork", "--yes"], { columns: 160 });
    await ready(copy);
    expect(copy.screen()).toContain(`this is a copy of ${id}`);
    expect(server.requests).toHaveLength(1);
    await talk(copy, "MARK-COPY", "In the copy.");
    expect(server.requests.at(-1)?.text).toMatch(/unknown: the run stopped[\s\S]*MARK-COPY/);
    await quit(copy);

    writeFileSync(`${home.work}/go`, "");
    await chat.waitFor("MARK-RESULT");
    await ready(chat);
    expect(runsOf(home)).toBe(1);
    expect(server.requests.at(-1)?.text).toContain("MARK-RESULT");
    await quit(chat);
  });
});

/** How often the command ran. */
function runsOf({ work }: Home): number {
  return existsSync(`${work}/runs`) ? readFileSync(`${work}/runs`, "utf8").split("\n").length - 1 : 0;
}

describe("chat show --follow", () => {
  it("shows what another process says while it says it, takes no lock, and ends with 130 on Ctrl+C", async () => {
    const chat = home.open();
    await talk(chat, "MARK-1", "Answer 1.");
    const id = await idOf("MARK-1");
    const follower = home.start(["show", id, "--follow"]);
    await shown(follower, "Answer 1.");

    const { wait, open } = gate();
    server.reply(drip(["MARK-HALF and ", wait, "MARK-REST"]));
    await say(chat, "MARK-2");
    await shown(follower, "> MARK-2");
    await shown(follower, "MARK-HALF and");
    expect(follower.stdout()).not.toContain("MARK-REST");
    open();
    await chat.waitFor("MARK-REST");
    chat.key("ctrl-c");
    await ready(chat);
    await shown(follower, "MARK-REST");
    server.reply(calls("", call("bash", { command: "echo MARK-OUT" })), text("MARK-END"));
    await say(chat, "MARK-3");
    await asked(chat);
    await enter(chat, "y");
    await shown(follower, "MARK-END");
    await ready(chat);
    process.kill(follower.pid, "SIGINT");
    const { code, stdout, stderr } = await follower.done;
    expect({ code, stderr }).toEqual({ code: 130, stderr: "" });
    expect(stdout).toMatch(
      /> MARK-1\n[\s\S]*> MARK-2\n[\s\S]*MARK-HALF and MARK-REST[\s\S]*\$ bash [\s\S]*MARK-OUT\n[\s\S]*MARK-END\n/,
    );
    for (const once of ["MARK-HALF", "> MARK-3", "MARK-END"]) expect(stdout.split(once)).toHaveLength(2);
    await quit(chat);
  });

  it("goes on through the end of one writer and the next, and says when the conversation is deleted", async () => {
    const id = await converse(home, "MARK-1");
    const follower = home.start(["show", id, "--follow"]);
    await shown(follower, "MARK-1");
    await home.run(["-r", id, "-p", "MARK-2"]);
    await shown(follower, "> MARK-2");
    await home.run(["delete", id, "--yes"]);
    const { code, stderr } = await follower.done;
    expect(code).toBe(0);
    expect(stderr).toContain(`the conversation ${id} was deleted`);
  });

  it("says so too when its folder is removed by hand", async () => {
    const id = await converse(home, "MARK-1");
    const follower = home.start(["show", id, "--follow"]);
    await shown(follower, "MARK-1");
    const log = home.filesWith("MARK-1").find((file) => file.endsWith("log.jsonl"));
    rmSync(dirname(String(log)), { recursive: true });
    expect((await follower.done).stderr).toContain("was deleted");
  });

  it("ends with 0 when nobody reads it any more", async () => {
    const id = await converse(home, "MARK-1");
    const follower = home.start(["show", id, "--follow"]);
    await shown(follower, "MARK-1");
    follower.closeStdout();
    await home.run(["-r", id, "-p", "MARK-2"]);
    expect((await follower.done).code).toBe(0);
  });

  it("gives programs one entry a line", async () => {
    const id = await converse(home, "MARK-1");
    const follower = home.start(["show", id, "--follow", "--json"]);
    await shown(follower, "run_end");
    await home.run(["-r", id, "-p", "MARK-2"]);
    await until("the end of the second turn", () => follower.stdout().split('"run_end"').length === 3);
    process.kill(follower.pid, "SIGTERM");
    const { code, stdout } = await follower.done;
    expect(code).toBe(143);
    const entries = stdout
      .trim()
      .split("\n")
      .map((line): { seq: number } => JSON.parse(line));
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index));
  });
});

describe("chat doctor beside an open chat", () => {
  it("says who has it, and finds nothing wrong after that one was killed", async () => {
    const chat = home.open();
    await talk(chat, "MARK-1", "Answer 1.");
    const id = await idOf("MARK-1");
    const open = await home.run(["doctor", "--repair"]);
    expect(open).toMatchObject({ code: 75, stdout: expect.stringContaining(`pid ${chat.pid}`) });
    chat.kill("SIGKILL");
    await chat.exit;
    expect((await home.run(["doctor", id])).code).toBe(0);
  });
});

describe("chat doctor after a chat was killed while its command ran", () => {
  const command = "echo ran >> runs; until [ -e go ]; do sleep 0.05; done; echo MARK-RESULT";
  const log = () => home.filesWith("MARK-1").find((file) => file.endsWith("log.jsonl"));

  async function killed(line: string): Promise<void> {
    const chat = home.open(["--yes"]);
    server.reply(calls("", call("bash", { command })));
    await say(chat, "MARK-1");
    await until("the command runs", () => runsOf(home) === 1);
    if (line !== "") {
      writeFileSync(`${home.work}/go`, "");
      await ready(chat);
      rmSync(`${home.work}/go`);
      await say(chat, line);
      await until("the command runs", () => runsOf(home) === 2);
    }
    chat.kill("SIGKILL");
    await chat.exit;
  }

  it.each(["", `!${command}`])("says that it runs on, and then that its result is kept: %s", async (line) => {
    await killed(line);
    expect(await home.run(["doctor"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/note: calls\/.* still runs under its runner \(pid \d+\)/),
    });
    writeFileSync(`${home.work}/go`, "");
    await until("its status", () => home.files().some((file) => file.endsWith("/status")));
    expect(await home.run(["doctor", "--repair"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("its result is kept. The next resume takes it"),
    });
    expect((await home.run(["-c", "-p", "MARK-2"])).code).toBe(0);
    expect(server.requests.at(-1)?.text).toContain("MARK-RESULT");
    expect((await home.run(["doctor"])).stdout).toBe("1 conversation checked, nothing is wrong\n");
  });

  it("names the process of a command whose conversation was removed by hand, and how to end it", async () => {
    await killed("");
    rmSync(dirname(String(log())), { recursive: true });
    const { code, stdout } = await home.run(["doctor"]);
    expect(code).toBe(1);
    const end = /to end it now: kill (\d+)/.exec(stdout);
    expect(stdout).toMatch(/store problem: .*its conversation is gone/);
    process.kill(Number(end?.[1]));
    await until("nothing is left", () => processesWith(home.folder).length === 0);
    expect((await home.run(["doctor"])).code).toBe(0);
  });
});

describe("--no-lock", () => {
  it("is warned about, and opens what another process holds", async () => {
    const chat = home.open();
    await talk(chat, "MARK-1", "Answer 1.");
    const finished = await home.run(["-c", "--no-lock", "-p", "MARK-2"]);
    expect(finished).toMatchObject({ code: 0, stderr: expect.stringContaining("--no-lock: nothing keeps") });
    chat.kill("SIGKILL");
    await chat.exit;
  });
});
