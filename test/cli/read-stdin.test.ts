import { PassThrough, Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { readMessage, STDIN_BYTES_MAX, type StdinKind } from "../../src/cli/read-stdin.js";

function read(text: string | undefined, stdin: Readable, kind: StdinKind = "piped", patienceMs = 60_000) {
  const notices: string[] = [];
  const message = readMessage({ text, stdin, kind, patienceMs, notice: (line) => notices.push(line) });
  return { message, notices };
}
const piped = (...chunks: Array<string | Buffer>) => Readable.from(chunks.map((chunk) => Buffer.from(chunk)));

describe("the message of print mode", () => {
  it("is what is piped in, without the line break at its end", async () => {
    expect(await read(undefined, piped("one\n", "two\n\n")).message).toBe("one\ntwo");
  });

  it("is the text, a blank line and what is piped in", async () => {
    expect(await read("explain", piped("error: x\n")).message).toBe("explain\n\nerror: x");
  });

  it("is the text alone when nothing is piped in", async () => {
    expect(await read("explain", piped()).message).toBe("explain");
    expect(await read("explain", piped(" \n")).message).toBe("explain");
  });

  it("is nothing when there is neither", async () => {
    expect(await read(undefined, piped("\n")).message).toBeUndefined();
  });

  it("does not read a terminal", async () => {
    const stdin = new PassThrough();
    expect(await read("explain", stdin, "terminal").message).toBe("explain");
    expect(await read(undefined, stdin, "terminal").message).toBeUndefined();
  });

  it("tears no character that comes in two pieces, and survives what is not UTF-8", async () => {
    const euro = Buffer.from("€");
    expect(await read(undefined, piped(euro.subarray(0, 1), euro.subarray(1))).message).toBe("€");
    expect(await read(undefined, piped(Buffer.from([0x61, 0xff, 0x62]))).message).toBe("a\uFFFDb");
    expect(await read(undefined, piped("\uFEFFtext")).message).toBe("text");
  });

  it("has an end", async () => {
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(1024 * 1024, "y");
      })(),
    );
    await expect(read(undefined, endless).message).rejects.toMatchObject({ code: "USAGE" });
    expect(STDIN_BYTES_MAX).toBeLessThan(100 * 1024 * 1024);
  });

  it("says what it waits for, and waits: a slow command in front must not lose its output", async () => {
    const stdin = new PassThrough();
    const { message, notices } = read("explain", stdin, "piped", 1);
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        if (notices.length === 0) return;
        clearInterval(timer);
        resolve();
      }, 1);
    });
    expect(notices[0]).toContain("waiting for standard input");
    stdin.end("late\n");
    expect(await message).toBe("explain\n\nlate");
  });

  it("goes on without a socket that its starter left open and empty, when there is a text", async () => {
    const { message, notices } = read("explain", new PassThrough(), "socket", 1);
    expect(await message).toBe("explain");
    expect(notices[0]).toContain("going on without it");
  });

  it("reads a socket to its end once something came", async () => {
    const stdin = new PassThrough();
    stdin.write("one ");
    const { message, notices } = read("explain", stdin, "socket", 50);
    stdin.once("data", () => setImmediate(() => stdin.end("two")));
    expect(await message).toBe("explain\n\none two");
    expect(notices).toEqual([]);
  });

  it("says why an input cannot be read", async () => {
    const broken = new Readable({ read: () => broken.destroy(new Error("EISDIR: illegal operation")) });
    await expect(read("x", broken).message).rejects.toMatchObject({
      code: "USAGE",
      problem: expect.stringContaining("EISDIR"),
    });
  });
});
