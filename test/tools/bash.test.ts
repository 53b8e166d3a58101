import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HISTORY_BYTES_MAX } from "../../src/text/cut.js";
import { Workplace } from "./setup.js";

let place: Workplace;
beforeEach(() => {
  place = new Workplace();
});
afterEach(() => place.close());

describe("bash", () => {
  it("returns what the command printed, and shows it while it runs", async () => {
    expect(await place.run("bash", { command: "echo hello; pwd" })).toMatchObject({
      text: `hello\n${place.cwd}\n`,
      isError: false,
    });
    expect(place.output).toBe(`hello\n${place.cwd}\n`);
  });

  it("names the exit code when it is not 0", async () => {
    expect(await place.run("bash", { command: "echo no >&2; exit 7" })).toMatchObject({
      text: "no\n(exit code 7)",
      isError: true,
    });
  });

  it("says that there was no output", async () => {
    expect(await place.run("bash", { command: "true" })).toMatchObject({ text: "(no output)", isError: false });
  });

  it("tells commands which conversation they run in, and that there is no terminal", async () => {
    const { text } = await place.run("bash", { command: "echo $CHAT_CONVERSATION $TERM" });
    expect(text).toBe("conversation dumb\n");
  });

  it("says that the time was over and after how long", async () => {
    const result = await place.run("bash", { command: "echo begun; sleep 7777", timeoutMs: 300 });
    expect(result).toMatchObject({ isError: true });
    expect(result.text).toBe("begun\n(timed out after 300 ms: the command and everything it had started were ended)");
  });

  it("names the signal that ended the command", async () => {
    expect((await place.run("bash", { command: "kill -9 $$" })).text).toBe("(ended by SIGKILL)");
  });

  it("says what still runs in the background and leaves it alone", async () => {
    const { text, isError } = await place.run("bash", { command: "sleep 7777 & echo $!" });
    const pid = text.split("\n")[0];
    expect(text).toBe(`${pid}\n(1 background process still runs: pid ${pid})`);
    expect(isError).toBe(false);
    process.kill(Number(pid), 0);
  });

  it("cuts long output and names the file that holds all of it", async () => {
    const result = await place.run("bash", { command: "seq 1 200000; exit 2" });
    expect(Buffer.byteLength(result.text)).toBeLessThanOrEqual(HISTORY_BYTES_MAX);
    expect(result.text).toMatch(/^1\n2\n/);
    expect(result.text).toContain("\n200000\n(exit code 2)\n(whole output, 1,288,895 bytes: ");
    expect(result.omittedBytes).toBeGreaterThan(1_000_000);
    expect(readFileSync(result.outputFile ?? "").length).toBe(1_288_895);
  });

  it("ends the whole tree when the run is stopped", async () => {
    const stop = new AbortController();
    const script = "setsid sh -c 'echo $$ > pid; sleep 1; touch late' & sleep 7777";
    const run = place.run("bash", { command: script }, stop.signal);
    await vi.waitFor(() => expect(readFileSync(join(place.cwd, "pid"), "utf8")).toMatch(/\d+\n/));
    stop.abort(new Error("stopped"));
    expect(await run).toEqual({ text: "", isError: true });
    expect((await place.run("bash", { command: "ps -o stat= -p $(cat pid)" })).text).toMatch(
      /^(Z.*\n|\(exit code 1\))/,
    );
    expect(existsSync(join(place.cwd, "late"))).toBe(false);
  });

  it("does not start when the run is stopped before", async () => {
    const reason = new Error("stopped");
    await expect(place.run("bash", { command: "touch x" }, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(existsSync(join(place.cwd, "x"))).toBe(false);
  });

  it("says that the working folder is gone", async () => {
    rmSync(place.cwd, { recursive: true });
    await expect(place.run("bash", { command: "ls" })).rejects.toMatchObject({
      name: "ToolError",
      message: expect.stringContaining(`the working folder ${place.cwd} is gone`),
    });
  });

  it("refuses a command it cannot start", async () => {
    await expect(place.run("bash", { command: "echo a\0b" })).rejects.toMatchObject({ name: "ToolError" });
    await expect(place.run("bash", { command: `: ${"x".repeat(3_000_000)}` })).rejects.toMatchObject({
      name: "ToolError",
      message: expect.stringContaining("could not be started"),
    });
  });

  it.each([
    [{}, "command"],
    [{ command: 5 }, "command"],
    [{ command: "ls", timeoutMs: 0 }, "timeoutMs"],
    [{ command: "ls", timeoutMs: 3_600_001 }, "timeoutMs"],
  ])("refuses the input %j and names the field", async (input, field) => {
    await expect(place.run("bash", input)).rejects.toMatchObject({
      name: "ToolError",
      message: expect.stringContaining(field),
    });
  });

  it("is for a person to decide: the command as it is", async () => {
    expect(await place.access("bash", { command: "rm -r x" })).toEqual({
      action: "run",
      inside: false,
      subject: "rm -r x",
    });
  });
});
