import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { InputHistory } from "../../src/repl/input-history.js";

let folder: string;
let path: string;
const errors: unknown[] = [];
const open = () => new InputHistory(path, (error) => errors.push(error));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "perdure-input-"));
  path = join(folder, "state", "input-history.jsonl");
  errors.length = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("the history of what was typed", () => {
  it("is there at the next start, newest first, with entries of several lines whole", async () => {
    const first = open();
    first.add("one");
    first.add("two\nlines\u2028here");
    await first.flush();
    const second = open();
    second.add("three");
    await second.flush();
    expect(await open().load()).toEqual(["three", "two\nlines\u2028here", "one"]);
    expect(errors).toEqual([]);
  });

  it("can be read by its owner only, whatever the umask and whatever it was", async () => {
    const first = open();
    first.add("x");
    await first.flush();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await rm(path);
    await writeFile(path, "", { mode: 0o644 });
    const second = open();
    second.add("y");
    await second.flush();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("survives a line that was cut: what follows is not glued to it", async () => {
    const first = open();
    first.add("whole");
    await first.flush();
    await writeFile(path, `${await readFile(path, "utf8")}"cut in the mid`);
    const second = open();
    second.add("after");
    await second.flush();
    expect(await open().load()).toEqual(["after", "whole"]);
  });

  it("is well-formed whatever comes in", async () => {
    const first = open();
    first.add("a\ud800b");
    await first.flush();
    expect(await open().load()).toEqual(["a\ufffdb"]);
    await writeFile(path, '"x\\ud83d"\n');
    expect(await open().load()).toEqual(["x\ufffd"]);
  });

  it("does not keep growing: the last thousand are kept", async () => {
    await open().load();
    const first = open();
    first.add("begin");
    await first.flush();
    await writeFile(path, Array.from({ length: 2500 }, (_, n) => `"${n}"\n`).join(""));
    const loaded = await open().load();
    expect(loaded).toHaveLength(1000);
    expect(loaded[0]).toBe("2499");
    expect((await readFile(path, "utf8")).split("\n")).toHaveLength(1001);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("that cannot be written is told of once", async () => {
    path = join(folder, "file", "history");
    await writeFile(join(folder, "file"), "in the way");
    const history = open();
    history.add("one");
    history.add("two");
    await history.flush();
    expect(errors).toHaveLength(1);
  });

  it("without a path is nowhere, and says nothing", async () => {
    const history = new InputHistory(undefined, (error) => errors.push(error));
    history.add("one");
    await history.flush();
    expect(await history.load()).toEqual([]);
    expect(errors).toEqual([]);
  });
});
