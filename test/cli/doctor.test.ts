import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { EntryBody } from "../../src/agent/entries.js";
import { State } from "../../src/agent/state.js";
import { runDoctor } from "../../src/cli/doctor.js";
import { FileStore } from "../../src/store/file-store.js";
import { takeLock } from "../../src/store/lock.js";
import { tempFolder } from "../support/temp-folder.js";
import { Capture } from "./capture.js";

let root: string;
let store: FileStore;
beforeEach(async () => {
  root = join(await tempFolder(), "conversations");
  store = new FileStore(root);
});

const usage = { inputTokens: 3, outputTokens: 4 };
const reply = (text: string, calls: Extract<EntryBody, { kind: "reply" }>["calls"] = []): EntryBody => {
  return { kind: "reply", text, calls, model: "fake/model", usage, finish: "stop" };
};
const agent = { name: "chat", model: "fake/model", systemHash: "0123456789abcdef", tools: ["bash"] };
const call = { id: "call_2_0", name: "bash", input: { command: "make" } };

/** A conversation on disk, closed, with a snapshot before its last entries. */
async function saved(id: string, ...more: EntryBody[]): Promise<State> {
  const state = new State("MARK-1", { id, data: { tries: 1 } });
  state.recordData();
  for (const body of [
    { kind: "folder", cwd: "/tmp" },
    { kind: "run_start", agent },
  ] satisfies EntryBody[]) {
    state.record(body);
  }
  state.record({ kind: "request", model: "fake/model" });
  state.record(reply("MARK-2"));
  state.record({ kind: "run_end", reason: "answered" });
  state.rename(`name of ${id}`);
  await store.write(id, state.history, state.snapshot(), { create: true });
  const length = state.history.length;
  state.addUserMessage("MARK-3");
  for (const body of more) state.record(body);
  await store.write(id, state.history.slice(length), undefined);
  await store.unlock(id);
  return state;
}

async function doctor(options: { id?: string; repair?: boolean; json?: boolean } = {}) {
  const [stdout, stderr] = [new Capture(), new Capture()];
  const { id, repair = false, json = false } = options;
  const exitCode = await runDoctor({ root, id, repair, json, takeLock, stdout, stderr });
  return { exitCode, stdout: stdout.text, lines: stdout.lines, stderr: stderr.text };
}

async function findings(id: string): Promise<string[]> {
  const { stdout } = await doctor({ json: true });
  const report: { conversations: { id: string; findings: { kind: string }[] }[]; findings: { kind: string }[] } =
    JSON.parse(stdout);
  const state = report.conversations.find((each) => each.id === id);
  return [...(state?.findings ?? []), ...report.findings].map(({ kind }) => kind);
}

/** Every file under the store with its content's hash, its mode and its time. */
function disk(folder = root): string[] {
  const own = `${folder} ${statSync(folder).mode.toString(8)} ${statSync(folder).mtimeMs}`;
  const inside = readdirSync(folder, { withFileTypes: true }).flatMap((item) => {
    const path = join(folder, item.name);
    if (item.isDirectory()) return disk(path);
    const { mode, mtimeMs } = statSync(path);
    return [`${path} ${createHash("sha256").update(readFileSync(path)).digest("hex")} ${mode.toString(8)} ${mtimeMs}`];
  });
  return [own, ...inside];
}

const at = (...names: string[]) => join(root, "k7f2", ...names);
const log = () => at("log.jsonl");
const snapshot = () => at("snapshot.json");
const changeSnapshot = (change: (document: string) => string) =>
  writeFileSync(snapshot(), change(readFileSync(snapshot(), "utf8")));

describe("chat doctor", () => {
  it("says that nothing is wrong where nothing is, and writes nothing", async () => {
    await saved("k7f2");
    await saved("other", reply("MARK-4"));
    const before = disk();
    expect(await doctor()).toEqual({
      exitCode: 0,
      stdout: "2 conversations checked, nothing is wrong\n",
      lines: ["2 conversations checked, nothing is wrong"],
      stderr: "",
    });
    expect(await doctor({ repair: true })).toMatchObject({ exitCode: 0 });
    expect(disk()).toEqual(before);
  });

  it("has nothing to say without a store, and makes none", async () => {
    expect(await doctor({ repair: true })).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^0 conv/) });
    expect(existsSync(root)).toBe(false);
  });

  it("checks one that is named by id, beginning or name, and no other", async () => {
    await saved("k7f2");
    await saved("other");
    appendFileSync(join(root, "other", "log.jsonl"), "half");
    for (const id of ["k7f2", "k7", "name of k7f2"]) expect(await doctor({ id })).toMatchObject({ exitCode: 0 });
    expect(await doctor({ id: "other" })).toMatchObject({ exitCode: 1 });
    await expect(doctor({ id: "nosuch" })).rejects.toMatchObject({ code: "STATE_NOT_FOUND" });
    await expect(doctor({ id: "../victim" })).rejects.toMatchObject({ code: "STATE_NOT_FOUND" });
  });
});

describe("what --repair mends", () => {
  const mendable: Array<[string, string, () => void]> = [
    ["torn-tail", "a record that was cut off", () => appendFileSync(log(), '{"seq":9,"at"')],
    ["no-newline", "a missing newline", () => truncateSync(log(), statSync(log()).size - 1)],
    ["mode", "a file that others may read", () => chmodSync(log(), 0o644)],
    ["mode", "a folder that others may enter", () => chmodSync(at(), 0o755)],
    ["snapshot-damaged", "a snapshot of NUL bytes", () => writeFileSync(snapshot(), "\0\0\0")],
    ["snapshot-damaged", "an empty snapshot", () => truncateSync(snapshot(), 0)],
    ["snapshot-missing", "no snapshot", () => rmSync(snapshot())],
    [
      "snapshot-differs",
      "a snapshot with another name",
      () => changeSnapshot((text) => text.replace("name of k7f2", "alien")),
    ],
    [
      "snapshot-differs",
      "a snapshot with another count of messages",
      () => changeSnapshot((text) => text.replace(/"messageCount":1/, '"messageCount":7')),
    ],
    [
      "snapshot-differs",
      "a snapshot of another log",
      () => changeSnapshot((text) => text.replace(/"logBytes":\d+/, '"logBytes":99999')),
    ],
    [
      "snapshot-differs",
      "a snapshot that ends within a record",
      () => changeSnapshot((text) => text.replace(/"logBytes":\d+/, '"logBytes":120')),
    ],
    ["leftover", "a temporary file", () => writeFileSync(at("snapshot.json.0a1b2c.tmp"), "x", { mode: 0o600 })],
    ["leftover", "half a deletion", () => mkdirSync(join(root, ".deleted-x-0a1b2c"))],
    [
      "leftover",
      "half a first save",
      () => {
        mkdirSync(join(root, ".new-x-0a1b2c"));
        writeFileSync(join(root, ".new-x-0a1b2c", "lock"), "", { mode: 0o600 });
      },
    ],
    ["draft-damaged", "a draft of nothing", () => writeFileSync(at("streaming"), "\0\0\n", { mode: 0o600 })],
  ];

  it.each(mendable)("%s: %s; nothing is lost, and nothing moves in the list", async (kind, _what, damage) => {
    const { history } = await saved("k7f2");
    await saved("newer");
    const rows = await store.list();
    const order = rows.map(({ id, updatedAt }) => `${id} ${updatedAt}`);
    damage();

    const damaged = disk();
    const check = await doctor();
    expect(check.exitCode).toBe(1);
    expect(check.lines.at(-1)).toMatch(/1 problem.*`chat doctor --repair` can mend 1/);
    expect(await findings("k7f2")).toEqual([kind]);
    expect(disk()).toEqual(damaged);

    const repair = await doctor({ repair: true });
    expect(repair).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/mended: [\s\S]*nothing is wrong/) });
    expect(await doctor()).toMatchObject({ exitCode: 0 });
    const record = await new FileStore(root).read("k7f2");
    expect(record?.entries).toEqual(history);
    expect(record?.damage).toBeUndefined();
    expect(record?.snapshot).toMatchObject({ name: "name of k7f2", task: "MARK-1" });
    const after = await store.list();
    expect(after.map(({ id, updatedAt }) => `${id} ${updatedAt}`)).toEqual(order);
  });

  it("keeps what it changes as it was, also a second time", async () => {
    await saved("k7f2");
    for (const number of [1, 2]) {
      appendFileSync(log(), `{"half":${number}`);
      changeSnapshot((text) => text.replace(/"messageCount":\d/, '"messageCount":7'));
      const [logBefore, snapshotBefore] = [readFileSync(log()), readFileSync(snapshot())];
      expect(await doctor({ repair: true })).toMatchObject({ exitCode: 0 });
      expect(readFileSync(at(`log.jsonl.before-repair-${number}`))).toEqual(logBefore);
      expect(readFileSync(at(`log.jsonl.torn-${number}`), "utf8")).toBe(`{"half":${number}`);
      expect(readFileSync(at(`snapshot.json.before-repair-${number}`))).toEqual(snapshotBefore);
    }
    expect(await findings("k7f2")).toEqual(Array.from({ length: 6 }, () => "set-aside"));
    for (const name of readdirSync(at())) expect(statSync(at(name)).mode & 0o777).toBe(0o600);
  });

  it("and the conversation goes on from there", async () => {
    const state = await saved("k7f2");
    appendFileSync(log(), '{"seq":9');
    rmSync(snapshot());
    await doctor({ repair: true });
    state.addUserMessage("MARK-4");
    await store.write("k7f2", state.history.slice(-1), state.snapshot());
    await store.unlock("k7f2");
    expect((await store.read("k7f2"))?.entries).toEqual(state.history);
    expect(await doctor()).toMatchObject({ exitCode: 0 });
  });
});

describe("what is left where it is", () => {
  it("damage in the middle: it is named with its line, and read around", async () => {
    await saved("k7f2");
    const text = readFileSync(log(), "utf8");
    writeFileSync(
      log(),
      text.replace(/[^\n]*MARK-2[^\n]*/, (line) => "\0".repeat(line.length)),
    );
    const before = readFileSync(log());
    for (const repair of [false, true]) {
      const { exitCode, stdout } = await doctor({ repair });
      expect(exitCode).toBe(1);
      expect(stdout).toMatch(/k7f2 problem: log\.jsonl: line 7: it is not readable .*NUL bytes/);
      expect(stdout).toMatch(/entry 5 is missing before it/);
    }
    expect(readFileSync(log())).toEqual(before);
  });

  it("an entry that is there twice", async () => {
    await saved("k7f2");
    appendFileSync(log(), `${readFileSync(log(), "utf8").split("\n")[3]}\n`);
    const { exitCode, stdout } = await doctor({ repair: true });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/entry 2 is there already/);
  });

  it("a log that is shorter than the snapshot knows", async () => {
    await saved("k7f2");
    const lines = readFileSync(log(), "utf8").split("\n");
    writeFileSync(log(), `${lines.slice(0, 4).join("\n")}\n`);
    const before = disk();
    const { exitCode, stdout } = await doctor({ repair: true });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/entries 3 to 7 are missing at its end/);
    expect(disk()).toEqual(before);
  });

  it.each<[string, () => void, RegExp]>([
    ["an empty log", () => truncateSync(log(), 0), /it is empty/],
    ["no log", () => rmSync(log()), /it is missing/],
    ["something else", () => writeFileSync(log(), '{"x":1}\n'), /is damaged/],
    [
      "the log of another conversation",
      () => writeFileSync(log(), readFileSync(log(), "utf8").replace("k7f2", "../victim")),
      /\.\.\/victim/,
    ],
    [
      "a newer format",
      () => writeFileSync(log(), readFileSync(log(), "utf8").replace('"format":1', '"format":2')),
      /newer than this program knows/,
    ],
  ])("%s: not to be opened, and no other suffers", async (_what, damage, words) => {
    await saved("k7f2");
    await saved("other");
    damage();
    const before = disk();
    const { exitCode, stdout } = await doctor({ repair: true });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(words);
    expect(stdout).toContain("2 conversations checked, 1 problem");
    expect(disk()).toEqual(before);
  });

  it("files that are not ours: a note, and no problem", async () => {
    await saved("k7f2");
    writeFileSync(at("notes.txt"), "mine");
    mkdirSync(join(root, "not an id"));
    const { exitCode, stdout } = await doctor({ repair: true });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/k7f2 note: notes\.txt: [\s\S]*store note: not an id: /);
    expect(readFileSync(at("notes.txt"), "utf8")).toBe("mine");
  });
});

describe("a conversation that is open", () => {
  it("is checked, not repaired, and told with its holder; the exit code is 75", async () => {
    await saved("k7f2");
    await store.lock("k7f2");
    onTestFinished(() => store.unlock("k7f2"));
    // What a write leaves for a moment.
    appendFileSync(log(), '{"seq":9');
    writeFileSync(at("snapshot.json.0a1b2c.tmp"), "x", { mode: 0o600 });
    const before = disk();
    for (const repair of [false, true]) {
      const { exitCode, stdout } = await doctor({ repair });
      expect(exitCode).toBe(75);
      expect(stdout).toMatch(
        new RegExp(`k7f2 open: open in another process \\(pid ${process.pid} on .*, since .*, in `),
      );
    }
    expect(disk()).toEqual(before);
  });

  it("with damage is a problem all the same", async () => {
    await saved("k7f2");
    await store.lock("k7f2");
    onTestFinished(() => store.unlock("k7f2"));
    chmodSync(log(), 0o644);
    expect(await doctor({ repair: true })).toMatchObject({ exitCode: 1 });
    expect(statSync(log()).mode & 0o777).toBe(0o644);
  });
});

describe("calls", () => {
  it("without a result are told, with what a resume will make of them, and are no problem", async () => {
    await saved("k7f2", reply("", [call, { ...call, id: "call_2_1" }]), {
      kind: "call_started",
      callId: call.id,
      name: "bash",
    });
    const { exitCode, stdout } = await doctor();
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/note: calls\/call_2_0: the call bash \(call_2_0\) had started .* may or may not/);
    expect(stdout).toMatch(/note: calls\/call_2_1: the call bash \(call_2_1\) had not started/);
    mkdirSync(at("calls", "call_2_0"), { recursive: true, mode: 0o700 });
    writeFileSync(at("calls", "call_2_0", "status"), "{}\n", { mode: 0o600 });
    expect((await doctor()).stdout).toMatch(/call_2_0\) ended after its chat did, and its result is kept/);
  });

  it("whose folders others may read are mended", async () => {
    await saved("k7f2");
    mkdirSync(at("calls", "call_1"), { recursive: true, mode: 0o755 });
    writeFileSync(at("calls", "call_1", "output"), "secret", { mode: 0o644 });
    expect(await findings("k7f2")).toEqual(["mode", "mode", "mode"]);
    expect(await doctor({ repair: true })).toMatchObject({ exitCode: 0 });
    expect(statSync(at("calls", "call_1", "output")).mode & 0o777).toBe(0o600);
  });

  it.runIf(process.platform === "linux")("that still run are told with their process", async () => {
    await saved("k7f2", reply("", [call]), { kind: "call_started", callId: call.id, name: "bash" });
    const pid = await runnerIn(at("calls", "call_2_0"));
    expect(await doctor()).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(new RegExp(`call_2_0\\) still runs under its runner \\(pid ${pid}\\)`)),
    });
    await runnerIn(at("calls", "call_0_0"));
    expect(await doctor()).toMatchObject({ exitCode: 1, stdout: expect.stringContaining("holds a result of it") });
  });

  it.runIf(process.platform === "linux").each<[string, () => void]>([
    ["removed by hand", () => rmSync(at(), { recursive: true })],
    ["being deleted", () => renameSync(at(), join(root, ".deleted-k7f2-0a1b2c"))],
  ])("that still run for a conversation %s are a problem", async (_what, remove) => {
    await saved("k7f2");
    const pid = await runnerIn(at("calls", "call_2_0"));
    remove();
    const { exitCode, stdout } = await doctor();
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(new RegExp(`store problem: .*call_2_0: .*pid ${pid}\\), and its conversation is gone`));
  });

  /** A process that works in a call's folder, as the runner of a call does. */
  async function runnerIn(folder: string): Promise<number> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(join(folder, ".."), 0o700);
    const child = spawn("cat", { cwd: folder, detached: true, stdio: ["pipe", "pipe", "ignore"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    // It answers when it is there.
    const there = new Promise((resolve) => child.stdout.once("data", resolve));
    child.stdin.write("x");
    await there;
    return child.pid ?? 0;
  }
});

describe("the report for programs", () => {
  it("has the same fields whether something was found or not", async () => {
    await saved("k7f2");
    await saved("other");
    chmodSync(log(), 0o640);
    const { stdout } = await doctor({ json: true });
    expect(JSON.parse(stdout)).toEqual({
      store: store.key,
      conversations: [
        { id: "other", open: false, owner: null, findings: [], mended: [] },
        {
          ...{ id: "k7f2", open: false, owner: null, mended: [] },
          findings: [
            {
              ...{ kind: "mode", level: "problem", path: log(), canRepair: true },
              problem: expect.any(String),
              fix: expect.any(String),
            },
          ],
        },
      ],
      findings: [],
      mended: [],
      failures: [],
    });
  });
});
