import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LocalRunner } from "../../src/runner/local-runner.js";
import type { CommandSpec } from "../../src/runner/runner.js";
import { HISTORY_BYTES_MAX } from "../../src/text/cut.js";

let folder: string;
let runner: LocalRunner;
let calls = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "perdure-runner-"));
  runner = new LocalRunner();
});
afterEach(async () => {
  await runner.endAll(0);
  await rm(folder, { recursive: true, force: true });
});

function start(command: string, spec: Partial<CommandSpec> = {}) {
  calls += 1;
  return runner.start(`call-${calls}`, {
    command,
    cwd: folder,
    env: { PATH: process.env.PATH ?? "" },
    timeoutMs: 20_000,
    folder: join(folder, "out", `call-${calls}`),
    outputBytesMax: 1024 * 1024,
    onOutput: () => {},
    ...spec,
  });
}

/** The command's own text of every process that still runs it. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

async function pidsIn(file: string, count: number): Promise<number[]> {
  return vi.waitFor(
    () => {
      const pids = readFileSync(join(folder, file), "utf8").trim().split("\n").map(Number);
      expect(pids).toHaveLength(count);
      return pids;
    },
    { timeout: 10_000, interval: 10 },
  );
}

describe("running a command", () => {
  it("gives its output and exit code, stdout and stderr", async () => {
    const result = await start("echo out; echo err >&2; exit 3").done;
    expect(result).toMatchObject({ exitCode: 3, signal: null, timedOut: false, totalBytes: 8, omittedBytes: 0 });
    expect(result.text.split("\n").sort()).toEqual(["", "err", "out"]);
  });

  it("runs in its folder with the environment it was given and nothing beside", async () => {
    process.env.PERDURE_TEST_SECRET = "inherited";
    const result = await start("pwd; env", { env: { PATH: process.env.PATH ?? "", GIVEN: "yes" } }).done;
    delete process.env.PERDURE_TEST_SECRET;
    expect(result.text).toContain(folder);
    expect(result.text).toContain("GIVEN=yes");
    expect(result.text).not.toContain("inherited");
  });

  it("gives end of file to what reads stdin, and no terminal to what opens one", async () => {
    const result = await start("cat; echo read:$?; (: < /dev/tty) 2>/dev/null; echo tty:$?").done;
    expect(result.text).toBe("read:0\ntty:1\n");
  });

  it("shows output while the command runs", async () => {
    let shown = "";
    const command = start("echo first; until [ -e go ]; do sleep 0.02; done; echo last", {
      onOutput: (chunk) => {
        shown += chunk;
      },
    });
    await vi.waitFor(() => expect(shown).toBe("first\n"));
    await start("touch go").done;
    await command.done;
    expect(shown).toBe("first\nlast\n");
  });

  it("starts a call once", async () => {
    const spec = { ...specOf("echo 1 >> starts"), folder: undefined };
    const first = runner.start("twice", spec);
    expect(() => runner.start("twice", spec)).toThrow(expect.objectContaining({ code: "CALL_STARTED_TWICE" }));
    await first.done;
    expect(() => runner.start("twice", spec)).toThrow(expect.objectContaining({ code: "CALL_STARTED_TWICE" }));
    expect(readFileSync(join(folder, "starts"), "utf8")).toBe("1\n");
  });

  it("says so when its folder is gone", async () => {
    const cwd = join(folder, "gone");
    await expect(start("true", { cwd }).done).rejects.toMatchObject({ code: "COMMAND_NOT_STARTED", problem: /gone/ });
  });

  it("says so when the command cannot be started", async () => {
    await expect(start(`: ${"x".repeat(3_000_000)}`).done).rejects.toMatchObject({ code: "COMMAND_NOT_STARTED" });
  });
});

function specOf(command: string): CommandSpec {
  return {
    command,
    cwd: folder,
    env: { PATH: process.env.PATH ?? "" },
    timeoutMs: 20_000,
    folder: undefined,
    outputBytesMax: 1024,
    onOutput: () => {},
  };
}

describe("bytes in the output", () => {
  it("are decoded without tearing a character over chunks", async () => {
    const shown: string[] = [];
    const command = start("printf 'a\\xf0\\x9f'; until [ -e go ]; do sleep 0.02; done; printf '\\x98\\x80b'", {
      onOutput: (chunk) => shown.push(chunk),
    });
    await vi.waitFor(() => expect(shown.join("")).toBe("a"), { timeout: 10_000 });
    writeFileSync(join(folder, "go"), "");
    expect((await command.done).text).toBe("a😀b");
    expect(shown.join("")).toBe("a😀b");
  });

  it("that are no UTF-8 become U+FFFD: an encoded surrogate, a lone byte, a cut end", async () => {
    const result = await start("printf 'a\\xed\\xa0\\x80b\\xffc\\xc3'").done;
    expect(result.text).toBe("a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD");
  });

  it("survive when they are NUL or escapes: the record is not the screen", async () => {
    const result = await start("printf 'a\\0b\\033[2J'").done;
    expect(result.text).toBe("a\0b\x1b[2J");
  });
});

describe("output longer than history keeps", () => {
  it("keeps head and tail, says what is missing, and the whole is in a file that only its owner can read", async () => {
    const result = await start("seq 1 100000").done;
    expect(result.text).toMatch(/^1\n2\n/);
    expect(result.text).toMatch(/\n100000\n$/);
    expect(result.text).toContain(`[… ${result.omittedBytes.toLocaleString("en-US")} bytes left out …]`);
    expect(Buffer.byteLength(result.text)).toBeLessThan(HISTORY_BYTES_MAX);
    const file = result.outputFile ?? "";
    expect(readFileSync(file, "utf8")).toBe(Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join(""));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    expect(result.totalBytes).toBe(statSync(file).size);
  });

  it("names no file when the output is short, and leaves none behind when its result is settled", async () => {
    const result = await start("echo short").done;
    expect(result.outputFile).toBeUndefined();
    await runner.settle(join(folder, "out", `call-${calls}`), false);
    expect(readdirSync(join(folder, "out"))).toEqual([]);
  });

  it("is all that stays when the result is settled", async () => {
    const result = await start("seq 1 100000").done;
    await runner.settle(dirname(result.outputFile ?? ""), true);
    expect(readdirSync(dirname(result.outputFile ?? ""))).toEqual(["output"]);
  });

  it("writes the file up to its limit, drains the rest and counts it", async () => {
    const result = await start("head -c 3000000 /dev/zero", { outputBytesMax: 1_000_000 }).done;
    expect(result).toMatchObject({ exitCode: 0, totalBytes: 3_000_000 });
    expect(statSync(result.outputFile ?? "").size).toBe(1_000_000);
  });

  it("goes on in a temporary folder when the call's own cannot be made, and leaves nothing there", async () => {
    const result = await start("seq 1 100000", { folder: "/dev/null/nowhere" }).done;
    expect(result).toMatchObject({ exitCode: 0, outputFile: undefined });
    expect(result.text).toMatch(/\n100000\n$/);
  });

  it("is not all shown when it comes faster than a screen can take", async () => {
    let shown = "";
    const result = await start("head -c 50000000 /dev/zero", {
      onOutput: (chunk) => {
        shown += chunk;
      },
    }).done;
    expect(result.totalBytes).toBe(50_000_000);
    expect(shown.length).toBeLessThan(25_000_000);
    expect(shown).toContain("\n…\n");
  });
});

const TREE = "echo $$ >> pids; sleep 7777 & echo $! >> pids; setsid sh -c 'echo $$ >> pids; exec sleep 7778' & wait";

describe("ending a command", () => {
  it("ends the whole tree, a child in a session of its own too", async () => {
    const command = start(TREE);
    const pids = await pidsIn("pids", 3);
    await command.end();
    expect(pids.filter(isAlive)).toEqual([]);
    expect(await command.done).toMatchObject({ exitCode: null, signal: "SIGTERM", timedOut: false });
  });

  it("ends the whole tree after its time is over", async () => {
    const command = start(TREE, { timeoutMs: 700 });
    const pids = await pidsIn("pids", 3);
    expect(await command.done).toMatchObject({ timedOut: true });
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it("uses SIGKILL on what does not obey", async () => {
    const command = start("trap '' TERM; echo $$ >> pids; while :; do sleep 0.05; done");
    const pids = await pidsIn("pids", 1);
    await command.end(100);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(await command.done).toMatchObject({ signal: "SIGKILL" });
  });

  it("ends a child that cleared its environment and left the group", async () => {
    const command = start("env -i setsid sh -c 'echo $$ >> pids; while :; do /bin/sleep 1; done' & sleep 7777");
    const pids = await pidsIn("pids", 1);
    await command.end();
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it("keeps what it had printed", async () => {
    let shown = "";
    const command = start("echo before; sleep 7777", {
      onOutput: (chunk) => {
        shown += chunk;
      },
    });
    await vi.waitFor(() => expect(shown).toBe("before\n"));
    await command.end();
    expect((await command.done).text).toBe("before\n");
  });

  it("prevents the start when it comes before it", async () => {
    const command = start("touch started");
    await command.end();
    expect(await command.done).toMatchObject({ exitCode: null, signal: "SIGTERM", text: "" });
    expect(existsSync(join(folder, "started"))).toBe(false);
  });

  it("can be asked for twice and after the end", async () => {
    const command = start("true");
    await command.done;
    await Promise.all([command.end(), command.end()]);
    expect(await command.done).toMatchObject({ exitCode: 0 });
  });

  it("does not touch other commands", async () => {
    const other = start("until [ -e go ]; do sleep 0.02; done; echo fine");
    const command = start(TREE);
    await pidsIn("pids", 3);
    await command.end();
    await start("touch go").done;
    expect(await other.done).toMatchObject({ exitCode: 0, text: "fine\n" });
  });
});

describe("background children", () => {
  it("do not hold the result, are reported and are left alone", async () => {
    const result = await start("sleep 7777 & echo $! >> pids; echo done").done;
    const pids = await pidsIn("pids", 1);
    expect(result).toMatchObject({ exitCode: 0, text: "done\n", backgroundPids: pids });
    expect(pids.filter(isAlive)).toEqual(pids);
  });

  it("can go on writing after the result", async () => {
    const loop = "while [ ! -e stop ]; do echo noise; echo $$ >> written; sleep 0.01; done; echo survived > end";
    const result = await start(`(${loop}) & echo started`).done;
    expect(result.text).toContain("started\n");
    expect(result.backgroundPids).not.toEqual([]);
    const written = (): number => (existsSync(join(folder, "written")) ? statSync(join(folder, "written")).size : 0);
    const before = written();
    await vi.waitFor(() => expect(written()).toBeGreaterThan(before), { timeout: 10_000 });
    writeFileSync(join(folder, "stop"), "");
    await vi.waitFor(() => expect(existsSync(join(folder, "end"))).toBe(true), { timeout: 10_000 });
  });

  it("end with all the rest", async () => {
    await start("setsid sleep 7777 > /dev/null 2>&1 & echo $! >> pids").done;
    const running = start("echo $$ >> pids; sleep 7778");
    const pids = await pidsIn("pids", 2);
    await runner.endAll();
    expect(pids.filter(isAlive)).toEqual([]);
    expect(await running.done).toMatchObject({ signal: "SIGTERM" });
  });

  it("die at once in the last moment of the chat", async () => {
    const running = start(TREE);
    const pids = await pidsIn("pids", 3);
    runner.killAll();
    expect(await running.done).toMatchObject({ signal: "SIGKILL" });
    for (let tries = 0; pids.some(isAlive) && tries < 100; tries += 1) await delay(10);
    expect(pids.filter(isAlive)).toEqual([]);
  });
});
