import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseArguments } from "../../src/cli/arguments.js";
import { problemOf } from "../../src/errors.js";
import { createHome } from "../support/chat.js";
import { type Block, blocksOf, pages, root, where } from "./support/markdown.js";
import { exampleNames, examplesFolder } from "./support/program.js";
import { type Command, commandsOf } from "./support/shell-words.js";

const blocks = pages().flatMap(blocksOf);
const of = (...languages: string[]): Block[] => blocks.filter((block) => languages.includes(block.language));

describe("a code block of the documentation", () => {
  it("says in which language it is, so that none goes unchecked", () => {
    const known = ["ts", "sh", "console", "json", "jsonl", "text", "indented"];
    expect(blocks.filter((block) => !known.includes(block.language)).map((block) => where(block))).toEqual([]);
    expect(blocks.length).toBeGreaterThan(20);
  });

  it("in TypeScript is a part of a file in examples/, word for word", () => {
    const examples = exampleNames().map((name) => readFileSync(join(examplesFolder, name), "utf8"));
    const missing = of("ts").filter((block) => !examples.some((example) => example.includes(block.code)));
    expect(missing.map((block) => `${where(block)}\n${block.code}`)).toEqual([]);
  });

  it("shows every file of examples/", () => {
    const unused = exampleNames().filter((name) => {
      const example = readFileSync(join(examplesFolder, name), "utf8");
      return !of("ts").some((block) => example.includes(block.code));
    });
    expect(unused).toEqual([]);
  });

  it("in JSON can be read", () => {
    const wrong: string[] = [];
    for (const block of of("json", "jsonl")) {
      try {
        jsonValues(block);
      } catch (error) {
        wrong.push(`${where(block)}: ${problemOf(error)}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it("of examples/, and each history entry in JSON, has the types of the package", () => {
    const entries = of("json", "jsonl").flatMap(entriesOf);
    expect(entries.length).toBeGreaterThan(0);
    const files = exampleNames().map((name) => join(examplesFolder, name));
    expect(typeErrors(entryProgram(entries), files)).toBe("");
  });

  it("with a history entry that the code would not write would be found", () => {
    const [block] = blocks;
    if (block === undefined) throw new Error("no block");
    const head = { seq: 0, at: "2026-11-29T10:00:00.000Z", turn: 1, kind: "user" };
    const wrong = [head, { ...head, text: 1 }, { ...head, text: "hello", model: "m" }];
    const errors = typeErrors(entryProgram(wrong.map((entry) => ({ block, entry }))), []);
    expect(errors.match(/error TS/g)).toHaveLength(wrong.length);
  });
});

/** Inside the repository, so that `perdure` is this package, as it is built, by its own name. */
function typeErrors(program: string, files: readonly string[]): string {
  const folder = mkdtempSync(join(root, ".docs-types-"));
  try {
    writeFileSync(join(folder, "entries.ts"), program);
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        extends: "../tsconfig.json",
        compilerOptions: { rootDir: ".." },
        files: ["entries.ts", ...files],
        include: [],
      }),
    );
    return outputOf(join(root, "node_modules", "typescript", "bin", "tsc"), ["-p", folder]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the program says when it fails; empty when it does not. */
function outputOf(program: string, args: readonly string[]): string {
  try {
    execFileSync(process.execPath, [program, ...args], { encoding: "utf8", stdio: "pipe" });
    return "";
  } catch (error) {
    return String(error instanceof Error && "stdout" in error ? error.stdout : error);
  }
}

/** One value, or one value a line as in a log. */
function jsonValues(block: Block): unknown[] {
  const lines = block.code.split("\n");
  const isLog = block.language === "jsonl" || lines.every((line) => line.startsWith("{") && line.endsWith("}"));
  return (isLog ? lines : [block.code]).map((text): unknown => JSON.parse(text));
}

function entriesOf(block: Block): Array<{ block: Block; entry: object }> {
  return jsonValues(block)
    .filter((value) => typeof value === "object" && value !== null)
    .filter((value) => "seq" in value && "kind" in value)
    .map((entry) => ({ block, entry }));
}

/** What the code writes is typed: an entry with a field too many, too few or of another type does not compile. */
function entryProgram(entries: ReadonlyArray<{ block: Block; entry: object }>): string {
  const lines = entries.map(
    ({ block, entry }) => `// ${where(block)}\n(${JSON.stringify(entry)}) satisfies EntryBody & InLog;`,
  );
  return [
    'import type { EntryBody } from "perdure";',
    "interface InLog { seq: number; at: string; turn: number; stamp?: number }",
    ...lines,
  ].join("\n");
}

interface Found {
  readonly block: Block;
  readonly command: Command;
}

/** In `console` a command stands behind `$ `; in `sh` and indented blocks it begins the line. */
function commandLines(block: Block): string[] {
  const lines = block.code.replaceAll("\\\n", " ").split("\n");
  if (block.language !== "console") return lines;
  return lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
}

const commands: Found[] = of("sh", "console", "indented").flatMap((block) =>
  commandLines(block)
    // Indented blocks hold other things too: a question on screen, a line of output.
    .filter((line) => block.language !== "indented" || /\b(chat|npm) |^(chat|npm)$/.test(line))
    .flatMap((line) => commandsOf(line).map((command) => ({ block, command }))),
);
const called = (name: string): Found[] => commands.filter(({ command }) => command.words[0] === name);

describe("a command of the documentation", () => {
  it("that calls chat is one that the program takes", () => {
    const wrong: string[] = [];
    for (const { block, command } of called("chat")) {
      try {
        parseArguments(command.words.slice(1));
      } catch (error) {
        wrong.push(`${where(block)}: ${command.words.join(" ")}: ${problemOf(error)}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(called("chat").length).toBeGreaterThan(20);
  });

  it("that calls npm runs a script of the package, or one of npm's own", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const own = ["ci", "install", "link", "uninstall"];
    const wrong = called("npm").filter(({ command: { words } }) => {
      const [, verb = "", script = ""] = words;
      if (verb === "run") return !Object.hasOwn(scripts, script);
      return !own.includes(verb) && !Object.hasOwn(scripts, verb);
    });
    expect(wrong.map(({ block, command }) => `${where(block)}: ${command.words.join(" ")}`)).toEqual([]);
    for (const { command } of called("npm")) {
      const end = command.words.indexOf("--");
      if (command.words[1] === "start" && end !== -1) parseArguments(command.words.slice(end + 1));
    }
  });

  it("that needs neither a terminal nor what a reader has of their own does its work", async () => {
    const runnable = new Map(
      called("chat")
        .filter(({ command }) => isRunnable(command.words.slice(1)))
        .map(({ block, command }) => [command.words.slice(1).join("\0"), where(block)]),
    );
    expect(runnable.size).toBeGreaterThan(2);
    const home = createHome(undefined);
    await home.run(["-p", "help", "-m", "offline"]);
    const failed: string[] = [];
    for (const [words, at] of runnable) {
      const finished = await home.run(words.split("\0"), { env: { CHAT_MODEL: "offline" }, input: "a piped line" });
      if (finished.code !== 0) failed.push(`${at}: chat ${words.replaceAll("\0", " ")}: ${finished.stderr}`);
    }
    expect(failed).toEqual([]);
  });
});

function isRunnable(words: readonly string[]): boolean {
  const args = parseArguments(words);
  if (args.command === "help" || args.command === "version" || args.command === "list") return true;
  if (args.command !== "chat" || !args.print) return false;
  const isLatest = args.start.kind === "new" || args.start.ref === undefined;
  const isOffline = args.model === undefined || args.model === "offline";
  return isLatest && isOffline && args.system?.startsWith("@") !== true && args.cwd === undefined;
}
