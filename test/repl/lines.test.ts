import { PassThrough, Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { runLines } from "../../src/repl/lines.js";
import { FakeSession, FakeSessions, savedState, type Turn } from "./fake-session.js";

async function chat(input: string, options: { turn?: Turn; session?: FakeSession; firstMessage?: string } = {}) {
  const session = options.session ?? new FakeSession(options.turn === undefined ? {} : { turn: options.turn });
  const output = new PassThrough();
  const errorOutput = new PassThrough();
  const exitCode = await runLines({
    session,
    sessions: new FakeSessions([savedState("old-one", "fix the parser")]),
    input: Readable.from([input]),
    output,
    errorOutput,
    version: "0.1.0",
    resumeCommand: (id) => `chat --resume ${id}`,
    ...(options.firstMessage === undefined ? {} : { firstMessage: options.firstMessage }),
  });
  const textOf = (stream: PassThrough): string => {
    const chunk: unknown = stream.read();
    return chunk === null ? "" : String(chunk);
  };
  return { exitCode, session, output: textOf(output), errorOutput: textOf(errorOutput) };
}

describe("a chat without a terminal", () => {
  it("answers each line in its turn, ends with 0 at the end of the input, and is closed", async () => {
    const { exitCode, session, output, errorOutput } = await chat("one\ntwo\n\nthree");
    expect(output).toBe("you said: one\nyou said: two\nyou said: three\n");
    expect(errorOutput).toBe(`To go on: chat --resume ${session.info.id}\n`);
    expect(exitCode).toBe(0);
    expect(session.closed).toBe(true);
  });

  it("answers the first message before the input", async () => {
    expect((await chat("two\n", { firstMessage: "one" })).output).toBe("you said: one\nyou said: two\n");
  });

  it("refuses what would ask, and tells the model and the person", async () => {
    const { output, errorOutput, session } = await chat("go\n", {
      turn: async (fake) => {
        const answer = await fake.ask("rm -rf build");
        fake.reply(answer.kind);
      },
    });
    expect(output).toBe("no\n");
    expect(errorOutput).toContain("not allowed: bash");
    expect(session.done.find((did) => did.startsWith("answer"))).toContain("no terminal");
  });

  it("keeps what tools do, notices and errors off the output", async () => {
    const { output, errorOutput } = await chat("go\n", {
      turn: async (fake) => {
        const call = { id: "c", name: "bash", input: { command: "ls" } };
        fake.emit({ type: "call_started", call });
        fake.emit({ type: "call_output", callId: "c", chunk: "file\n" });
        fake.emit({ type: "notice", text: "a notice" });
        fake.emit({ type: "error", problem: "a problem", fix: "a fix", code: undefined });
        fake.reply("the answer");
      },
    });
    expect(output).toBe("the answer\n");
    expect(errorOutput).toContain("● bash ls\n  file\na notice\na problem\n  a fix\n");
  });

  it("takes commands, and asks nobody", async () => {
    const { output, errorOutput, session } = await chat(":list\n:delete old-one\n:lsit\n:quit\nnever sent\n");
    expect(output).toContain("old-one");
    expect(output).toContain("not deleted");
    expect(output).toContain("did you mean :list?");
    expect(errorOutput).toContain("no terminal to ask");
    expect(session.sent).toEqual([]);
  });

  it("tells of a command that fails and goes on with the next line", async () => {
    const { output, errorOutput, exitCode } = await chat(":retry\nhello\n");
    expect(errorOutput).toContain("the last turn is complete");
    expect(output).toBe("you said: hello\n");
    expect(exitCode).toBe(0);
  });

  it("ends with 1 when it could not be saved", async () => {
    const session = new FakeSession();
    session.closeError = new Error("ENOSPC: no space left");
    const { exitCode, errorOutput } = await chat("hello\n", { session });
    expect(exitCode).toBe(1);
    expect(errorOutput).toContain("ENOSPC");
  });

  it("finishes the turn when the reader of the output goes away", async () => {
    const session = new FakeSession();
    const output = new PassThrough();
    output.destroy(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
    const exitCode = await runLines({
      session,
      sessions: new FakeSessions(),
      input: Readable.from(["hello\nagain\n"]),
      output,
      errorOutput: new PassThrough(),
      version: "0.1.0",
      resumeCommand: (id) => `chat --resume ${id}`,
    });
    expect(exitCode).toBe(0);
    expect(session.sent).toEqual(["hello", "again"]);
    expect(session.closed).toBe(true);
  });
});
