import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LocalRunner } from "../../src/runner/local-runner.js";
import { Workplace } from "../tools/setup.js";

const MEBIBYTE = 1024 * 1024;
let folder: string;
let calls = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-endless-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command and watches what this whole process takes of memory meanwhile. */
async function watched(command: string, timeoutMs: number) {
  let rssPeakBytes = 0;
  const watch = setInterval(() => {
    rssPeakBytes = Math.max(rssPeakBytes, process.memoryUsage.rss());
  }, 20);
  try {
    const spec = { command, cwd: folder, env: { PATH: process.env.PATH ?? "" }, timeoutMs, onOutput: () => {} };
    const output = { folder: join(folder, String(++calls)), outputBytesMax: 256 * MEBIBYTE };
    const result = await new LocalRunner().start(command, { ...spec, ...output }).done;
    return { result, rssPeakBytes };
  } finally {
    clearInterval(watch);
  }
}

describe("output without end", () => {
  it.each(["head -c 2G /dev/zero", "head -c 2G /dev/zero >&2"])("is counted, cut and capped: %s", async (command) => {
    const { result, rssPeakBytes } = await watched(command, 60_000);
    expect(result).toMatchObject({ exitCode: 0, totalBytes: 2048 * MEBIBYTE });
    expect(result.text).toContain(`[… ${result.omittedBytes.toLocaleString("en-US")} bytes left out …]`);
    expect(statSync(result.outputFile ?? "").size).toBe(256 * MEBIBYTE);
    expect(rssPeakBytes).toBeLessThan(400 * MEBIBYTE);
  });

  it("is not called whole when the file holds its beginning only", async () => {
    const place = new Workplace();
    try {
      const { text } = await place.run("bash", { command: "head -c 300000000 /dev/zero" });
      expect(text).toContain("(the first 268,435,456 bytes of 300,000,000 bytes of output: ");
    } finally {
      place.close();
    }
  });

  it("ends when its time is over: yes", async () => {
    const { result, rssPeakBytes } = await watched("yes", 2000);
    expect(result).toMatchObject({ timedOut: true, signal: "SIGTERM" });
    expect(result.text).toMatch(/^y\ny\n.*bytes left out.*\ny\n$/s);
    expect(rssPeakBytes).toBeLessThan(400 * MEBIBYTE);
  });
});
