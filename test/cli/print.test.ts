import { describe, expect, it } from "vitest";
import type { OutputFormat } from "../../src/cli/arguments.js";
import { printFailure, runPrint } from "../../src/cli/print.js";
import { PerdureError } from "../../src/errors.js";
import { Capture, Failing } from "./capture.js";
import { ScriptedSession } from "./scripted-session.js";

interface Run {
  message?: string | undefined;
  resumed?: boolean;
  wait?: boolean;
  format?: OutputFormat;
  stdout?: Capture;
}

async function print(session: ScriptedSession, run: Run = {}) {
  const stdout = run.stdout ?? new Capture();
  const stderr = new Capture();
  const exitCode = await runPrint({
    session,
    message: "message" in run ? run.message : "hello",
    resumed: run.resumed ?? false,
    wait: run.wait ?? false,
    format: run.format ?? "text",
    stdout,
    stderr,
  });
  return { exitCode, stdout: stdout.text, stderr: stderr.text };
}

async function stream(session: ScriptedSession, run: Run = {}) {
  const result = await print(session, { ...run, format: "stream-json" });
  const lines: Array<Record<string, unknown>> = result.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { ...result, lines, types: lines.map(({ type }) => type), last: lines.at(-1) };
}

const answers = (text: string) => (session: ScriptedSession) => {
  session.reply(text);
  session.end("answered");
};
const call = { id: "call_1", name: "bash", input: { command: "ls -la" } };
const usesTool = (session: ScriptedSession) => {
  session.reply("Let me look.", [call]);
  session.result("call_1", "a.txt\nb.txt");
  session.reply("Two files.");
  session.end("answered");
};
const fails = (code: string) => (session: ScriptedSession) => {
  session.emit({ type: "error", problem: `it failed: ${code}`, fix: "do this", code });
  session.end("error");
};

describe("as text", () => {
  it("the answer alone is on standard output, once it is whole", async () => {
    const result = await print(new ScriptedSession(answers("42\n")));
    expect(result).toEqual({ exitCode: 0, stdout: "42\n", stderr: "" });
  });

  it("calls, results and what was said before them are on standard error", async () => {
    const { stdout, stderr } = await print(new ScriptedSession(usesTool));
    expect(stdout).toBe("Two files.\n");
    expect(stderr).toMatch(/Let me look\.\n> bash ls -la\n {2}ok: a\.txt\n/);
  });

  it("retries, notices and failed saves are on standard error", async () => {
    const { stdout, stderr } = await print(
      new ScriptedSession((session) => {
        session.emit({ type: "notice", text: "the folder is gone" });
        session.entry({ kind: "notice", text: "entries are missing" });
        session.emit({ type: "retry", attempt: 1, delayMs: 2000, reason: "HTTP 529" });
        answers("yes")(session);
      }),
    );
    expect(stdout).toBe("yes\n");
    expect(stderr).toMatch(/the folder is gone\n.*entries are missing\n.*2\.0 s: HTTP 529\n/);
  });

  it("nothing that a model or a tool prints reaches the terminal as a control sequence", async () => {
    const evil = "a\u001b[2J\u009b2Jb\u001b]0;PWN\u0007";
    const { stdout, stderr } = await print(
      new ScriptedSession((session) => {
        session.reply(evil, [{ ...call, input: { command: evil } }]);
        session.result("call_1", evil);
        session.emit({ type: "error", problem: evil, fix: evil, code: undefined });
        answers(evil)(session);
      }),
    );
    expect(stdout + stderr).not.toMatch(/[\u001b\u009b\u0007]/);
  });

  it("an answer that was not finished is not on standard output", async () => {
    const { exitCode, stdout, stderr } = await print(
      new ScriptedSession((session) => {
        session.reply("half an ans");
        fails("MODEL_REFUSED_REQUEST")(session);
      }),
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toMatch(/it failed[\s\S]*Fix: do this[\s\S]*half an ans/);
  });

  it("the command that goes on is said at the end, on standard error, once there is something to go on with", async () => {
    const run = async (session: ScriptedSession, format: OutputFormat) => {
      const [stdout, stderr] = [new Capture(), new Capture()];
      const resumeCommand = (id: string) => `chat --resume ${id}`;
      await runPrint({ session, message: "hi", resumed: false, wait: false, format, stdout, stderr, resumeCommand });
      return stderr.text;
    };
    expect(await run(new ScriptedSession(answers("42")), "text")).toBe("To go on: chat --resume k7f2\n");
    expect(await run(new ScriptedSession(answers("42")), "json")).toBe("");
    const unsaved = new ScriptedSession();
    unsaved.sendError = new Error("disk full");
    expect(await run(unsaved, "text")).not.toContain("--resume");
  });

  it("what would ask is refused, and the model is told why", async () => {
    const session = new ScriptedSession((s) => {
      s.emit({ type: "ask", askId: "ask_1", call, access: undefined, always: "" });
      answers("I may not.")(s);
    });
    await print(session);
    expect(session.answers).toEqual([{ kind: "no", reason: expect.stringContaining("no terminal") }]);
  });
});

describe("the exit code", () => {
  it.each([
    ["MODEL_RATE_LIMIT", 75],
    ["MODEL_UNREACHABLE", 75],
    ["MODEL_SERVER", 75],
    ["MODEL_KEY_MISSING", 2],
    ["MODEL_KEY_REFUSED", 1],
    ["ENOSPC", 1],
  ])("after %s is %i", async (code, exitCode) => {
    expect(await print(new ScriptedSession(fails(code)))).toMatchObject({ exitCode, stdout: "" });
  });

  it.each([
    ["interrupted", 130, "interrupted"],
    ["aborted:SIGINT", 130, "aborted"],
    ["aborted:SIGTERM", 143, "aborted"],
    ["aborted:SIGHUP", 129, "aborted"],
    ["aborted:TypeError", 1, "aborted"],
    ["denied", 1, "denied"],
    ["limit", 1, "limit"],
    ["finish", 0, "ok"],
  ])("of a turn that ends with %s is %i", async (reason, exitCode, status) => {
    const { last, ...result } = await stream(new ScriptedSession((session) => session.end(reason)));
    expect(result.exitCode).toBe(exitCode);
    expect(last).toMatchObject({ type: "result", status });
  });

  it("is 1 when the answer is there but could not be saved", async () => {
    const full = new PerdureError({ code: "ENOSPC", problem: "disk full", fix: "free some space" });
    const unsaved = (session: ScriptedSession) => {
      session.emit({ type: "save_failed", error: full });
      session.emit({ type: "saving_failed", text: "not saved: disk full" });
      answers("yes")(session);
    };
    const { exitCode, stdout, stderr } = await print(new ScriptedSession(unsaved));
    expect(exitCode).toBe(1);
    expect(stdout).toBe("yes\n");
    expect(stderr).toContain("not saved: disk full");
    const later = await print(
      new ScriptedSession((session) => {
        unsaved(session);
        session.emit({ type: "saved", historyLength: 3 });
      }),
    );
    expect(later).toMatchObject({ exitCode: 0, stdout: "yes\n" });
    const leaving = new ScriptedSession(answers("yes"));
    leaving.closeError = full;
    expect(await print(leaving)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("disk full") });
    const leavingAnswered = new ScriptedSession(answers("yes"));
    leavingAnswered.closeError = new PerdureError({ code: "NOT_SAVED", problem: "not saved: all", fix: "free some" });
    const left = await print(leavingAnswered);
    expect(left).toMatchObject({ exitCode: 1, stdout: "yes\n", stderr: expect.stringContaining("not saved: all") });
  });

  it("is 1, without a request, when the message could not be saved", async () => {
    const session = new ScriptedSession();
    session.sendError = new PerdureError({ code: "ENOSPC", problem: "disk full", fix: "free some space" });
    const { exitCode, stderr } = await print(session);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/disk full\nFix: free some space/);
  });
});

describe("going on", () => {
  it("ends the cut-off turn before the message is sent", async () => {
    const session = new ScriptedSession(answers("first"), answers("second"));
    session.cutOff = true;
    expect(await print(session, { resumed: true })).toMatchObject({ exitCode: 0, stdout: "second\n" });
    expect(session.done).toEqual(["take up calls", "continue", "send hello", "close"]);
  });

  it("needs no message when there is a cut-off turn", async () => {
    const session = new ScriptedSession(answers("first"));
    session.cutOff = true;
    const result = await print(session, { resumed: true, message: undefined });
    expect(result).toMatchObject({ exitCode: 0, stdout: "first\n" });
  });

  it("is wrong usage with neither, and sends nothing", async () => {
    const session = new ScriptedSession();
    const result = await print(session, { resumed: true, message: undefined });
    expect(result).toMatchObject({ exitCode: 2, stdout: "" });
    expect(result.stderr).toContain("message");
    expect(session.done).toEqual(["take up calls", "continue", "close"]);
    expect((await print(new ScriptedSession(), { message: undefined })).exitCode).toBe(2);
  });

  it("waits when it is told to", async () => {
    const session = new ScriptedSession(answers("second"));
    session.cutOff = true;
    await print(session, { resumed: true, wait: true });
    expect(session.done).toEqual(["take up calls", "send hello", "close"]);
  });

  it("does not send the message after a failure, so that the same command can be given again", async () => {
    const session = new ScriptedSession(fails("MODEL_UNREACHABLE"));
    session.cutOff = true;
    expect((await print(session, { resumed: true })).exitCode).toBe(75);
    expect(session.done).toEqual(["take up calls", "continue", "close"]);
  });
});

describe("as json", () => {
  it("is one object on one line", async () => {
    const { exitCode, stdout } = await print(new ScriptedSession(usesTool), { format: "json" });
    expect(stdout.split("\n")).toHaveLength(2);
    expect(JSON.parse(stdout)).toEqual({
      conversationId: "k7f2",
      status: "ok",
      text: "Two files.",
      usage: { requests: 2, inputTokens: 20, outputTokens: 10 },
      model: "fake/model",
      exitCode: 0,
    });
    expect(exitCode).toBe(0);
  });

  it("has the error, and as much of the answer as there was", async () => {
    const { stdout } = await print(
      new ScriptedSession((session) => {
        session.reply("half an ans");
        fails("MODEL_SERVER")(session);
      }),
      { format: "json" },
    );
    expect(JSON.parse(stdout)).toMatchObject({
      status: "error",
      text: "half an ans",
      exitCode: 75,
      error: { code: "MODEL_SERVER", problem: "it failed: MODEL_SERVER", fix: "do this" },
    });
  });
});

describe("as stream-json", () => {
  it("is one object a line, each with its type and the conversation first", async () => {
    const { stdout, lines, types } = await stream(new ScriptedSession(usesTool));
    expect(types).toEqual([
      ...["init", "text", "text", "message", "tool_use", "tool_result"],
      ...["text", "text", "message", "result"],
    ]);
    for (const line of stdout.trimEnd().split("\n"))
      expect(line).toMatch(/^\{"type":"[a-z_]+","conversationId":"k7f2"/);
    expect(lines[0]).toMatchObject({ model: "fake/model", cwd: "/work" });
    expect(lines[4]).toMatchObject({ callId: "call_1", name: "bash", input: { command: "ls -la" } });
    expect(lines[5]).toMatchObject({ callId: "call_1", output: "a.txt\nb.txt", isError: false });
    expect(lines.at(-1)).toMatchObject({ status: "ok", text: "Two files.", usage: { requests: 2 } });
  });

  it("has the whole text in its deltas", async () => {
    const { lines } = await stream(new ScriptedSession(answers("a whole answer")));
    const deltas = lines.filter(({ type }) => type === "text").map(({ text }) => text);
    expect(deltas.join("")).toBe("a whole answer");
  });

  it("ends with the result also after an error, which is on standard error too", async () => {
    const { lines, types, last, stderr } = await stream(new ScriptedSession(fails("MODEL_RATE_LIMIT")));
    expect(types).toEqual(["init", "error", "result"]);
    expect(lines[1]).toMatchObject({
      code: "MODEL_RATE_LIMIT",
      problem: "it failed: MODEL_RATE_LIMIT",
      fix: "do this",
    });
    expect(last).toMatchObject({ status: "error", exitCode: 75 });
    expect(stderr).toContain("it failed");
  });

  it("has written its result when a signal's turn is over: the process may end right then", async () => {
    const stdout = new Capture();
    const session = new ScriptedSession((s) => {
      s.reply("half");
      s.end("aborted:SIGTERM");
      expect(JSON.parse(stdout.lines.at(-1) ?? "")).toMatchObject({ type: "result", status: "aborted", text: "half" });
    });
    const { types, exitCode } = await stream(session, { stdout });
    expect(types.filter((type) => type === "result")).toHaveLength(1);
    expect(exitCode).toBe(143);
  });

  it("escapes what a terminal would obey, without loss", async () => {
    const text = "\u001b[2J\u009b2J\u2028\u202e\ud800x";
    const { stdout, last } = await stream(new ScriptedSession(answers(text)));
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
    expect(last).toMatchObject({ text });
  });

  it("has a result without a conversation when none could be opened", async () => {
    const [stdout, stderr] = [new Capture(), new Capture()];
    const error = new PerdureError({ code: "STATE_NOT_FOUND", problem: "no nosuch", fix: "look" });
    expect(await printFailure(error, { format: "stream-json", stdout, stderr })).toBe(1);
    expect(stdout.lines.map((line) => JSON.parse(line))).toMatchObject([
      { type: "error", conversationId: null, code: "STATE_NOT_FOUND" },
      { type: "result", conversationId: null, status: "error" },
    ]);
    expect(stderr.text).toContain("no nosuch");
  });
});

describe("a reader that goes away", () => {
  it("does not stop the turn, and the exit code is the turn's", async () => {
    for (const format of ["text", "stream-json"] as const) {
      const session = new ScriptedSession(usesTool);
      expect(await print(session, { format, stdout: new Failing("EPIPE") })).toMatchObject({ exitCode: 0 });
      expect(session.history.at(-1)).toMatchObject({ kind: "reply", text: "Two files." });
      expect(session.done.at(-1)).toBe("close");
    }
  });

  it("is no full disk: that is said, and the exit code is 1", async () => {
    const { exitCode, stderr } = await print(new ScriptedSession(answers("42")), { stdout: new Failing("ENOSPC") });
    expect(exitCode).toBe(1);
    expect(stderr).toContain("could not be written");
  });
});
