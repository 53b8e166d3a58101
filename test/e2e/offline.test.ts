import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createHome } from "../support/chat.js";
import { asked, permit, quit, ready, say, talk } from "../support/conversation.js";

describe("without any key", () => {
  it("says in one line that the model is offline and how to set a real one", async () => {
    const chat = createHome(undefined).open();
    await ready(chat);
    const lines = chat.screen().split("\n");
    expect(lines.filter((line) => /offline/i.test(line) && /KEY|--model|-m /.test(line))).toHaveLength(1);
    await quit(chat);
  });

  it("runs a command with the real tool, once it is allowed", async () => {
    const home = createHome(undefined);
    const chat = home.open();
    await say(chat, "run echo MARK-$((40 + 2))");
    await asked(chat);
    expect(chat.screen()).not.toContain("MARK-42");
    await permit(chat, "y");
    await chat.waitFor("MARK-42");
    await quit(chat);
  });

  it("writes a file once it is allowed, and reads it without asking", async () => {
    const home = createHome(undefined);
    const chat = home.open();
    await say(chat, "write notes.txt: hello MARK-NOTE");
    await asked(chat);
    expect(existsSync(join(home.work, "notes.txt"))).toBe(false);
    await permit(chat, "y");
    await ready(chat);
    expect(readFileSync(join(home.work, "notes.txt"), "utf8").trim()).toBe("hello MARK-NOTE");
    writeFileSync(join(home.work, "other.txt"), "MARK-OTHER\n");
    await talk(chat, "read other.txt", "MARK-OTHER");
    await quit(chat);
  });

  it("resumes what was said", async () => {
    const home = createHome(undefined);
    const first = home.open();
    await say(first, "MARK-REMEMBER");
    await first.waitFor(/MARK-REMEMBER[\s\S]+\S/);
    await ready(first);
    await quit(first);
    const second = home.open(["--resume"]);
    await second.waitFor("MARK-REMEMBER");
    await quit(second);
  });

  it("refuses -p unless the offline model is asked for", async () => {
    const home = createHome(undefined);
    const refused = await home.run(["-p", "hello"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(/KEY/);
    expect(refused.stderr).not.toMatch(/\n\s+at /);
    const answered = await home.run(["-p", "hello", "-m", "offline"]);
    expect(answered.code).toBe(0);
    expect(answered.stdout.trim()).not.toBe("");
  });

  it("takes lines from a pipe as messages, and leaves with 0 at their end", async () => {
    const home = createHome(undefined);
    const finished = await home.run([], { input: "MARK-A\nMARK-B\n" });
    expect(finished.stderr).toContain("offline model");
    expect(finished.code).toBe(0);
    const [row] = await home.list();
    const shown = await home.run(["show", String(row?.id)]);
    expect(shown.stdout).toMatch(/MARK-A[\s\S]*MARK-B/);
  });
});
