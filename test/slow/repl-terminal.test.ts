import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTerminal, type Terminal } from "../support/terminal.js";

let folder: string;
let program: string;
const historyPath = () => join(folder, "input-history.jsonl");

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "perdure-repl-"));
  program = join(folder, "program.mjs");
  await build({
    entryPoints: [join(import.meta.dirname, "..", "repl", "fixtures", "repl-program.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: program,
    logLevel: "error",
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function open(args: string[] = [], options: { shell?: string; columns?: number } = {}): Terminal {
  const env = { PATH: process.env.PATH ?? "", HISTORY_PATH: historyPath(), TERM: "xterm-256color" };
  const { shell, columns = 80 } = options;
  if (shell === undefined) return openTerminal({ args: [program, ...args], env, cwd: folder, columns });
  const node = `"${process.execPath}" "${program}"`;
  return openTerminal({ file: "/bin/sh", args: ["-c", shell.replace("CHAT", node)], env, cwd: folder, columns });
}

const ready = (chat: Terminal) => chat.waitFor((terminal) => terminal.cursorLine() === "> ");

async function say(chat: Terminal, text: string): Promise<void> {
  await ready(chat);
  chat.type(`${text}\r`);
}

describe("in a real terminal", () => {
  it("leaves it as it was: modes, paste mode, cursor, and the prompt of the shell on a line of its own", async () => {
    for (const [leave, status] of [
      ["\u0003\u0003", 130],
      ["\u0004", 0],
      [":quit\r", 0],
    ] as const) {
      const chat = open([], { shell: 'echo "[$(stty -g)]"; CHAT; echo "status=$?"; echo "[$(stty -g)]"' });
      await say(chat, "hello");
      await chat.waitFor("you said: hello");
      await ready(chat);
      chat.type(leave);
      await chat.exit;
      const screen = chat.screen();
      const modes = [...screen.matchAll(/^\[([0-9a-f:]+)\]$/gm)].map((match) => match[1]);
      expect(modes).toHaveLength(2);
      expect(modes[1]).toBe(modes[0]);
      expect(screen).toMatch(new RegExp(`\\nTo go on: chat --resume fresh\\nstatus=${status}\\n`));
      expectModesOff(chat);
    }
  });

  it("switches everything off when a signal ends it", async () => {
    for (const [signal, status] of [
      ["SIGTERM", 143],
      ["SIGHUP", 129],
    ] as const) {
      const chat = open();
      await say(chat, "forever");
      await chat.waitFor("begun");
      chat.kill(signal);
      expect((await chat.exit).status).toBe(status);
      expectModesOff(chat);
    }
  });

  it("is told when the terminal goes away: no stack trace, exit code 129", async () => {
    const chat = open();
    await say(chat, "forever");
    await chat.waitFor("begun");
    chat.hangUp();
    expect((await chat.exit).status).toBe(129);
  });

  it("sends a megabyte that is pasted in pieces, characters cut, and answers", async () => {
    const chat = open();
    await ready(chat);
    const text = "ascii 漢字 👩‍👩‍👧 e\u0301 ".repeat(30_000);
    const bytes = Buffer.from(`\u001b[200~${text}\u001b[201~`);
    for (let at = 0; at < bytes.length; at += 4096) chat.type(bytes.subarray(at, at + 4096));
    await chat.waitFor("[pasted");
    chat.type("\r");
    await chat.waitFor(`${text.length} characters, ${createHash("sha256").update(text).digest("hex")}`);
    await ready(chat);
    await quit(chat);
  });

  it("loses nothing of 5,000 characters without paste marks", async () => {
    const chat = open();
    await ready(chat);
    const text = "0123456789".repeat(500);
    chat.type(`${text}\r`);
    await chat.waitFor(`5000 characters, ${createHash("sha256").update(text).digest("hex")}`);
    await quit(chat);
  });

  it("survives a storm of resizes while wide text streams and wide text is typed", async () => {
    const chat = open();
    await say(chat, "wide");
    await chat.waitFor("漢");
    chat.type("12三四ひらがな");
    for (const columns of [40, 7, 1, 500, 80, 3, 24]) {
      const written = chat.raw.length;
      chat.resize(columns, 24);
      await chat.waitFor((terminal) => terminal.raw.length > written);
    }
    chat.resize(80, 24);
    chat.type("\u007f\u007f\u007f\r");
    await chat.waitFor("(queued");
    await ready(chat);
    chat.type("\u001b[A");
    await chat.waitFor((terminal) => terminal.cursorLine().endsWith("12三四ひ"));
    chat.type("\u0003");
    await quit(chat);
  });

  it("shows nothing of a reply that would drive it", async () => {
    const chat = open();
    await say(chat, "evil");
    await chat.waitFor("tail");
    await ready(chat);
    const raw = chat.raw.toString("latin1");
    expect(raw).not.toContain("\u001b[2J");
    expect(raw).not.toContain("\u001b]");
    expect(raw).not.toContain("\u0007");
    await quit(chat);
  });

  it("asks, runs and shows a call", async () => {
    const chat = open();
    await say(chat, "tool");
    await chat.waitFor(/\? bash wants to run\n {2}ls -la\n[\s\S]*Allow\?/);
    chat.type("y\r");
    await chat.waitFor(
      /● bash ls -la\n {2}file1\n[\s\S]*… \(20 more lines; .*\n {2}file36\n[\s\S]*✓ 120 ms\n\nThat is all\./,
    );
    await quit(chat);
  });

  it("stops with Ctrl+Z and comes back as it was, with what was typed", async () => {
    const chat = openTerminal({
      file: "/bin/bash",
      args: ["--norc", "--noprofile", "-i"],
      env: { PATH: process.env.PATH ?? "", PS1: "shell$ ", TERM: "xterm-256color", HOME: folder },
      cwd: folder,
      columns: 100,
    });
    await chat.waitFor(/shell\$ ?$/);
    chat.type(`"${process.execPath}" "${program}"\r`);
    await ready(chat);
    chat.type("half ");
    await chat.waitFor((terminal) => terminal.cursorLine() === "> half ");
    chat.type("\u001a");
    await chat.waitFor(/Stopped[\s\S]*shell\$ ?$/);
    chat.type("fg\r");
    await chat.waitFor((terminal) => terminal.cursorLine() === "> half ");
    chat.type("done\r");
    await chat.waitFor("you said: half done");
    await quitKeys(chat);
    await chat.waitFor(/To go on: .*\nshell\$ ?$/);
    chat.type("exit\r");
    await chat.exit;
  });

  it("keeps what was typed for the next start, for its owner only", async () => {
    const first = open();
    await say(first, "a line to find again");
    await first.waitFor("you said: a line");
    await quit(first);
    expect(statSync(historyPath()).mode & 0o777).toBe(0o600);
    expect(readFileSync(historyPath(), "utf8")).toContain('"a line to find again"\n');
    const second = open();
    await ready(second);
    // The history is read after the prompt stands: until then Up finds nothing.
    for (;;) {
      second.type("\u001b[A|");
      await second.waitFor((terminal) => terminal.cursorLine().endsWith("|"));
      if (second.cursorLine() !== "> |") break;
      second.type("\u007f");
      await ready(second);
    }
    expect(second.cursorLine()).toBe("> a line to find again|");
    second.type("\u0003");
    await quit(second);
  });
});

async function quitKeys(chat: Terminal): Promise<void> {
  await ready(chat);
  chat.type("\u0004");
}

async function quit(chat: Terminal): Promise<void> {
  await quitKeys(chat);
  expect((await chat.exit).status).toBe(0);
}

/** Each mode that was switched on was switched off after it. */
function expectModesOff(chat: Terminal): void {
  const last = new Map<string, string>();
  for (const [, mode, switched] of chat.raw.toString("latin1").matchAll(/\u001b\[\?(\d+)([hl])/g)) {
    if (mode !== undefined && switched !== undefined) last.set(mode, switched);
  }
  expect(last.get("2004")).toBe("l");
  expect(last.get("25")).toBe("h");
  for (const [mode, switched] of last) if (mode !== "25") expect(`${mode}${switched}`).toBe(`${mode}l`);
}
