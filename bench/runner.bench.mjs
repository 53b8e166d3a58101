// What it costs that commands outlive the chat: `true` under its runner, from the start to its result, over a plain spawn
// of the same shell, in turn. And a resume 10 s after a kill -9 in the middle of `sleep 5; echo done`, from the start to
// the result on screen, over a resume of the same conversation when there is nothing to pick up.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { spawn as spawnTerminal } from "@lydell/node-pty";
import { median, quantile, table } from "./measure.mjs";

const { LocalRunner } = createRequire(import.meta.url)("../dist/runner-local-runner.cjs");
const chat = new URL("../bin/chat", import.meta.url).pathname;

export async function run(runs = 60, resumes = 7) {
  await startToResult(runs);
  console.log("");
  await killToResult(resumes);
}

async function startToResult(runs) {
  const folder = mkdtempSync(join(process.env.PERDURE_BENCH_DIR ?? tmpdir(), "perdure-bench-"));
  const runner = new LocalRunner();
  const samples = { plain: [], ours: [] };
  try {
    for (let index = 0; index <= runs; index++) {
      const plain = await plainSpawn(folder);
      const ours = await underRunner(runner, folder, index);
      if (index === 0) continue; // the first round warms the file cache
      samples.plain.push(plain);
      samples.ours.push(ours);
    }
  } finally {
    await runner.endAll();
    rmSync(folder, { recursive: true, force: true });
  }
  const row = (name, values) => [name, median(values).toFixed(1), quantile(values, 0.9).toFixed(1)];
  table([["`true` to its result", "p50 ms", "p90 ms"], row("plain spawn", samples.plain), row("runner", samples.ours)]);
  const over = samples.ours.map((ours, index) => ours - samples.plain[index]);
  console.log(`\nrunner over a plain spawn: ${median(over).toFixed(1)} ms (p50 of pairs)`);
}

function plainSpawn(cwd) {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn("/bin/bash", ["-c", "true"], { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.resume();
    child.stderr.resume();
    child.once("error", reject);
    child.once("close", () => resolve(performance.now() - start));
  });
}

async function underRunner(runner, folder, index) {
  const start = performance.now();
  const command = runner.start(`call_${index}`, {
    command: "true",
    cwd: folder,
    env: process.env,
    timeoutMs: 60_000,
    folder: join(folder, `call_${index}`),
    outputBytesMax: 1 << 20,
    onOutput: () => {},
  });
  const { exitCode } = await command.done;
  if (exitCode !== 0) throw new Error(`true: ${exitCode}`);
  return performance.now() - start;
}

async function killToResult(runs) {
  const home = mkdtempSync(join(tmpdir(), "perdure-bench-"));
  const copies = [];
  try {
    const first = open(["-m", "offline", "--yes", "run sleep 5; echo done"], home);
    await first.shows("● bash");
    await delay(500);
    first.kill("SIGKILL");
    await first.exited;
    await delay(10_000);
    const samples = { plain: [], picked: [] };
    for (let index = 0; index <= runs; index++) {
      // A fresh copy each time: the first resume takes the result in. Its finished call is the same in a copy.
      const copy = `${home}-${index}`;
      copies.push(copy);
      cpSync(home, copy, { recursive: true });
      const picked = await resumeUntil(copy, "  done");
      const plain = await resumeUntil(copy, "● bash");
      if (index === 0) continue;
      samples.picked.push(picked);
      samples.plain.push(plain);
    }
    const row = (name, values) => [name, median(values).toFixed(0), quantile(values, 0.9).toFixed(0)];
    table([
      ["resume to the result on screen", "p50 ms", "p90 ms"],
      row("nothing to pick up", samples.plain),
      row("a result to pick up", samples.picked),
    ]);
    const over = samples.picked.map((picked, index) => picked - samples.plain[index]);
    console.log(`\na result to pick up, over a plain resume: ${median(over).toFixed(0)} ms (p50 of pairs)`);
  } finally {
    for (const folder of [home, ...copies]) rmSync(folder, { recursive: true, force: true });
  }
}

async function resumeUntil(home, wanted) {
  const start = performance.now();
  const chat = open(["--resume", "--wait"], home);
  await chat.shows(wanted);
  const ms = performance.now() - start;
  await chat.shows("> ");
  chat.leave();
  await chat.exited;
  return ms;
}

function open(args, home) {
  const env = { PATH: process.env.PATH, HOME: home, TERM: "xterm-256color", CHAT_HOME: join(home, "chat") };
  const terminal = spawnTerminal(process.execPath, [chat, ...args], { cols: 100, rows: 30, cwd: home, env });
  let seen = "";
  const waiting = [];
  terminal.onData((data) => {
    seen += data;
    for (const look of [...waiting]) look();
  });
  const exited = new Promise((resolve) => terminal.onExit(resolve));
  return {
    exited,
    kill: (signal) => process.kill(terminal.pid, signal),
    leave: () => terminal.write("\u0015\u0004"),
    shows: (wanted) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`not shown: ${wanted}\n${seen}`)), 30_000);
        const look = () => {
          if (!seen.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "").includes(wanted)) return;
          clearTimeout(late);
          waiting.splice(waiting.indexOf(look), 1);
          resolve();
        };
        waiting.push(look);
        look();
      }),
  };
}
