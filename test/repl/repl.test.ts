import { afterEach, describe, expect, it } from "vitest";
import { PerdureError } from "../../src/errors.js";
import { type Repl, type ReplOptions, startRepl } from "../../src/repl/repl.js";
import { FakeSession, FakeSessions, savedState, type Turn } from "./fake-session.js";
import { FakeTerminal } from "./fake-terminal.js";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
let open: Repl | undefined;

interface Started {
  terminal: FakeTerminal;
  session: FakeSession;
  sessions: FakeSessions;
  repl: Repl;
}

function start(options: Partial<ReplOptions> & { turn?: Turn; session?: FakeSession; columns?: number } = {}): Started {
  const terminal = new FakeTerminal({ columns: options.columns ?? 80 });
  const sessions = new FakeSessions([
    savedState("old-one", "fix the parser", { name: "parser" }),
    savedState("other", "a\u001b]0;PWN\u0007b\n\u001b[31mred\tx"),
    savedState("bad", "", { problem: "its log cannot be read" }),
  ]);
  const session = options.session ?? new FakeSession(options.turn === undefined ? {} : { turn: options.turn });
  const repl = startRepl({
    sessions,
    input: terminal.input,
    output: terminal.output,
    banner: ["perdure · offline"],
    version: "0.1.0",
    historyPath: undefined,
    resumeCommand: (id) => `chat --resume ${id}`,
    ...options,
    session,
  });
  open = repl;
  return { terminal, session, sessions, repl };
}

afterEach(() => open?.restore());

/** A turn that runs until it is interrupted. */
const forever: Turn = (session, _text, signal) =>
  new Promise((_resolve, reject) => {
    session.emit({ type: "text", text: "begun" });
    signal.addEventListener("abort", () => {
      session.endReply("begun", "interrupted");
      reject(signal.reason);
    });
  });

/** A turn of pieces that the test lets go one by one. */
function steps(...pieces: string[]) {
  const gates = pieces.map(() => {
    let go = () => {};
    const wait = new Promise<void>((resolve) => {
      go = resolve;
    });
    return { go, wait };
  });
  const turn: Turn = async (session) => {
    for (const [index, piece] of pieces.entries()) {
      session.emit({ type: "text", text: piece });
      await gates[index]?.wait;
    }
    session.endReply(pieces.join(""));
  };
  return { turn, go: (index: number) => gates[index]?.go() };
}

describe("typing at the prompt", () => {
  it("sends the line and shows the answer, then the prompt again", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    terminal.type("hello\r");
    await terminal.shows("you said: hello\n\n>");
    expect(session.sent).toEqual(["hello"]);
  });

  it("sends exactly what was left after wide characters and backspace", async () => {
    const { terminal, session } = start({ columns: 10 });
    await terminal.ready();
    terminal.type("12三四ひらがな");
    await terminal.shows("12三四ひらがな");
    terminal.type("\u007f\u007f\u007f\r");
    await terminal.shows("you said");
    expect(session.sent).toEqual(["12三四ひ"]);
  });

  it("inserts keys that come together where the cursor is", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    terminal.type("world");
    terminal.type("\u0001hello big ");
    terminal.type("\r");
    await terminal.shows("you said");
    expect(session.sent).toEqual(["hello big world"]);
  });

  it("goes on in a new line after a backslash and with Alt+Enter", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    terminal.type("one\\");
    terminal.type("\r");
    await terminal.shows(() => terminal.cursorLine === "  ");
    terminal.type("two");
    terminal.type("\u001b\r");
    terminal.type("three\\\\");
    terminal.type("\r");
    await terminal.shows("you said");
    expect(session.sent).toEqual(["one\ntwo\nthree\\\\"]);
  });

  it("survives bytes that are no text, and sends what comes after them", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    for (const bytes of [[0xed, 0xa0, 0x80], [0xff, 0xfe], [0xc3], [0], [0x1b]]) {
      terminal.type(Buffer.from(bytes));
      terminal.type("abc\r");
    }
    await terminal.shows(() => session.sent.length === 5);
    for (const text of session.sent) {
      expect(text).toMatch(/bc$/);
      expect(text).not.toMatch(/\p{Surrogate}/u);
    }
  });

  it("finds the previous line with Up, also one of several lines", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    terminal.type("\u001b[200~first\nline\u001b[201~\r");
    await terminal.ready();
    terminal.type("\u001b[A");
    await terminal.shows(/line\n\n> first\n {2}line$/);
    terminal.type("\r");
    await terminal.shows(() => session.sent.length === 2);
    expect(session.sent[1]).toBe("first\nline");
  });

  it("completes commands and conversations with Tab", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    terminal.type(":ren");
    terminal.type("\t");
    await terminal.shows(() => terminal.cursorLine === "> :rename ");
    terminal.type("thing\r");
    await terminal.shows('now "thing"');
    expect(session.name).toBe("thing");
    terminal.type(":resume ol");
    terminal.type("\t");
    await terminal.shows("> :resume old-one");
  });
});

describe("a paste", () => {
  it("of several lines is one message, commands in it are text", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    terminal.type("\u001b[200~:quit\r!ls\nlast\u001b[201~");
    terminal.type("\r");
    await terminal.shows("you said");
    expect(session.sent).toEqual([":quit\n!ls\nlast"]);
  });

  it("of a megabyte in pieces that cut characters arrives whole, once", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    const text = "ascii 漢字 👩‍👩‍👧 é\n".repeat(30_000);
    const bytes = Buffer.from(`\u001b[200~${text}\u001b[201~`);
    for (let at = 0; at < bytes.length; at += 4096) terminal.type(bytes.subarray(at, at + 4096));
    await terminal.shows("[pasted 30,001 lines]");
    terminal.type("\r");
    await terminal.shows(() => session.sent.length === 1);
    expect(session.sent[0] === text).toBe(true);
  });

  it("without brackets loses nothing either", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    const text = "0123456789 漢".repeat(500);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 1000) terminal.type(bytes.subarray(at, at + 1000));
    terminal.type("\r");
    await terminal.shows(() => session.sent.length === 1);
    expect(session.sent[0]).toBe(text);
  });
});

describe("while a turn runs", () => {
  it("keeps what is typed, sends it with Enter and shows that it is queued", async () => {
    const { turn, go } = steps("The first words ", "and the rest.\n");
    const { terminal, session } = start({ turn });
    await terminal.ready();
    terminal.type("go\r");
    await terminal.shows("The first words");
    terminal.type("and th");
    await terminal.shows(/The first words ?\n> and th$/);
    go(0);
    await terminal.shows(/The first words and the rest\.\n> and th$/);
    terminal.type("is\r");
    await terminal.shows("(queued");
    expect(session.sent).toEqual(["go", "and this"]);
    go(1);
    await terminal.ready();
  });

  it("keeps a line of output whole that had not ended when something was sent", async () => {
    const { turn, go } = steps("begin", " end");
    const { terminal } = start({ turn });
    await terminal.ready();
    terminal.type("go\r");
    await terminal.shows("begin");
    terminal.type("more\r");
    await terminal.shows("(queued");
    go(0);
    await terminal.shows(/> more\n\(queued.*\nbegin end$/);
    go(1);
    await terminal.ready();
  });

  it("lets Ctrl+C stop it: the text stays, marked as cut off, and the prompt comes back", async () => {
    const { terminal, session } = start({ turn: forever });
    await terminal.ready();
    terminal.type("go\r");
    await terminal.shows("begun");
    terminal.type("half");
    terminal.type(CTRL_C);
    await terminal.shows(/begun\n\(cut off: interrupted\)\n\n> half$/);
    expect(session.done).toContain("interrupt");
  });

  it("is stopped and saved when the person leaves with Ctrl+D", async () => {
    const { terminal, session, repl } = start({ turn: forever });
    await terminal.ready();
    terminal.type("go\r");
    await terminal.shows("begun");
    terminal.type(CTRL_D);
    expect(await repl.done).toEqual({ exitCode: 0 });
    expect(session.done.slice(-2)).toEqual(["interrupt", "close"]);
  });

  it("never throws, however narrow the terminal becomes", async () => {
    const { turn, go } = steps("漢👨‍👩‍👧é".repeat(40), "\ttail".repeat(30), "x");
    const { terminal, session } = start({ turn });
    await terminal.ready();
    terminal.type("go\r");
    await terminal.shows("漢");
    terminal.type("typed 漢字");
    for (const columns of [40, 7, 1, 500, 0, 2, 80, 3]) terminal.resize(columns);
    go(0);
    for (const columns of [40, 7, 1, 500, 80]) terminal.resize(columns);
    go(1);
    go(2);
    terminal.type("\r");
    await terminal.shows(() => session.sent.length === 2);
    expect(session.sent[1]).toBe("typed 漢字");
  });
});

describe("a permission question", () => {
  const asking: Turn = async (session) => {
    const answer = await session.ask("rm -rf build \u001b[2J\u202e");
    session.reply(answer.kind === "no" ? `refused: ${answer.reason ?? "no reason"}` : `allowed ${answer.kind}`);
  };

  it("shows what would run with nothing hidden, and takes y, a, n and n with a reason", async () => {
    for (const [typed, shown] of [
      ["y", "allowed once"],
      ["a", "allowed always"],
      ["n", "refused: no reason"],
      ["no, use make", "refused: use make"],
    ]) {
      const { terminal, repl } = start({ turn: asking });
      await terminal.ready();
      terminal.type("go\r");
      await terminal.shows(
        /bash wants to run\n {2}rm -rf build .*2J.*\n[\s\S]*Allow\? .*\(every bash command\), \[n\]o >/,
      );
      expect(terminal.raw).not.toContain("\u001b[2J");
      terminal.type(`${typed}\r`);
      await terminal.shows(shown ?? "?");
      repl.restore();
    }
  });

  it("asks again when the answer is none, and allows nothing meanwhile", async () => {
    const { terminal, session } = start({ turn: asking });
    await terminal.ready();
    terminal.type("go\r");
    await terminal.shows("Allow?");
    terminal.type("what?\r\r");
    await terminal.shows(/please answer[\s\S]*please answer/);
    expect(session.done.some((did) => did.startsWith("answer"))).toBe(false);
    terminal.type("y\r");
    await terminal.shows("allowed once");
  });

  it("shows all of a long command on request, before anything is allowed", async () => {
    const long = Array.from({ length: 200 }, (_, row) => (row === 100 ? "touch HIDDEN" : `echo ${row}`)).join("\n");
    const { terminal, session } = start({
      turn: async (fake) => {
        fake.reply((await fake.ask(long)).kind);
      },
    });
    await terminal.ready();
    terminal.type("go\r");
    await terminal.shows(/\[v\]iew all of it >/);
    expect(terminal.raw).not.toContain("touch HIDDEN");
    terminal.type("v\r");
    await terminal.shows("touch HIDDEN");
    expect(session.done.some((did) => did.startsWith("answer"))).toBe(false);
    terminal.type("y\r");
    await terminal.shows("once");
  });

  it("gives back what was half typed at the prompt", async () => {
    let ask = () => {};
    const gate = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const { terminal, session } = start({
      turn: async (fake) => {
        fake.emit({ type: "text", text: "thinking about it" });
        await gate;
        await asking(fake, "", new AbortController().signal);
      },
    });
    await terminal.ready();
    terminal.type("go\r");
    await terminal.shows("thinking about it");
    terminal.type("half a mess");
    await terminal.shows("half a mess");
    ask();
    await terminal.shows("Allow?");
    terminal.type("y\r");
    await terminal.shows(/allowed once\n\n> half a mess$/);
    terminal.type("age\r");
    await terminal.shows(() => session.sent.length === 2);
    expect(session.sent[1]).toBe("half a message");
  });

  it("is answered no by Ctrl+C, which stops the turn too", async () => {
    const { terminal, session } = start({ turn: asking });
    await terminal.ready();
    terminal.type("go\r");
    await terminal.shows("Allow?");
    terminal.type(CTRL_C);
    await terminal.ready();
    expect(session.done.slice(1, 3)).toEqual(['answer {"kind":"no"}', "interrupt"]);
  });

  it("waits for the one before it, and goes away when it is withdrawn", async () => {
    const { terminal, session } = start({
      turn: async (fake) => {
        const answers = await Promise.all([fake.ask("first"), fake.ask("second"), fake.ask("third")]);
        fake.reply(answers.map((answer) => answer.kind).join(" "));
      },
    });
    await terminal.ready();
    terminal.type("go\r");
    await terminal.shows(/wants to run\n {2}first/);
    expect(terminal.screen).not.toContain("second");
    session.emit({ type: "ask_withdrawn", askId: "ask2" });
    session.answer("ask2", { kind: "no" });
    terminal.type("y\r");
    await terminal.shows(/wants to run\n {2}third/);
    terminal.type("a\r");
    await terminal.shows("once no always");
    expect(terminal.screen).not.toContain("second");
  });
});

describe("commands", () => {
  it("list conversations on one line each, the open one marked, damaged ones named, nothing driving the terminal", async () => {
    const { terminal } = start();
    await terminal.ready();
    terminal.type(":list\r");
    await terminal.shows("damaged: its log cannot be read");
    const rows = terminal.screen.split("\n").filter((row) => /old-one|other|bad/.test(row));
    expect(rows).toHaveLength(3);
    expect(rows[1]).toMatch(/ab red x$/);
    expect(terminal.raw).not.toContain("PWN\u0007");
  });

  it("suggest the nearest for one that is unknown, and send nothing", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    terminal.type(":lsit\r");
    await terminal.shows("did you mean :list?");
    expect(session.sent).toEqual([]);
  });

  it("open another conversation and close this one", async () => {
    const { terminal, session, sessions, repl } = start();
    await terminal.ready();
    terminal.type(":resume parser\r");
    await terminal.shows(/parser\nold-one · .*\n\n> fix the parser\nan old answer\n\n>/);
    expect(session.closed).toBe(true);
    expect(repl.session).toBe(sessions.opened[0]);
    terminal.type("and now\r");
    await terminal.shows("you said: and now");
    expect(sessions.opened[0]?.sent).toEqual(["and now"]);
  });

  it("stay in this conversation when the other cannot be opened", async () => {
    const { terminal, session, sessions, repl } = start();
    sessions.lockedId = "old-one";
    await terminal.ready();
    terminal.type(":resume old-one\r");
    await terminal.shows("open in another terminal (pid 42)\n  close it there");
    expect(repl.session).toBe(session);
    expect(session.closed).toBe(false);
  });

  it("delete only after yes", async () => {
    const { terminal, sessions } = start();
    await terminal.ready();
    terminal.type(":delete other\r");
    await terminal.shows("Delete it for good?");
    terminal.type("\r");
    await terminal.shows("not deleted");
    expect(sessions.deleted).toEqual([]);
    terminal.type(":delete other\r");
    await terminal.shows(/not deleted[\s\S]*Delete it for good\?/);
    terminal.type("y\r");
    await terminal.shows("deleted other");
    expect(sessions.deleted).toEqual(["other"]);
  });

  it("begin a new conversation when the open one is deleted", async () => {
    const session = new FakeSession({ id: "old-one" });
    const { terminal, sessions, repl } = start({ session });
    await terminal.ready();
    terminal.type(":delete old-one\r");
    await terminal.shows("the open conversation");
    terminal.type("y\r");
    await terminal.shows("deleted old-one");
    expect(session.closed).toBe(true);
    expect(repl.session).toBe(sessions.opened[0]);
  });

  it("say what is missing", async () => {
    const { terminal } = start();
    await terminal.ready();
    terminal.type(":delete\r");
    await terminal.shows(":delete needs ID\n  usage: :delete ID");
    terminal.type(":history x\r");
    await terminal.shows("usage: :history 5");
    terminal.type(":retry\r");
    await terminal.shows("the last turn is complete");
  });

  it("wait for the turn where they have to", async () => {
    const { terminal, session } = start({ turn: forever });
    await terminal.ready();
    terminal.type("go\r");
    await terminal.shows("begun");
    terminal.type(":new\r");
    await terminal.shows(":new has to wait until the turn has ended");
    terminal.type("!ls\r");
    await terminal.shows("!command has to wait");
    expect(session.done).toEqual(["send go"]);
  });

  it("run the person's own command and show its output", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    terminal.type("!make test\r");
    await terminal.shows("output of make test\n  (exit code 3)");
    expect(session.done).toContain("shell make test");
  });
});

describe("resuming", () => {
  it("shows where one is and the last exchanges, goes on with a cut-off turn, then sends the first message", async () => {
    const session = new FakeSession({ id: "old-one" });
    for (let n = 1; n <= 9; n += 1) {
      session.add({ kind: "user", text: `question ${n}` });
      session.add({ kind: "reply", text: `reply ${n}`, calls: [], model: "m", usage: {}, finish: "stop" });
    }
    session.cutOff = true;
    const { terminal } = start({ session, resumed: true, firstMessage: "next" });
    await terminal.shows(
      /question 1\nold-one · .* · model offline\/echo · folder \/work\/project\n\n> question 7\nreply 7\n\n> question 8\nreply 8\n\n> question 9\nreply 9\n/,
    );
    await terminal.shows("reply 9\n\ngoing on with the turn that was cut off (Ctrl+C stops it)\ncontinued");
    await terminal.shows(/continued\n\n> next\nyou said: next/);
    expect(session.done).toEqual(["take up calls", "continueCutOff", "send next"]);
    expect(terminal.screen).not.toContain("question 6");
  });

  it("does not go on by itself with wait", async () => {
    const session = new FakeSession({ id: "old-one" });
    session.add({ kind: "user", text: "question" });
    session.cutOff = true;
    const { terminal } = start({ session, resumed: true, wait: true, firstMessage: "next" });
    await terminal.shows("you said: next");
    expect(session.done).toEqual(["take up calls", "send next"]);
  });
});

describe("what goes wrong", () => {
  it("is shown as problem and fix, in words", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    session.emit({ type: "error", problem: "the model is gone", fix: "choose another with :model", code: "X" });
    await terminal.shows(/the model is gone\n {2}choose another with :model\n/);
  });

  it("says once that saving fails, and the prompt says so until it works again", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    const error = Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
    session.emit({ type: "save_failed", error });
    session.emit({ type: "saving_failed", text: "not saved: ENOSPC: no space left" });
    session.emit({ type: "save_failed", error });
    await terminal.shows(/not saved: ENOSPC: no space left\n[\s\S]*\[not saved\] >/);
    expect(terminal.screen.match(/ENOSPC/g)).toHaveLength(1);
    terminal.type("hello\r");
    await terminal.shows(/you said: hello\n[\s\S]*\[not saved\] >/);
    session.emit({ type: "saving_works", text: "saved: all of it" });
    await terminal.shows(/saved: all of it\n+>/);
    await terminal.ready();
  });

  it("does not let a conversation that is not saved be left for another one", async () => {
    const { terminal, session, sessions } = start();
    await terminal.ready();
    session.unsaved = { afterMessage: 1 };
    terminal.type(":new\r");
    await terminal.shows("this conversation is not saved, and would be lost");
    expect(session.done).not.toContain("close");
    expect(sessions.opened.map((opened) => opened.done)).toEqual([["close"]]);
  });

  it("leaves with 1 and promises nothing when it is not saved", async () => {
    const { terminal, session, repl } = start();
    await terminal.ready();
    session.add({ kind: "user", text: "hello" });
    session.unsaved = { afterMessage: 1 };
    session.closeError = new PerdureError({ code: "NOT_SAVED", problem: "not saved: the rest", fix: "make space" });
    terminal.type(":quit\r");
    expect(await repl.done).toMatchObject({ exitCode: 1 });
    await terminal.shows(/not saved: the rest[\s\S]*Only up to message 1: /);
    expect(terminal.screen).not.toContain("To go on");
  });

  it("does not end the conversation when a message could not be saved", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    session.sendError = new Error("EIO: i/o error");
    terminal.type("hello\r");
    await terminal.shows("EIO: i/o error");
    session.sendError = undefined;
    terminal.type("again\r");
    await terminal.shows("you said: again");
  });
});

describe("leaving", () => {
  it("takes two Ctrl+C at an empty prompt, ends with 130 and says how to come back", async () => {
    const { terminal, session, repl } = start();
    await terminal.ready();
    terminal.type("hello\r");
    await terminal.shows("you said");
    await terminal.ready();
    terminal.type("something");
    terminal.type(CTRL_C);
    await terminal.ready();
    terminal.type(CTRL_C);
    await terminal.shows("press Ctrl+C again to leave");
    terminal.type(CTRL_C);
    expect(await repl.done).toEqual({ exitCode: 130 });
    await terminal.shows(`chat --resume ${session.id}`);
    expect(session.closed).toBe(true);
  });

  it("needs Ctrl+C twice in a row", async () => {
    const { terminal, session } = start();
    await terminal.ready();
    terminal.type(CTRL_C);
    await terminal.shows("press Ctrl+C again");
    terminal.type("x\u007f");
    terminal.type(CTRL_C);
    await terminal.shows(/again to leave[\s\S]*again to leave/);
    expect(session.closed).toBe(false);
  });

  it("puts the terminal back: raw mode and paste mode off, once", async () => {
    const { terminal, repl } = start();
    await terminal.ready();
    expect(terminal.modes).toEqual([true]);
    expect(terminal.raw).toContain("\u001b[?2004h");
    terminal.type(":quit\r");
    expect(await repl.done).toEqual({ exitCode: 0 });
    repl.restore();
    expect(terminal.modes).toEqual([true, false]);
    expect(terminal.raw.split("\u001b[?2004l")).toHaveLength(2);
  });

  it("says nothing about resuming when nothing was saved", async () => {
    const { terminal, repl } = start();
    await terminal.ready();
    terminal.type(CTRL_D);
    expect(await repl.done).toEqual({ exitCode: 0 });
    expect(terminal.raw).not.toContain("--resume");
  });

  it("ends with 1 and the reason when the last save fails", async () => {
    const { terminal, session, repl } = start();
    await terminal.ready();
    session.closeError = new Error("ENOSPC: no space left");
    terminal.type(":quit\r");
    expect(await repl.done).toEqual({ exitCode: 1, reason: "ENOSPC: no space left" });
    await terminal.shows("ENOSPC: no space left");
  });

  it("is quiet and saved when the terminal goes away", async () => {
    for (const breaks of [
      (terminal: FakeTerminal) => terminal.input.destroy(Object.assign(new Error("read EIO"), { code: "EIO" })),
      (terminal: FakeTerminal) => terminal.output.destroy(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })),
      (terminal: FakeTerminal) => terminal.input.push(null),
    ]) {
      const { terminal, session, repl } = start({ turn: forever });
      await terminal.ready();
      terminal.type("go\r");
      await terminal.shows("begun");
      breaks(terminal);
      expect(await repl.done).toMatchObject({ exitCode: 129 });
      expect(session.done).toContain("shutdown SIGHUP");
      session.emit({ type: "text", text: "dropped" });
      repl.notice("dropped too");
    }
  });
});

describe(":calls", () => {
  it("shows what runs and what ran: id, state, exit code, time and what it is", async () => {
    const session = new FakeSession();
    session.callRows = [
      { id: "call_6_0", name: "bash", input: { command: "make" }, state: "error", durationMs: 1200, exitCode: 2 },
      { id: "shell_9", name: "!", input: { command: "date" }, state: "ok", durationMs: 12, exitCode: 0 },
      {
        id: "call_12_0",
        name: "bash",
        input: { command: "npm test" },
        state: "running",
        durationMs: 61_000,
        exitCode: undefined,
      },
    ];
    const { terminal } = start({ session });
    terminal.type(":calls\r");
    await terminal.shows(/call_6_0 +failed \(exit 2\) +1\.2 s +bash make\n/);
    await terminal.shows(/shell_9 +finished +12 ms +! date\n/);
    await terminal.shows(/call_12_0 +running +1 min 1 s +bash npm test\n/);
    terminal.type(":calls 0\r");
    await terminal.shows(":calls cannot show 0 calls");
  });
});

describe("deleting a conversation whose command still runs", () => {
  it("names it before it asks", async () => {
    const { terminal, sessions } = start();
    sessions.running = ["sleep 7777"];
    terminal.type(":delete other\r");
    await terminal.shows(/this still runs and will be ended: sleep 7777\n[\s\S]*Delete it for good/);
    terminal.type("y\r");
    await terminal.shows("deleted other");
  });
});
