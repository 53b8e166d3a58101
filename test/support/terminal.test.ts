import { afterEach, describe, expect, it } from "vitest";
import { openTerminal, type Terminal } from "./terminal.js";

const open: Terminal[] = [];
afterEach(() => {
  for (const terminal of open.splice(0)) terminal.kill("SIGKILL");
});

function sh(script: string, size: { columns?: number; rows?: number } = {}): Terminal {
  const env = { PATH: process.env.PATH ?? "", LANG: "C.UTF-8" };
  const terminal = openTerminal({ file: "/bin/sh", args: ["-c", script], env, cwd: "/", ...size });
  open.push(terminal);
  return terminal;
}

describe("a program in the test's terminal", () => {
  it("shows what it draws, also beyond the screen, with wrapped lines joined", async () => {
    const terminal = sh("printf 'first\\n'; seq 1 50; printf '%s\\n' abcdefghijklmnopqrstuvwxyz", {
      columns: 20,
      rows: 5,
    });
    expect(await terminal.exit).toEqual({ code: 0, signal: undefined, status: 0 });
    expect(terminal.screen()).toMatch(/^first\n1\n2\n/);
    expect(terminal.screen()).toMatch(/50\nabcdefghijklmnopqrstuvwxyz$/);
    expect(terminal.raw.toString()).toContain("first\r\n");
  });

  it("gets what is typed, and its size", async () => {
    const terminal = sh('read line; echo "got $line"; stty size; cat', { columns: 90, rows: 20 });
    terminal.type("hello");
    terminal.key("enter");
    await terminal.waitFor("got hello");
    await terminal.waitFor("20 90");
    terminal.key("ctrl-d");
    expect((await terminal.exit).code).toBe(0);
  });

  it("says how it ended", async () => {
    expect((await sh("exit 7").exit).status).toBe(7);
    const killed = sh("echo up; exec sleep 60");
    await killed.waitFor("up");
    killed.kill("SIGTERM");
    expect(await killed.exit).toMatchObject({ signal: 15, status: 143 });
  });

  it("is told by the kernel alone when the terminal is closed", async () => {
    const terminal = sh("n=0; trap 'n=$((n+1))' HUP; echo up; while [ $n -eq 0 ]; do sleep 0.05; done; exit $n");
    await terminal.waitFor("up");
    terminal.hangUp();
    expect((await terminal.exit).status).toBe(1);
  });

  it("fails with the screen when the wanted text does not come", async () => {
    const terminal = sh("echo something else; exec sleep 60");
    await terminal.waitFor("something");
    await expect(terminal.waitFor("nothing", 10)).rejects.toThrow(/nothing[\s\S]*something else/);
    const ended = sh("echo bye; exit 3");
    await expect(ended.waitFor("nothing")).rejects.toThrow(/ended \(3\)[\s\S]*bye/);
  });
});
