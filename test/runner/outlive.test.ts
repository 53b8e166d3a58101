import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { bootId } from "../../src/runner/boot-id.js";
import { newMark } from "../../src/runner/call-folder.js";
import { endCalls, livingCalls } from "../../src/runner/end-calls.js";
import { LocalRunner } from "../../src/runner/local-runner.js";
import type { CommandSpec, RunningCommand } from "../../src/runner/runner.js";
import { processesWith } from "../support/processes.js";
import { until } from "../support/until.js";

let root: string;
let runners: LocalRunner[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-outlive-"));
  runners = [];
});
afterEach(async () => {
  await endCalls(join(root, "calls"), 0);
  await Promise.all(runners.map((runner) => runner.endAll(0)));
  await rm(root, { recursive: true, force: true });
});

/** A chat of its own: it knows nothing of what others started. */
function newRunner(options: { shell?: string } = {}): LocalRunner {
  const runner = new LocalRunner(options);
  runners.push(runner);
  return runner;
}

const folderOf = (callId: string): string => join(root, "calls", callId);

function specOf(callId: string, command: string, spec: Partial<CommandSpec> = {}): CommandSpec {
  return {
    command,
    cwd: root,
    // Found by this variable: whatever runs in this test's name.
    env: { PATH: process.env.PATH ?? "", TEST_ROOT: root },
    timeoutMs: 20_000,
    folder: folderOf(callId),
    outputBytesMax: 1 << 20,
    onOutput: () => {},
    ...spec,
  };
}

const attach = (callId: string, onOutput = (_: string) => {}, fromByte = 0) =>
  newRunner().attach(callId, { folder: folderOf(callId), onOutput, fromByte });

async function follow(callId: string, onOutput?: (chunk: string) => void, fromByte?: number): Promise<RunningCommand> {
  const found = await attach(callId, onOutput, fromByte);
  if (found.state !== "running") throw new Error(found.state);
  return found.command;
}

const lines = (name: string): string[] =>
  existsSync(join(root, name)) ? readFileSync(join(root, name), "utf8").split("\n").filter(Boolean) : [];
const go = (): void => writeFileSync(join(root, "go"), "");
const UNTIL_GO = "until [ -e go ]; do sleep 0.02; done";

/** Starts a command in a chat that is gone when this resolves, with the command under way. */
async function startAndLeave(callId: string, command: string, spec: Partial<CommandSpec> = {}): Promise<void> {
  const runner = newRunner();
  runner.start(callId, specOf(callId, `echo began >> began; ${command}`, spec));
  await until("it runs", () => lines("began").length > 0);
  await runner.leaveAll();
}

const nothingLeft = () =>
  until(
    () => `nothing is left: ${JSON.stringify(processesWith(root))}`,
    () => processesWith(root).length === 0,
  );

describe("starting a call", () => {
  it("happens once, whoever of 20 comes first, and all of them have its result", async () => {
    const results = await Promise.all(
      Array.from({ length: 20 }, () => newRunner().start("call", specOf("call", "echo x >> starts; echo out")).done),
    );
    expect(lines("starts")).toEqual(["x"]);
    for (const result of results) expect(result).toMatchObject({ exitCode: 0, text: "out\n" });
  });

  it("does not happen a second time in another chat after it has ended", async () => {
    await newRunner().start("call", specOf("call", "echo x >> starts")).done;
    const again = newRunner().start("call", specOf("call", "echo x >> starts"));
    expect(await again.done).toMatchObject({ exitCode: 0 });
    expect(lines("starts")).toEqual(["x"]);
  });

  it("keeps everything of it to its owner", async () => {
    await startAndLeave("call", UNTIL_GO);
    expect(statSync(folderOf("call")).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(folderOf("call"))) {
      expect([name, statSync(join(folderOf("call"), name)).mode & 0o777]).toEqual([name, 0o600]);
    }
  });

  it("leaves no process behind when it has ended", async () => {
    await newRunner().start("call", specOf("call", "sleep 0.1; echo out")).done;
    await nothingLeft();
  });

  it("hides neither the shell's level nor its last folder from the command", async () => {
    const env = { PATH: process.env.PATH ?? "", SHLVL: "4", "odd.name": "kept" };
    const { text } = await newRunner().start("call", specOf("call", "echo $SHLVL $OLDPWD; env", { env })).done;
    expect(text).toMatch(/^5\n/);
    expect(text).toContain("odd.name=kept\n");
    expect(text).not.toContain("PERDURE_RUN");
    expect(text.match(/^PERDURE_CALL=/gm)).toHaveLength(1);
  });
});

describe("a command whose chat is gone", () => {
  it("goes on to its end, and its result is found", async () => {
    await startAndLeave("call", `${UNTIL_GO}; echo out; exit 3`);
    go();
    await nothingLeft();
    expect(await attach("call")).toMatchObject({
      state: "finished",
      result: { exitCode: 3, signal: null, text: "out\n", totalBytes: 4, timedOut: false },
    });
  });

  it("is followed by another one: what it has printed and what it prints, then its result", async () => {
    await startAndLeave("call", `echo first; ${UNTIL_GO}; echo second; exit 2`);
    let shown = "";
    const command = await follow("call", (chunk) => {
      shown += chunk;
    });
    await vi.waitFor(() => expect(shown).toBe("first\n"));
    go();
    expect(await command.done).toMatchObject({ exitCode: 2, text: "first\nsecond\n" });
    expect(shown).toBe("first\nsecond\n");
  });

  it("is followed from the byte where the screen stopped", async () => {
    await startAndLeave("call", `echo first; ${UNTIL_GO}; echo second`);
    await until("it has printed", () => lines("calls/call/output").length === 1);
    const shown: string[] = [];
    const command = await follow("call", (chunk) => shown.push(chunk), 6);
    go();
    expect((await command.done).text).toBe("first\nsecond\n");
    expect(shown.join("")).toBe("second\n");
  });

  it("is ended by the one that follows it, with all that it started", async () => {
    await startAndLeave("call", "setsid sleep 7777 & sleep 7778");
    const command = await follow("call");
    await command.end();
    expect(await command.done).toMatchObject({ exitCode: null, signal: "SIGTERM" });
    await nothingLeft();
  });

  it("is ended when its time is over, with all that it started, also what ignores SIGTERM", async () => {
    await startAndLeave("call", "trap '' TERM; setsid sleep 7777 & while :; do sleep 1; done", { timeoutMs: 1000 });
    await nothingLeft();
    expect(await attach("call")).toMatchObject({ state: "finished", result: { timedOut: true, signal: "SIGKILL" } });
  });

  it("is ended with all that it started when somebody ends its runner", async () => {
    await startAndLeave("call", "setsid sleep 7777 & sleep 7778");
    const { pid } = JSON.parse(readFileSync(join(folderOf("call"), "run"), "utf8"));
    process.kill(-pid, "SIGTERM");
    await nothingLeft();
    expect(await attach("call")).toMatchObject({
      state: "finished",
      result: { exitCode: null, signal: "SIGTERM", timedOut: false },
    });
  });

  it("takes its background children with it when it ends", async () => {
    await startAndLeave("call", `setsid sleep 7777 > /dev/null 2>&1 & ${UNTIL_GO}`);
    go();
    await nothingLeft();
    expect(await attach("call")).toMatchObject({ state: "finished", result: { exitCode: 0 } });
  });

  it("leaves its background children to the one that follows it, and they end with that one", async () => {
    await startAndLeave("call", `sleep 7777 > /dev/null 2>&1 & ${UNTIL_GO}`);
    const runner = newRunner();
    const found = await runner.attach("call", { folder: folderOf("call"), onOutput: () => {} });
    if (found.state !== "running") throw new Error(found.state);
    go();
    const { backgroundPids } = await found.command.done;
    expect(backgroundPids).toHaveLength(1);
    await runner.endAll();
    await nothingLeft();
  });

  it("had background children when it ended: they end with the chat", async () => {
    const runner = newRunner();
    const { backgroundPids } = await runner.start("call", specOf("call", "setsid sleep 7777 > /dev/null 2>&1 &")).done;
    expect(backgroundPids).toHaveLength(1);
    await runner.leaveAll();
    await nothingLeft();
  });
});

describe("taking up a call", () => {
  it("that was never started says so, and it can never start from then on", async () => {
    expect(await attach("nowhere")).toEqual({ state: "never_started" });
    mkdirSync(folderOf("call"), { recursive: true });
    expect(await attach("call")).toEqual({ state: "never_started" });
    await expect(newRunner().start("call", specOf("call", "echo x >> starts")).done).rejects.toMatchObject({
      code: "COMMAND_LOST",
    });
    expect(lines("starts")).toEqual([]);
    expect(await attach("call")).toEqual({ state: "never_started" });
  });

  it("whose runner died between its first two steps: it did not run", async () => {
    mkdirSync(folderOf("call"), { recursive: true });
    writeFileSync(join(folderOf("call"), "run"), "");
    expect(await attach("call")).toEqual({ state: "never_started" });
  });

  it("whose runner was ended from outside is unknown, and what it watched over is ended", async () => {
    await startAndLeave("call", "sleep 7777");
    const { pid } = JSON.parse(readFileSync(join(folderOf("call"), "run"), "utf8"));
    process.kill(pid, "SIGKILL");
    await until("it is gone", () => !existsSync(`/proc/${pid}`));
    expect(await attach("call")).toEqual({ state: "unknown" });
    await nothingLeft();
  });

  it("does not take another process with the same number for the runner", async () => {
    mkdirSync(folderOf("call"), { recursive: true });
    const mark = newMark(folderOf("call"));
    const run = { format: 1, pid: process.pid, start: "1", boot: bootId(), mark };
    writeFileSync(join(folderOf("call"), "run"), `${JSON.stringify(run)}\n`);
    writeFileSync(join(folderOf("call"), "go"), "");
    expect(await attach("call")).toEqual({ state: "unknown" });
  });

  it("that was started before the machine was is unknown", async () => {
    mkdirSync(folderOf("call"), { recursive: true });
    const start = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ")[19];
    const run = { format: 1, pid: process.pid, start, boot: "another", mark: newMark(folderOf("call")) };
    writeFileSync(join(folderOf("call"), "run"), `${JSON.stringify(run)}\n`);
    writeFileSync(join(folderOf("call"), "go"), "");
    expect(await attach("call")).toEqual({ state: "unknown" });
  });

  it("in a copy of the folder leaves the original alone", async () => {
    await startAndLeave("call", `${UNTIL_GO}; echo out`);
    cpSync(folderOf("call"), folderOf("copy"), { recursive: true });
    expect(await attach("copy")).toEqual({ state: "unknown" });
    const command = await follow("call");
    go();
    expect(await command.done).toMatchObject({ exitCode: 0, text: "out\n" });
  });

  it("with half a status, which a lost machine left, is unknown", async () => {
    await newRunner().start("call", specOf("call", "true")).done;
    await nothingLeft();
    writeFileSync(join(folderOf("call"), "status"), '{"format":1,"ex');
    expect(await attach("call")).toEqual({ state: "unknown" });
  });
});

describe("output", () => {
  it("beyond the limit is counted, and its end is kept", async () => {
    await startAndLeave("call", `${UNTIL_GO}; seq 1 500000`, { outputBytesMax: 200_000 });
    go();
    await nothingLeft();
    const found = await attach("call");
    if (found.state !== "finished") throw new Error(found.state);
    expect(found.result.totalBytes).toBe(3_388_895);
    expect(statSync(found.result.outputFile ?? "").size).toBe(200_000);
    expect(found.result.text).toMatch(/^1\n2\n[\s\S]*bytes left out …\]\n[\s\S]*\n500000\n$/);
  });

  it("in many small pieces is all kept", async () => {
    const command = "i=0; while [ $i -lt 6000 ]; do echo $i; i=$((i + 1)); done";
    const { text, totalBytes } = await newRunner().start("call", specOf("call", command)).done;
    expect(totalBytes).toBe(28_890);
    expect(text).toMatch(/^0\n1\n[\s\S]*\n5999\n$/);
  });
});

describe.runIf(existsSync("/bin/sh"))("with a plain sh in place of bash", () => {
  const start = (command: string, spec?: Partial<CommandSpec>) =>
    newRunner({ shell: "/bin/sh" }).start("call", specOf("call", command, spec)).done;

  it("a command runs, prints and ends, and nothing is left", async () => {
    expect(await start("echo out; exit 4")).toMatchObject({ exitCode: 4, text: "out\n", timedOut: false });
    await nothingLeft();
  });

  it("is ended when its time is over", async () => {
    expect(await start("setsid sleep 7777 & sleep 7778", { timeoutMs: 500 })).toMatchObject({ timedOut: true });
    await nothingLeft();
  });

  it("is not held up by a child in the background", async () => {
    const result = await start("sleep 7777 & echo out");
    expect(result).toMatchObject({ exitCode: 0, text: "out\n" });
    expect(result.backgroundPids).toHaveLength(1);
  });
});

describe("the calls of a conversation that is deleted", () => {
  it("are named while they run, and are ended", async () => {
    await startAndLeave("call", "setsid sleep 7777 & sleep 7778");
    await newRunner().start("other", specOf("other", "true")).done;
    const living = await livingCalls(join(root, "calls"));
    expect(living).toEqual([{ name: "call", command: "echo began >> began; setsid sleep 7777 & sleep 7778" }]);
    await endCalls(join(root, "calls"));
    await nothingLeft();
    expect(await livingCalls(join(root, "calls"))).toEqual([]);
  });
});
