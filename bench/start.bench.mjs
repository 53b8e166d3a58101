// How long a person waits: `chat --version`, and from the start to a prompt that takes input, against `node -e 0`, in turn.
// And --resume of a conversation of 20,000 messages, against a fresh start. In a pseudo-terminal, as a person starts it.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import { FileStore } from "../dist/lib/index.js";
import { median, table } from "./measure.mjs";

const chat = new URL("../bin/chat", import.meta.url).pathname;

/** From spawn until the typed text is echoed behind the prompt; memory is the peak resident size then. */
function startToPrompt(args, home) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const terminal = spawn(process.execPath, [chat, ...args], {
      cols: 100,
      rows: 30,
      cwd: home,
      env: environment(home),
    });
    let seen = "";
    let typed = false;
    let result;
    terminal.onData((data) => {
      seen += data;
      if (!typed && seen.includes("> ")) {
        typed = true;
        terminal.write("zqx");
      }
      if (result === undefined && seen.includes("zqx")) {
        const ms = Number(process.hrtime.bigint() - start) / 1e6;
        const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${terminal.pid}/status`, "utf8"));
        result = { ms, mb: Number(peak?.[1] ?? 0) / 1024, seen };
        terminal.write("\u0015\u0004");
      }
    });
    terminal.onExit(() => (result ? resolve(result) : reject(new Error(`no prompt: ${JSON.stringify(seen)}`))));
  });
}

/** The same for `node -e 0`, in a pseudo-terminal too: what no program on Node can be faster than. */
function bareNode(args = ["-e", "0"]) {
  return new Promise((resolve) => {
    const start = process.hrtime.bigint();
    const terminal = spawn(process.execPath, args, { cols: 100, rows: 30, env: environment(tmpdir()) });
    terminal.onExit(() => resolve(Number(process.hrtime.bigint() - start) / 1e6));
  });
}

const environment = (home) => ({
  PATH: process.env.PATH,
  HOME: home,
  TERM: "xterm-256color",
  CHAT_HOME: join(home, "chat"),
});

export async function run(runs = 15, messages = 20_000) {
  const home = mkdtempSync(join(tmpdir(), "perdure-bench-"));
  try {
    await longConversation(join(home, "chat", "conversations"), messages);
    const samples = { node: [], version: [], fresh: [], resume: [], freshMb: [], resumeMb: [] };
    for (let index = 0; index <= runs; index++) {
      const node = await bareNode();
      const version = await bareNode([chat, "--version"]);
      const fresh = await startToPrompt([], home);
      const resume = await startToPrompt(["--resume", "long"], home);
      if (!resume.seen.includes(`message ${messages / 2 - 1}`)) throw new Error("the last exchange is not on screen");
      if (index === 0) continue; // the first round warms the file cache
      samples.node.push(node);
      samples.version.push(version);
      samples.fresh.push(fresh.ms);
      samples.freshMb.push(fresh.mb);
      samples.resume.push(resume.ms);
      samples.resumeMb.push(resume.mb);
    }
    const node = median(samples.node);
    const row = (name, values, mb) => [
      name,
      median(values).toFixed(0),
      (median(values) / node).toFixed(2),
      mb ? median(mb).toFixed(0) : "",
    ];
    table([
      ["what", "p50 ms", "x node -e 0", "MB"],
      row("node -e 0", samples.node),
      row("chat --version", samples.version),
      row("start to a prompt that takes input", samples.fresh, samples.freshMb),
      row(`--resume of ${messages} messages to the prompt`, samples.resume, samples.resumeMb),
    ]);
    console.log(`\n--resume over a fresh start: ${(median(samples.resume) - median(samples.fresh)).toFixed(0)} ms`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function longConversation(root, messages) {
  const store = new FileStore(root);
  const at = "2026-01-01T00:00:00.000Z";
  const entries = [];
  for (let turn = 1; turn <= messages / 2; turn++) {
    const add = (body) => entries.push({ seq: entries.length, at, turn, ...body });
    add({ kind: "user", text: `message ${turn - 1} ${"words of a question ".repeat(10)}` });
    add({
      kind: "reply",
      text: `answer ${turn - 1} ${"words of an answer ".repeat(20)}`,
      calls: [],
      model: "offline/phrases",
      usage: {},
      finish: "stop",
    });
    add({ kind: "run_end", reason: "answered" });
  }
  await store.write(
    "long",
    entries,
    {
      task: "a long conversation",
      createdAt: at,
      historyLength: entries.length,
      turn: messages / 2,
      stoppedBy: "answered",
    },
    { create: true },
  );
  await store.unlock("long");
}
