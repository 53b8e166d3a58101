import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HISTORY_BYTES_MAX } from "../../src/text/cut.js";
import { Workplace } from "./setup.js";

let place: Workplace;
beforeEach(() => {
  place = new Workplace();
});
afterEach(() => place.close());

const read = async (path: string, more = {}) => (await place.run("read", { path, ...more })).text;
const refusal = (path: string, more = {}) =>
  place.run("read", { path, ...more }).then(
    () => "not refused",
    (error: Error) => `${error.name}: ${error.message}`,
  );

describe("read", () => {
  it("returns a text as it is, to the byte", async () => {
    place.file("a.txt", "\uFEFFfirst\r\nsecond\n\n漢 without end");
    expect(await read("a.txt")).toBe("\uFEFFfirst\r\nsecond\n\n漢 without end");
  });

  it("says that a file is empty", async () => {
    place.file("empty", "");
    expect(await read("empty")).toBe("(the file is empty)");
  });

  it("reads the lines asked for and says how to read on", async () => {
    place.file("a.txt", "1\n2\n3\n4\n5\n");
    expect(await read("a.txt", { offset: 2, limit: 2 })).toBe(
      "2\n3\n[… lines 2 to 3; the file goes on: read on with offset 4]",
    );
    expect(await read("a.txt", { offset: 4, limit: 2 })).toBe("4\n5\n");
    expect(await read("a.txt", { offset: 5 })).toBe("5\n");
    expect(await refusal("a.txt", { offset: 6 })).toMatch(/ToolError: .* ends before line 6: it has 5 lines/);
  });

  it("reads a huge file in pieces that fit into history, and together they are the file", async () => {
    const lines = Array.from({ length: 30_000 }, (_, index) => `line ${index} ${"é".repeat(index % 50)}`);
    place.file("huge", lines.join("\n"));
    const pieces: string[] = [];
    for (let offset: number | undefined = 1; offset !== undefined; ) {
      const text: string = await read("huge", { offset, limit: 100_000 });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(HISTORY_BYTES_MAX);
      const next = /\[… lines \d+ to \d+; the file goes on: read on with offset (\d+)\]$/.exec(text);
      pieces.push(next === null ? text : text.slice(0, next.index));
      offset = next === null ? undefined : Number(next[1]);
    }
    expect(pieces.length).toBeGreaterThan(10);
    expect(pieces.join("")).toBe(lines.join("\n"));
  });

  it("gives the beginning of a line that is longer than history takes", async () => {
    place.file("line", "😀".repeat(100_000));
    const text = await read("line");
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(HISTORY_BYTES_MAX);
    expect(text).toMatch(/^(😀)+\n\[… line 1 is longer than this/u);
  });

  it("shows bytes that are no UTF-8 as U+FFFD", async () => {
    place.file("bad", Buffer.from([0x61, 0xed, 0xa0, 0x80, 0xff, 0x0a]));
    expect(await read("bad")).toBe("a\uFFFD\uFFFD\uFFFD\uFFFD\n");
  });

  it("refuses binary files with their size, and images", async () => {
    place.file("a.bin", Buffer.from([1, 0, 2]));
    place.file("a.png", Buffer.from("\x89PNG\r\n\x1a\n\0\0"));
    expect(await refusal("a.bin")).toMatch(/ToolError: .*a\.bin is binary.*\(3 bytes\)/);
    expect(await refusal("a.png")).toMatch(/ToolError: .*a\.png is an image/);
  });

  it("refuses what never ends or does something when opened", async () => {
    execFileSync("mkfifo", [join(place.cwd, "pipe")]);
    expect(await refusal("pipe")).toMatch(/ToolError: .* is no regular file/);
    expect(await refusal("/dev/zero")).toMatch(/ToolError: .* is no regular file/);
  });

  it("points to list for a folder, and to the name that was meant", async () => {
    mkdirSync(join(place.cwd, "src"));
    place.file("README.md", "x");
    expect(await refusal("src")).toMatch(/is a folder; the tool list/);
    expect(await refusal("REDME.md")).toMatch(/does not exist; did you mean .*README\.md\?/);
    expect(await refusal("no/such/file")).toMatch(/does not exist, and neither does its folder/);
    expect(await refusal("a\0b")).toMatch(/ToolError: .*NUL/);
  });

  it("says that the working folder is gone", async () => {
    rmSync(place.cwd, { recursive: true });
    expect(await refusal("a")).toMatch(/ToolError: the working folder .* is gone/);
  });

  it("stops when the run is stopped", async () => {
    place.file("a", "x");
    const reason = new Error("stopped");
    await expect(place.run("read", { path: "a" }, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe("where a read goes", () => {
  const inside = async (path: string) => (await place.access("read", { path }))?.inside;

  it("is inside for files in the working folder, there or not", async () => {
    place.file("sub/a", "");
    expect(await inside("sub/a")).toBe(true);
    expect(await inside("./sub/../sub/a")).toBe(true);
    expect(await inside("sub/new/file")).toBe(true);
    expect(await inside("..dots")).toBe(true);
    expect(await inside(place.cwd)).toBe(true);
  });

  it("is outside for all else: parents, absolute paths, home, a folder with a longer name", async () => {
    mkdirSync(`${place.cwd}-2`);
    expect(await inside("../outside/a")).toBe(false);
    expect(await inside("/etc/hosts")).toBe(false);
    expect(await inside("~/a")).toBe(false);
    expect(await inside(`${place.cwd}-2/a`)).toBe(false);
    expect((await place.access("read", { path: "~/a" }))?.subject).toBe(`read ${homedir()}/a`);
  });

  it("follows links: what leads out is outside, also through a link that dangles", async () => {
    symlinkSync(place.outside, join(place.cwd, "folder"));
    symlinkSync(join(place.outside, "nothing"), join(place.cwd, "dangling"));
    symlinkSync("dangling", join(place.cwd, "twice"));
    expect(await inside("folder/a")).toBe(false);
    expect(await inside("dangling")).toBe(false);
    expect(await inside("twice")).toBe(false);
    expect((await place.access("read", { path: "twice" }))?.subject).toBe(`read ${place.outside}/nothing`);
  });

  it("is inside when the working folder itself was reached by a link", async () => {
    place.file("a", "");
    symlinkSync(place.cwd, join(place.root, "link"));
    expect(await inside(join(place.root, "link", "a"))).toBe(true);
  });

  it("refuses loops of links", async () => {
    symlinkSync("loop", join(place.cwd, "loop"));
    await expect(inside("loop")).rejects.toMatchObject({ name: "ToolError" });
  });
});
