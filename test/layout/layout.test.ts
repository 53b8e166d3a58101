import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** Which rooms a room may import from. Files directly in src/ without a row of their own belong to every room. */
const arrows: Record<string, readonly string[]> = {
  cli: ["repl", "session", "tools", "agent", "model", "runner", "store", "text"],
  repl: ["session", "text"],
  session: ["tools", "agent", "model", "runner", "store", "text"],
  tools: ["agent", "runner", "text"],
  agent: ["model", "store", "text"],
  model: ["text"],
  runner: ["text"],
  store: ["text"],
  text: [],
  testing: ["agent", "model", "store", "text"],
};
/** Types that a room's own contract mentions may be imported from below it. */
const typeArrows: Record<string, readonly string[]> = {
  repl: ["agent", "model", "store"],
};
const entryPoints = ["index", "testing"];

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? sourceFiles(path) : path.endsWith(".ts") ? [path] : [];
  });
}

function importsOf(text: string): Import[] {
  const found: Import[] = [];
  for (const match of text.matchAll(/^\s*(?:import|export)\s+(type\s)?[^;]*?from\s+"([^"]+)"/gm)) {
    if (match[2] !== undefined) found.push({ specifier: match[2], typeOnly: match[1] !== undefined });
  }
  for (const match of text.matchAll(/import\(\s*"([^"]+)"\s*\)|^\s*import\s+"([^"]+)"/gm)) {
    found.push({ specifier: match[1] ?? match[2] ?? "", typeOnly: false });
  }
  return found;
}

const room = (path: string) => {
  const [first = "", ...rest] = relative(join(root, "src"), path).split("/");
  return rest.length === 0 ? undefined : first;
};
const files = sourceFiles(join(root, "src")).map((path) => ({
  path,
  name: relative(root, path),
  text: readFileSync(path, "utf8"),
}));

describe("the layout of src/", () => {
  it("has arrows between rooms that go one way only", () => {
    const wrong: string[] = [];
    for (const file of files) {
      const from = room(file.path);
      if (from === undefined) continue;
      for (const { specifier, typeOnly } of importsOf(file.text)) {
        if (!specifier.startsWith(".")) continue;
        const target = resolve(dirname(file.path), specifier);
        const to = room(target);
        const base = relative(join(root, "src"), target).replace(/\.js$/, "");
        if (to === undefined && entryPoints.includes(base)) wrong.push(`${file.name} imports the entry point ${base}`);
        if (to === undefined || to === from) continue;
        const allowed = [...(arrows[from] ?? []), ...(typeOnly ? (typeArrows[from] ?? []) : [])];
        if (!allowed.includes(to)) wrong.push(`${file.name} imports ${specifier}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it("has a rule for every room", () => {
    const rooms = new Set(files.map((file) => room(file.path)).filter((name) => name !== undefined));
    expect([...rooms].filter((name) => !(name in arrows))).toEqual([]);
  });

  it("keeps disk, terminal, processes and the clock out of the agent", () => {
    const wrong = files
      .filter((file) => room(file.path) === "agent")
      .flatMap((file) => [
        ...importsOf(file.text)
          .filter(({ specifier }) => /^(node:)?(fs|child_process|readline|tty|net|os|process)/.test(specifier))
          .map(({ specifier }) => `${file.name} imports ${specifier}`),
        ...(/\bDate\.now\(|\bnew Date\(\)|\bprocess\./.test(file.text) && !file.name.endsWith("/clock.ts")
          ? [`${file.name} reads the clock or the process`]
          : []),
      ]);
    expect(wrong).toEqual([]);
  });

  it("loads nothing heavy before the prompt", () => {
    const heavy = /^(zod|ai|@ai-sdk\/|koffi|execa|@inquirer\/|marked|diff|tar|blessed|ignore)/;
    const wrong = files
      .filter((file) => ["cli", "repl", "session", "agent", "store"].includes(room(file.path) ?? ""))
      .flatMap((file) =>
        [...file.text.matchAll(/^import\s+(?!type\s)[^;]*?from\s+"([^"]+)"/gm)]
          .filter((match) => heavy.test(match[1] ?? "") && !file.text.includes("Loaded lazily"))
          .map((match) => `${file.name} imports ${match[1]}`),
      );
    expect(wrong).toEqual([]);
  });

  it("has small files: median under 150 lines, none over 400", () => {
    const lengths = files.map((file) => file.text.split("\n").length).sort((a, b) => a - b);
    expect(files.filter((file) => file.text.split("\n").length > 400).map((file) => file.name)).toEqual([]);
    expect(lengths[Math.floor(lengths.length / 2)] ?? 0).toBeLessThan(150);
  });

  it("has no `: any`, `as any` or `<any>` (Biome refuses the other forms and non-null assertions)", () => {
    const wrong = files.filter((file) => /:\s*any\b|\bas any\b|<any>/.test(file.text)).map((file) => file.name);
    expect(wrong).toEqual([]);
  });
});
