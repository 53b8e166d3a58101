import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemPrompt } from "../../src/cli/system-prompt.js";
import { readSystemText, SYSTEM_BYTES_MAX } from "../../src/cli/system-text.js";
import { workingFolder } from "../../src/cli/working-folder.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-system-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("--system", () => {
  it("takes a text, the content of @FILE, and @@ for a text that starts with an @", async () => {
    const file = join(folder, "prompt.md");
    writeFileSync(file, "Be brief. €\n");
    expect(await readSystemText("Be kind.")).toBe("Be kind.");
    expect(await readSystemText(`@${file}`)).toBe("Be brief. €\n");
    expect(await readSystemText("@@home")).toBe("@home");
  });

  it.each([
    ["missing", undefined, "cannot be read"],
    ["empty", " \n", "is empty"],
    ["not text", Buffer.from([0xff, 0xfe, 0x00]), "not UTF-8"],
    ["too long", Buffer.alloc(SYSTEM_BYTES_MAX + 1, "x"), "too long"],
  ])("names a file that is %s", async (name, content, why) => {
    const file = join(folder, name);
    if (content !== undefined) writeFileSync(file, content);
    const error = readSystemText(`@${file}`);
    await expect(error).rejects.toMatchObject({ code: "USAGE", problem: expect.stringContaining(why) });
    await expect(error).rejects.toThrow(file);
  });

  it("names a folder, and a name that is missing", async () => {
    await expect(readSystemText(`@${folder}`)).rejects.toMatchObject({ code: "USAGE" });
    await expect(readSystemText("@")).rejects.toThrow("no name");
  });
});

describe("the system prompt", () => {
  const parts = { cwd: "/work", platform: "linux", tools: ["bash", "read"] };

  it("names the folder and the tools, and says what unknown results mean", () => {
    const prompt = systemPrompt(parts);
    expect(prompt).toMatch(/\/work[\s\S]*bash, read[\s\S]*\(unknown:[\s\S]*may not have run[\s\S]*check/);
    expect(prompt.length).toBeLessThan(2500);
  });

  it("promises no tools when there are none", () => {
    expect(systemPrompt({ ...parts, tools: [] })).toContain("no tools");
  });

  it("is the same at another time: a resumed conversation is not another agent's", () => {
    expect(systemPrompt(parts)).toBe(systemPrompt({ ...parts }));
    expect(systemPrompt(parts)).not.toMatch(/\b20\d\d\b/);
  });
});

describe("the working folder", () => {
  it("is the current one, or the one of --cwd", () => {
    expect(workingFolder(undefined, folder)).toEqual({ cwd: process.cwd(), notice: undefined });
    expect(workingFolder(folder, undefined)).toEqual({ cwd: folder, notice: undefined });
    expect(workingFolder("src", undefined).cwd).toBe(join(process.cwd(), "src"));
  });

  it("must be there", () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    for (const path of [join(folder, "nosuch"), file]) {
      expect(() => workingFolder(path, undefined)).toThrow(expect.objectContaining({ code: "USAGE" }));
    }
  });
});
