import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome } from "../support/chat.js";
import { resumeId } from "../support/conversation.js";
import {
  call,
  calls,
  cut,
  gate,
  httpError,
  type ModelServer,
  startModelServer,
  text,
} from "../support/model-server.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

const lines = (stdout: string): Array<Record<string, unknown> & { type: string }> =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("chat -p", () => {
  it("prints the answer and nothing else on stdout", async () => {
    const home = createHome(server);
    const finished = await home.run(["-p", "MARK-1"]);
    expect(finished).toMatchObject({ code: 0, stdout: "Answer 1.\n" });
    expect(resumeId(finished.stderr)).toBe((await home.list())[0]?.id);
    expect(server.requests[0]?.userTexts).toEqual(["MARK-1"]);
  });

  it("takes the message from a pipe, or adds the pipe to the one given", async () => {
    const home = createHome(server, "openai");
    expect((await home.run(["-p"], { input: "MARK-PIPE\n" })).code).toBe(0);
    expect(server.requests[0]?.userTexts.join()).toContain("MARK-PIPE");
    expect((await home.run(["-p", "MARK-ARG"], { input: "MARK-PIPE\n" })).code).toBe(0);
    expect(server.requests[1]?.userTexts.join()).toMatch(/MARK-ARG[\s\S]*MARK-PIPE/);
  });

  it("without any message is wrong usage", async () => {
    expect((await createHome(server).run(["-p"])).code).toBe(2);
    expect(server.requests).toEqual([]);
  });

  it("goes on with a conversation with -c", async () => {
    const home = createHome(server);
    await home.run(["-p", "MARK-1"]);
    await home.run(["-c", "-p", "MARK-2"]);
    expect(server.requests[1]?.text).toMatch(/MARK-1[\s\S]*Answer 1\.[\s\S]*MARK-2/);
    expect(await home.list()).toHaveLength(1);
  });

  it("prints one JSON object with --output-format json", async () => {
    const { code, stdout } = await createHome(server).run(["-p", "MARK-1", "--output-format", "json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ text: "Answer 1.", conversationId: expect.any(String) });
  });

  it("prints one object a line with stream-json, always a result last", async () => {
    const home = createHome(server);
    const made = call("bash", { command: "echo MARK-$((40 + 2))" });
    server.reply(calls("Let me look.", made), text("It is ", "done."));
    const { code, stdout } = await home.run(["-p", "MARK-1", "--yes", "--output-format", "stream-json"]);
    expect(code).toBe(0);
    const events = lines(stdout);
    expect(events[0]?.type).toBe("init");
    expect(events.at(-1)).toMatchObject({ type: "result", text: "It is done.", usage: expect.anything() });
    const use = events.find((event) => event.type === "tool_use");
    expect(use).toMatchObject({
      callId: expect.any(String),
      name: "bash",
      input: { command: "echo MARK-$((40 + 2))" },
    });
    const result = events.find((event) => event.type === "tool_result");
    expect(result).toMatchObject({ callId: use?.callId, isError: false, output: expect.stringContaining("MARK-42") });
    expect(
      events
        .filter((event) => event.type === "text")
        .map((event) => event.text)
        .join(""),
    ).toContain("It is done.");
    for (const event of events) expect(event.conversationId).toBe(events[0]?.conversationId);
  });

  it("refuses what would have to ask, and tells the model", async () => {
    const home = createHome(server);
    server.reply(calls("", call("bash", { command: "touch ran" })), text("I see."));
    const { code, stdout } = await home.run(["-p", "go"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "I see.\n" });
    expect(existsSync(join(home.work, "ran"))).toBe(false);
    expect(server.requests[1]?.results[0]?.text).toMatch(/not allowed|refused|permission|nobody/i);
  });

  it("runs what is allowed", async () => {
    const home = createHome(server, "openai");
    server.reply(calls("", call("bash", { command: "touch ran" })), text("Done."));
    expect((await home.run(["-p", "go", "--allow", "bash"])).code).toBe(0);
    expect(existsSync(join(home.work, "ran"))).toBe(true);
  });

  it("a closed stdout does not stop the turn", async () => {
    const home = createHome(server);
    const { wait, open } = gate();
    server.reply(calls("MARK-BEGIN", call("bash", { command: "touch ran" })), text("a", wait, "MARK-END"));
    const running = home.start(["-p", "MARK-1", "--yes"]);
    running.stdin.end();
    await server.waitForRequest(2);
    running.closeStdout();
    open();
    const { code, stderr } = await running.done;
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/\n\s+at /);
    const [row] = await home.list();
    expect((await home.run(["show", String(row?.id)])).stdout).toContain("MARK-END");
  });
});

describe("exit codes of chat -p", () => {
  it("1 when the model refuses, and the message is saved", async () => {
    const home = createHome(server);
    server.always(httpError(400, { message: "MARK-REASON" }));
    const finished = await home.run(["-p", "MARK-1"]);
    expect(finished).toMatchObject({ code: 1, stdout: "" });
    expect(finished.stderr).toContain("MARK-REASON");
    expect(finished.stderr).not.toMatch(/\n\s+at /);
    expect(home.filesWith("MARK-1").length).toBeGreaterThan(0);
  });

  it("1 with an error event and a result last in stream-json", async () => {
    server.always(httpError(401));
    const { code, stdout } = await createHome(server).run(["-p", "MARK-1", "--output-format", "stream-json"]);
    expect(code).toBe(1);
    const events = lines(stdout);
    expect(events.some((event) => event.type === "error")).toBe(true);
    expect(events.at(-1)?.type).toBe("result");
  });

  it("2 for wrong usage, with what to do", async () => {
    const home = createHome(server);
    for (const args of [
      ["--nosuchoption"],
      ["-p", "x", "--output-format", "yaml"],
      ["-m", "nosuch/model", "-p", "x"],
    ]) {
      const finished = await home.run(args);
      expect(finished).toMatchObject({ code: 2, stdout: "" });
      expect(finished.stderr).toMatch(/Fix|help|Usage/i);
    }
    expect(server.requests).toEqual([]);
  });

  it("75 when the rate limit does not end", async () => {
    server.always(httpError(429, { headers: { "retry-after": "0" } }));
    const finished = await createHome(server).run(["-p", "MARK-1"]);
    expect(finished).toMatchObject({ code: 75, stdout: "" });
  });

  it("130 by SIGINT and 143 by SIGTERM, with what was streamed saved", async () => {
    for (const [signal, status] of [
      ["SIGINT", 130],
      ["SIGTERM", 143],
    ] as const) {
      const home = createHome(server);
      const { wait } = gate();
      const number = server.requests.length + 1;
      server.reply(text("MARK-P half", wait));
      const running = home.start(["-p", "MARK-1"]);
      running.stdin.end();
      await server.waitForRequest(number);
      const { until } = await import("../support/until.js");
      if (signal === "SIGTERM")
        await until("text has come", () => running.stdout().includes("MARK-P"), 2000).catch(() => {});
      process.kill(running.pid, signal);
      const finished = await running.done;
      expect(finished.code ?? (finished.signal === signal ? status : finished.signal)).toBe(status);
      expect(home.filesWith("MARK-1").length).toBeGreaterThan(0);
    }
  });
});

describe("a stream cut in the middle", () => {
  it("is asked again, and the answer is whole", async () => {
    server.reply(cut(["MARK-HALF"]), text("The whole answer."));
    const finished = await createHome(server).run(["-p", "MARK-1"]);
    expect(finished.code).toBe(0);
    expect(finished.stdout).toContain("The whole answer.");
    expect(server.requests).toHaveLength(2);
  });

  it("an overloaded server is asked again", async () => {
    server.reply(httpError(529, { headers: { "retry-after": "0" } }), text("There."));
    const finished = await createHome(server).run(["-p", "MARK-1"]);
    expect(finished).toMatchObject({ code: 0, stdout: "There.\n" });
  });
});
