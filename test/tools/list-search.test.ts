import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { searchTool } from "../../src/tools/search.js";
import { Workplace } from "./setup.js";

let place: Workplace;
beforeEach(() => {
  place = new Workplace();
});
afterEach(() => place.close());

const list = async (path?: string) => (await place.run("list", path === undefined ? {} : { path })).text.split("\n");
const search = async (pattern: string, path?: string) =>
  (await place.run("search", path === undefined ? { pattern } : { pattern, path })).text.split("\n");

describe("list", () => {
  it("lists folders first, then files with sizes, sorted", async () => {
    place.file("b.txt", "12345");
    place.file("a.txt", "x".repeat(1234));
    place.file("src/x", "");
    mkdirSync(join(place.cwd, "docs"));
    symlinkSync("b.txt", join(place.cwd, "link"));
    expect(await list()).toEqual(["docs/", "src/", "a.txt  1,234", "b.txt  5", "link -> b.txt"]);
    expect(await list("src")).toEqual(["x  0"]);
    expect(await list("docs")).toEqual(["(the folder is empty)"]);
  });

  it("leaves out what .gitignore names and says how much", async () => {
    place.file(".git/HEAD", "");
    place.file(".gitignore", "*.log\n/build/\n");
    place.file("a.log", "");
    place.file("build/out", "");
    place.file("sub/build/out", "");
    place.file("sub/keep.log", "");
    place.file("sub/.gitignore", "!keep.log\n");
    expect(await list()).toEqual([".git/", "sub/", ".gitignore  14", "(2 ignored by .gitignore)"]);
    expect(await list("sub")).toEqual(["build/", ".gitignore  10", "keep.log  0"]);
  });

  it("shows an ignored folder to who asks for it by name", async () => {
    place.file(".git/HEAD", "");
    place.file(".gitignore", "node_modules\n");
    place.file("node_modules/x/index.js", "1");
    expect(await list("node_modules/x")).toEqual(["index.js  1"]);
  });

  it("is bounded", async () => {
    for (let index = 0; index < 1003; index += 1) place.file(`f${index}`, "");
    const lines = await list();
    expect(lines).toHaveLength(1001);
    expect(lines.at(-1)).toBe("(and 3 more)");
  });

  it("keeps a name with a line break on its line", async () => {
    place.file("a\nb", "");
    expect(await list()).toEqual(["a\uFFFDb  0"]);
  });

  it("says what is wrong with a path", async () => {
    place.file("file", "");
    mkdirSync(join(place.cwd, "folder"));
    await expect(list("file")).rejects.toThrow(/is a file; the tool read/);
    await expect(list("foldr")).rejects.toThrow(/did you mean .*folder\?/);
    rmSync(place.cwd, { recursive: true });
    await expect(list()).rejects.toThrow(/the working folder .* is gone/);
  });
});

describe("search", () => {
  it("finds lines, with path and number, in a stable order", async () => {
    place.file("b.ts", "const a = 1;\nconst b = 2;\r\n");
    place.file("a/c.ts", "// const\nlet x;\n");
    expect(await search("const")).toEqual(["a/c.ts:1: // const", "b.ts:1: const a = 1;", "b.ts:2: const b = 2;"]);
    expect(await search("^const \\w = 2;$", "b.ts")).toEqual(["b.ts:2: const b = 2;"]);
    expect(await search("(?i)LET")).toEqual(["a/c.ts:2: let x;"]);
    expect(await search("nothing")).toEqual(["(no match in 2 files)"]);
  });

  it("searches as many files as there are", async () => {
    for (let index = 100; index < 200; index += 1) place.file(`f${index}`, "word\n");
    expect(await search("word")).toEqual(Array.from({ length: 100 }, (_, index) => `f${index + 100}:1: word`));
  });

  it("leaves out what .gitignore files name, nested ones too, and .git", async () => {
    place.file(".git/HEAD", "word");
    place.file(".gitignore", "node_modules/\n*.log\n");
    place.file("node_modules/m/index.js", "word");
    place.file("a.log", "word");
    place.file("sub/.gitignore", "secret\n!kept.log\n");
    place.file("sub/secret/x", "word");
    place.file("sub/kept.log", "word");
    place.file("secret", "word");
    expect(await search("word")).toEqual(["secret:1: word", "sub/kept.log:1: word"]);
  });

  it("leaves out binary and very large files and says so", async () => {
    place.file("a.bin", Buffer.from("word\0"));
    place.file("big", `word\n${"x".repeat(5_000_000)}`);
    place.file("c", "word");
    expect(await search("word")).toEqual(["c:1: word", "(2 binary, too large or unreadable files left out)"]);
  });

  it("never follows a link, out of the folder or in a loop", async () => {
    place.file("../outside/x", "word");
    place.file("in", "word");
    symlinkSync(place.outside, join(place.cwd, "out"));
    symlinkSync(join(place.outside, "x"), join(place.cwd, "file"));
    symlinkSync(".", join(place.cwd, "loop"));
    expect(await search("word")).toEqual(["in:1: word"]);
  });

  it("is bounded in matches and in the length of a line", async () => {
    place.file("many", "word\n".repeat(1000));
    const lines = await search("word");
    expect(lines).toHaveLength(201);
    expect(lines.at(-1)).toBe("(more matches than 200: narrow the pattern or the path)");
    place.file("many", `${"a".repeat(50_000)}word${"b".repeat(50_000)}`);
    expect(await search("word")).toEqual([`many:1: …${"a".repeat(80)}word${"b".repeat(216)}…`]);
  });

  it("shows exactly as many matches as are allowed without saying there are more", async () => {
    place.file("many", "word\n".repeat(200));
    expect(await search("word")).toHaveLength(200);
  });

  it("refuses what is no regular expression", async () => {
    await expect(search("a(")).rejects.toMatchObject({ name: "ToolError", message: /no regular expression/ });
  });

  it("takes needless escapes as everyone writes them", async () => {
    place.file("a", 'say "a-b"');
    expect(await search('\\"a\\-b\\"')).toEqual(['a:1: say "a-b"']);
  });

  it("stops when the run is stopped after the search began, with a pattern that never ends", async () => {
    place.file("a", `${"a".repeat(40)}!`);
    const began = vi.spyOn(Worker.prototype, "postMessage");
    const stop = new AbortController();
    const run = place.run("search", { pattern: "^(a+)+$" }, stop.signal);
    const stopped = expect(run).rejects.toThrow("stopped");
    await vi.waitFor(() => expect(began).toHaveBeenCalled(), { timeout: 10_000 });
    began.mockRestore();
    stop.abort(new Error("stopped"));
    await stopped;
  });

  it("says so when a pattern takes too long", async () => {
    place.file("a", `${"a".repeat(40)}!`);
    const tool = searchTool(200);
    await expect(tool.run({ pattern: "^(a+)+$" }, place.context())).rejects.toMatchObject({
      name: "ToolError",
      message: /takes too long/,
    });
  });

  it("says what is inside for the permissions", async () => {
    expect(await place.access("search", { pattern: "x" })).toMatchObject({ action: "read", inside: true });
    expect(await place.access("search", { pattern: "x", path: "../outside" })).toMatchObject({ inside: false });
    expect(await place.access("list", { path: "/" })).toEqual({ action: "read", inside: false, subject: "list /" });
  });
});
