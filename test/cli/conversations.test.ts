import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EntryBody } from "../../src/agent/entries.js";
import { State } from "../../src/agent/state.js";
import { runDelete } from "../../src/cli/delete.js";
import { runList } from "../../src/cli/list.js";
import { runRename } from "../../src/cli/rename.js";
import { runShow } from "../../src/cli/show.js";
import { PerdureError } from "../../src/errors.js";
import { FileStore } from "../../src/store/file-store.js";
import type { Store } from "../../src/store/store.js";
import { Capture, Failing } from "./capture.js";

let root: string;
let store: FileStore;
beforeEach(() => {
  root = join(mkdtempSync(join(tmpdir(), "perdure-cli-")), "conversations");
  store = new FileStore(root);
});
afterEach(() => rmSync(join(root, ".."), { recursive: true, force: true }));

const usage = { inputTokens: 1, outputTokens: 1 };
const reply = (text: string, calls: Extract<EntryBody, { kind: "reply" }>["calls"] = []): EntryBody => {
  return { kind: "reply", text, calls, model: "fake/model", usage, finish: "stop" };
};

/** A conversation on disk, closed. */
async function saved(id: string, task: string, ...bodies: EntryBody[]): Promise<void> {
  const state = new State(task, { id });
  for (const body of bodies) state.record(body);
  await store.write(id, state.history, state.snapshot(), { create: true });
  await store.unlock(id);
}

async function list(json = false, stdout = new Capture()) {
  const stderr = new Capture();
  const exitCode = await runList({ store, json, stdout, stderr });
  return { exitCode, stdout: stdout.text, lines: stdout.lines, stderr: stderr.text };
}

async function show(id: string, json = false) {
  const [stdout, stderr] = [new Capture(), new Capture()];
  const exitCode = await runShow({ store, id, json, stdout, stderr });
  return { exitCode, stdout: stdout.text, stderr: stderr.text };
}

/** Every file under the store with its content's hash and its time. */
function disk(folder = root): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((item) => {
    const path = join(folder, item.name);
    if (item.isDirectory()) return disk(path);
    return [`${path} ${createHash("sha256").update(readFileSync(path)).digest("hex")} ${statSync(path).mtimeMs}`];
  });
}

describe("chat list", () => {
  it("shows the conversations, most recently updated first, one line each", async () => {
    await saved("first", "MARK-1\nsecond line", reply("yes"));
    await saved("second", "MARK-2");
    await runRename({ store, id: "first", text: "the parser", stdout: new Capture() });
    const { exitCode, lines } = await list();
    expect(exitCode).toBe(0);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^ID +UPDATED +MESSAGES +TITLE$/);
    expect(lines[1]).toMatch(/^first {3}\d{4}-\d\d-\d\d \d\d:\d\d +1 {2}the parser$/);
    expect(lines[2]).toMatch(/^second .* MARK-2$/);
  });

  it("keeps each row on its line and off the terminal's controls, cut to its width", async () => {
    await saved("evil", `\t\u001b[31mred\u001b]0;PWN\u0007\nnext ${"x".repeat(500)}`);
    const stdout = new Capture();
    stdout.columns = 80;
    const { lines } = await list(false, stdout);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/red next x+…$/);
    expect(lines[1]?.length).toBeLessThanOrEqual(80);
    expect(stdout.text).not.toMatch(/[\u001b\u0007\t]/);
  });

  it("gives programs every field of a row", async () => {
    await saved("first", "MARK-1\u009b2J", reply("yes"));
    const { stdout } = await list(true);
    expect(stdout).not.toContain("\u009b");
    const rows: unknown = JSON.parse(stdout);
    expect(rows).toMatchObject([
      { id: "first", task: "MARK-1\u009b2J", name: null, stoppedBy: null, historyLength: 2 },
    ]);
    expect(Array.isArray(rows) && "snapshot" in rows[0]).toBe(false);
  });

  it("is an empty list when there is nothing, and makes no folder", async () => {
    expect(await list(true)).toMatchObject({ exitCode: 0, stdout: "[]\n" });
    expect(await list()).toMatchObject({ exitCode: 0, stdout: "", stderr: expect.stringContaining("start one") });
    expect(() => statSync(root)).toThrow("ENOENT");
  });

  it("shows a damaged one as such beside the others", async () => {
    await saved("good", "MARK-GOOD");
    mkdirSync(join(root, "bad"));
    writeFileSync(join(root, "bad/snapshot.json"), "\0\0\0");
    writeFileSync(join(root, "bad/log.jsonl"), "\0\0\0");
    const { exitCode, stdout, stderr } = await list();
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^good .*MARK-GOOD$/m);
    expect(stdout).toMatch(/^bad .*damaged: /m);
    expect(stderr).toBe("1 conversation cannot be read; what is on disk stays as it is\n");
    expect(JSON.parse((await list(true)).stdout)).toHaveLength(2);
  });

  it("is content with a reader that goes away", async () => {
    await saved("first", "MARK-1");
    expect((await list(false, new Failing("EPIPE"))).exitCode).toBe(0);
    expect((await list(false, new Failing("ENOSPC"))).exitCode).toBe(1);
  });
});

describe("chat show", () => {
  const call = { id: "call_1", name: "bash", input: { command: "seq 100" } };
  const result: EntryBody = {
    ...{ kind: "result", callId: "call_1", name: "bash", isError: false, outcome: "ok" },
    text: Array.from({ length: 100 }, (_, line) => `line-${line}`).join("\n"),
  };
  const shell: EntryBody = { kind: "shell", command: "date", output: "today\n", exitCode: 0 };

  it("prints what was said and done, in order", async () => {
    await saved("k7f2", "MARK-ASK", reply("MARK-SAY", [call]), result, reply("MARK-ANSWER"), shell);
    const { exitCode, stdout } = await show("k7");
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^MARK-ASK\nk7f2 [\s\S]*> MARK-ASK\n[\s\S]*MARK-SAY[\s\S]*\$ bash [\s\S]*line-0\n[\s\S]*MARK-ANSWER\n[\s\S]*! date\n {2}today\n/,
    );
    expect(stdout).toContain("… 60 more lines");
    expect(stdout).not.toContain("line-50");
  });

  it("gives programs all of it", async () => {
    await saved("k7f2", "MARK-ASK", reply("", [call]), result);
    const { stdout } = await show("k7f2", true);
    expect(JSON.parse(stdout)).toMatchObject({
      id: "k7f2",
      entries: [{ kind: "user" }, { kind: "reply" }, { kind: "result", text: expect.stringContaining("line-50") }],
      damage: [],
    });
  });

  it("lets nothing in it drive the terminal", async () => {
    const evil = "x\u001b[2J\u001b]52;c;QQ==\u0007\r\b\u009by\u202e";
    await saved(
      ...(["evil", evil] as const),
      reply(evil, [{ ...call, input: { [evil]: evil } }]),
      { ...result, text: evil },
      { kind: "shell", command: evil, output: evil, exitCode: 1 },
    );
    expect((await show("evil")).stdout).not.toMatch(/[\u001b\u0007\r\u0008\u009b\u202e]/);
  });

  it("shows what can be read around damage, and names the file on standard error", async () => {
    await saved("k7f2", "MARK-1", reply("MARK-2"), reply("MARK-3"));
    const log = join(root, "k7f2/log.jsonl");
    writeFileSync(
      log,
      readFileSync(log, "utf8").replace(/[^\n]*MARK-2[^\n]*/, (line) => "\0".repeat(line.length)),
    );
    const { stdout, stderr } = await show("k7f2");
    expect(stdout).toMatch(/MARK-1[\s\S]*MARK-3/);
    expect(stderr).toContain(log);
  });

  it("names an id that is not there, and reads no file outside the store", async () => {
    writeFileSync(join(root, "../victim"), "MARK-VICTIM");
    for (const id of ["nosuch", "../victim", "/tmp", ".."]) {
      await expect(show(id)).rejects.toMatchObject({ code: "STATE_NOT_FOUND", problem: expect.stringContaining(id) });
    }
  });
});

describe("looking", () => {
  it("changes nothing on disk, and takes no lock", async () => {
    await saved("first", "MARK-1", reply("yes"));
    await saved("second", "MARK-2");
    const before = disk();
    await list();
    await list(true);
    await show("first");
    await show("first", true);
    expect(disk()).toEqual(before);
  });
});

describe("chat rename", () => {
  it("gives a name that the conversation is found by, as one more entry", async () => {
    await saved("k7f2", "MARK-1", reply("yes"));
    const stdout = new Capture();
    expect(await runRename({ store, id: "k7f", text: "  the\n parser ", stdout })).toBe(0);
    expect(stdout.text).toBe('renamed k7f2 to "the parser"\n');
    const record = await store.read("k7f2");
    expect(record?.entries.map(({ kind }) => kind)).toEqual(["user", "reply", "renamed"]);
    expect(record?.snapshot).toMatchObject({ name: "the parser", historyLength: 3, task: "MARK-1" });
    expect((await show("the parser")).exitCode).toBe(0);
  });

  it("leaves the calls of a crash open, so that the next resume tells what became of them", async () => {
    const call = { id: "call_1", name: "bash", input: {} };
    const started: EntryBody = { kind: "call_started", callId: "call_1", name: "bash" };
    await saved("k7f2", "MARK-1", reply("", [call]), started);
    await runRename({ store, id: "k7f2", text: "crashed", stdout: new Capture() });
    const record = await store.read("k7f2");
    expect(record?.entries.map(({ kind }) => kind)).toEqual(["user", "reply", "call_started", "renamed"]);
    if (record === undefined) return;
    const state = State.fromRecord("k7f2", record);
    expect(state.name).toBe("crashed");
    expect(state.history.slice(4)).toMatchObject([{ kind: "result", callId: "call_1", outcome: "unknown" }]);
  });

  it("can be done again, and by another store at once: nothing stays locked", async () => {
    await saved("k7f2", "MARK-1");
    await runRename({ store, id: "k7f2", text: "one", stdout: new Capture() });
    await runRename({ store: new FileStore(root), id: "one", text: "two", stdout: new Capture() });
    expect((await store.list())[0]?.name).toBe("two");
  });

  it("refuses names without text, and endless ones", async () => {
    await saved("k7f2", "MARK-1");
    for (const text of ["", " \n", "x".repeat(201)]) {
      const renaming = runRename({ store, id: "k7f2", text, stdout: new Capture() });
      await expect(renaming).rejects.toMatchObject({ code: "USAGE" });
    }
  });
});

describe("chat delete", () => {
  async function remove(ids: string[], options: { yes?: boolean; answer?: boolean; store?: Store } = {}) {
    const [stdout, stderr, questions] = [new Capture(), new Capture(), [] as string[]];
    const { answer } = options;
    const ask = (question: string) => {
      questions.push(question);
      return Promise.resolve(answer === true);
    };
    const exitCode = await runDelete({
      ...{ ids, stdout, stderr },
      store: options.store ?? store,
      yes: options.yes ?? false,
      ask: answer === undefined ? undefined : ask,
    });
    return { exitCode, stdout: stdout.text, stderr: stderr.text, questions };
  }
  const ids = async () => (await store.list()).map(({ id }) => id).sort();

  it("asks once, saying what would go, and deletes after a yes", async () => {
    await saved("a1", "MARK-A");
    await saved("b1", "MARK-B");
    const no = await remove(["a1"], { answer: false });
    expect(no).toMatchObject({ exitCode: 0, stdout: "", stderr: "nothing was deleted\n" });
    expect(no.questions[0]).toMatch(/a1.*MARK-A/);
    expect(await ids()).toEqual(["a1", "b1"]);
    const yes = await remove(["a", "b1"], { answer: true });
    expect(yes.questions).toHaveLength(1);
    expect(yes).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/deleted a1.*\ndeleted b1.*\n/) });
    expect(await ids()).toEqual([]);
  });

  it("wants --yes where nobody can be asked", async () => {
    await saved("a1", "MARK-A");
    await expect(remove(["a1"])).rejects.toMatchObject({ code: "USAGE", example: "chat delete a1 --yes" });
    expect(await ids()).toEqual(["a1"]);
    expect(await remove(["a1"], { yes: true })).toMatchObject({ exitCode: 0 });
    expect(await ids()).toEqual([]);
  });

  it("reports each, and one that is not there keeps none of the others", async () => {
    await saved("a1", "MARK-A");
    const { exitCode, stdout, stderr } = await remove(["nosuch", "a1", "../victim", "a1"], { yes: true });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^deleted a1 .*\n$/);
    expect(stderr).toMatch(/nosuch[\s\S]*\.\.\/victim/);
  });

  it("says who holds one that is open elsewhere, keeps it, and ends with 75", async () => {
    await saved("a1", "MARK-A");
    await saved("b1", "MARK-B");
    const locked = new PerdureError({ code: "STATE_LOCKED", problem: "a1 is open (pid 7)", fix: "close it there" });
    const held: Store = {
      write: (...write) => store.write(...write),
      read: (id) => store.read(id),
      list: () => store.list(),
      delete: (id) => (id === "a1" ? Promise.reject(locked) : store.delete(id)),
    };
    const { exitCode, stderr } = await remove(["a1", "b1"], { yes: true, store: held });
    expect(exitCode).toBe(75);
    expect(stderr).toContain("pid 7");
    expect(await ids()).toEqual(["a1"]);
  });

  it("deletes a damaged one", async () => {
    mkdirSync(join(root, "bad"), { recursive: true });
    writeFileSync(join(root, "bad/snapshot.json"), "\0");
    writeFileSync(join(root, "bad/log.jsonl"), "\0");
    expect(await remove(["bad"], { yes: true })).toMatchObject({ exitCode: 0 });
    expect(await ids()).toEqual([]);
  });
});
