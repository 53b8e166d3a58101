import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

export interface Page {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
}

export interface Block {
  readonly page: Page;
  /** 1-based line of the fence, or of the first line of an indented block. */
  readonly line: number;
  /** After the opening fence; `indented` for a block without a fence. */
  readonly language: string;
  readonly code: string;
}

export interface Link {
  readonly page: Page;
  readonly line: number;
  readonly text: string;
  readonly target: string;
}

/** README.md, AGENTS.md, CHANGELOG.md and everything under docs/. */
export function pages(): Page[] {
  const top = ["README.md", "AGENTS.md", "CHANGELOG.md"].map((name) => join(root, name));
  return [...top, ...markdownFiles(join(root, "docs"))].map(readPage);
}

export function page(path: string): Page {
  return readPage(join(root, path));
}

function readPage(file: string): Page {
  const text = readFileSync(file, "utf8");
  return { path: relative(root, file), text, lines: text.split("\n") };
}

function markdownFiles(folder: string): string[] {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const file = join(folder, name);
      if (statSync(file).isDirectory()) return markdownFiles(file);
      return name.endsWith(".md") ? [file] : [];
    });
}

/** Fenced and indented code blocks. */
export function blocksOf(page: Page): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; language: string; indent: string; code: string[] } | undefined;
  let fenced = false;
  const close = (): void => {
    if (open !== undefined) {
      const { line, language, code } = open;
      blocks.push({ page, line, language, code: code.join("\n").trimEnd() });
    }
    open = undefined;
    fenced = false;
  };
  for (const [index, line] of page.lines.entries()) {
    const fence = /^(\s*)```(\S*)/.exec(line);
    if (fenced) {
      if (fence !== null) close();
      else open?.code.push(line.slice(open.indent.length));
      continue;
    }
    if (fence !== null) {
      close();
      open = { line: index + 1, language: fence[2] ?? "", indent: fence[1] ?? "", code: [] };
      fenced = true;
    } else if (/^ {4}\S/.test(line) && (open !== undefined || page.lines[index - 1]?.trim() === "")) {
      open ??= { line: index + 1, language: "indented", indent: "    ", code: [] };
      open.code.push(line.slice(4));
    } else if (open !== undefined) {
      if (line.trim() === "" || line.startsWith("    ")) open.code.push(line.slice(4));
      else close();
    }
  }
  if (fenced) throw new Error(`${page.path}:${open?.line}: a fence that is not closed`);
  close();
  return blocks;
}

/** The page's lines with code blocks and `code` blanked out, so that their brackets are not taken for links. */
export function proseOf(page: Page): string[] {
  let fenced = false;
  return page.lines.map((line) => {
    if (/^\s*```/.test(line)) {
      fenced = !fenced;
      return "";
    }
    return fenced || /^ {4}\S/.test(line) ? "" : line;
  });
}

export function linksOf(page: Page): Link[] {
  return proseOf(page).flatMap((line, index) =>
    [...line.matchAll(/\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g)]
      .filter((match) => !insideCode(line, match.index))
      .map((match) => ({ page, line: index + 1, text: match[1] ?? "", target: match[2] ?? "" })),
  );
}

function insideCode(line: string, at: number): boolean {
  return [...line.matchAll(/`[^`]+`/g)].some((match) => match.index < at && at < match.index + match[0].length);
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(page: Page): Set<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const line of proseOf(page)) {
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
    if (heading === undefined) continue;
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = words.replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    anchors.add(times === 0 ? slug : `${slug}-${times}`);
  }
  return anchors;
}

export function where(found: Pick<Block | Link, "page" | "line">): string {
  return `${found.page.path}:${found.line}`;
}
