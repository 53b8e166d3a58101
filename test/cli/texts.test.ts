import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { TOOL_NAMES } from "../../src/cli/arguments.js";
import { errorText } from "../../src/cli/error-text.js";
import { HELP_TEXT } from "../../src/cli/help-text.js";
import { version } from "../../src/cli/version.js";
import { PerdureError } from "../../src/errors.js";
import { providerNames } from "../../src/model/default-models.js";
import { builtinTools } from "../../src/tools/index.js";

describe("--version", () => {
  it("is the package's", () => {
    expect(version()).toBe(JSON.parse(readFileSync("package.json", "utf8")).version);
  });
});

describe("--help", () => {
  it("names every option, subcommand, provider and tool", () => {
    const options = [
      "resume",
      "continue",
      "print",
      "output-format",
      "model",
      "base-url",
      "name",
      "system",
      "store",
      "cwd",
    ];
    const permissions = [
      "yes",
      "allow",
      "deny",
      "read-only",
      "no-tools",
      "wait",
      "json",
      "fork",
      "follow",
      "repair",
      "no-lock",
      "version",
      "help",
    ];
    for (const option of [...options, ...permissions]) expect(HELP_TEXT).toContain(`--${option}`);
    for (const word of [
      "list",
      "show ID",
      "rename ID TEXT",
      "delete ID...",
      "doctor [ID]",
      ...providerNames,
      ...TOOL_NAMES,
    ]) {
      expect(HELP_TEXT).toContain(word);
    }
  });

  it("fits a terminal of 90 columns", () => {
    expect(Math.max(...HELP_TEXT.split("\n").map((line) => line.length))).toBeLessThanOrEqual(90);
  });
});

describe("--allow and --deny", () => {
  it("know the tools there are", () => {
    const runner = { start: () => Promise.reject(new Error("not run")) } as never;
    const tools = builtinTools({ runner, env: {} });
    expect(tools.map(({ name }) => name).sort()).toEqual([...TOOL_NAMES].sort());
  });
});

describe("an error", () => {
  it("is told with its fix and its example, off the terminal's controls", () => {
    const error = new PerdureError({ code: "X", problem: "no \u001b[2Jx", fix: "do this", example: "chat" });
    expect(errorText(error)).toBe("chat: no x\nFix: do this\nExample: chat");
  });

  it("of another kind is told in one line, without a stack", () => {
    expect(errorText(new TypeError("it broke\n    at somewhere"))).toBe("chat: it broke");
    expect(errorText(new TypeError())).toBe("chat: TypeError");
    expect(errorText("text")).toBe("chat: text");
  });
});
