import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { anchorsOf, type Link, linksOf, page, pages, root, where } from "./support/markdown.js";

const all = pages();
const links = all.flatMap(linksOf);
const isRelative = (link: Link): boolean => !/^[a-z]+:/i.test(link.target);

describe("a link of the documentation", () => {
  it("leads to a file that is there", () => {
    const dead = links.filter(isRelative).filter((link) => {
      const file = fileOf(link);
      return file !== "" && !existsSync(join(root, file));
    });
    expect(dead.map((link) => `${where(link)}: ${link.target}`)).toEqual([]);
    expect(links.length).toBeGreaterThan(20);
  });

  it("with an anchor leads to a heading that is there", () => {
    const dead = links.filter(isRelative).filter((link) => {
      const anchor = link.target.split("#")[1];
      if (anchor === undefined) return false;
      const file = fileOf(link);
      return !anchorsOf(all.find((each) => each.path === file) ?? page(file)).has(anchor);
    });
    expect(dead.map((link) => `${where(link)}: ${link.target}`)).toEqual([]);
  });

  it("to a test names a test of that file, or the file", () => {
    const wrong = links
      .filter((link) => isTest(link) && link.text !== basename(link.target))
      .filter((link) => !testNames(fileOf(link)).some((name) => matches(name, link)));
    expect(wrong.map((link) => `${where(link)}: no test "${link.text}" in ${link.target}`)).toEqual([]);
  });

  it("stands in every row of what survives and of when it saves", () => {
    for (const heading of ["## What survives", "## When it saves"]) {
      const readme = page("README.md");
      const start = readme.lines.indexOf(heading);
      expect(start, heading).toBeGreaterThan(-1);
      const rest = readme.lines.slice(start + 1);
      const end = rest.findIndex((line) => line.startsWith("## "));
      const rows = rest
        .slice(0, end)
        .map((line, index) => ({ line, number: start + 2 + index }))
        .filter(({ line }) => line.startsWith("| "));
      expect(rows.length, heading).toBeGreaterThan(4);
      const without = rows
        .slice(2)
        .filter(
          ({ number }) => !links.some((link) => link.page.path === "README.md" && link.line === number && isTest(link)),
        );
      expect(without.map(({ line }) => line)).toEqual([]);
    }
  });
});

describe("the index of the documentation", () => {
  it("names every page", () => {
    const named = links.filter((link) => link.page.path === join("docs", "README.md")).map(fileOf);
    const unnamed = all
      .map((each) => each.path)
      .filter((path) => path.startsWith("docs/") && path !== "docs/README.md" && !named.includes(path));
    expect(unnamed).toEqual([]);
  });
});

/** Relative to the repository; the page itself for an anchor alone. */
function fileOf(link: Link): string {
  const [path = ""] = link.target.split("#");
  if (path === "") return link.page.path;
  return relative(root, resolve(root, dirname(link.page.path), path));
}

function isTest(link: Link): boolean {
  return link.target.endsWith(".test.ts");
}

/** The names as they stand in the file. A part in `${}` or `%s` stands for anything. */
function testNames(file: string): string[] {
  const text = readFileSync(join(root, file), "utf8");
  const literals = [...text.matchAll(/\b(?:it|test)\((?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)/g)];
  const tables = [...text.matchAll(/^ *\]?\)\(\s*(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)/gm)];
  const inline = [...text.matchAll(/\.each(?:<[^(]*>)?\([^;{}]*?\)\(\s*"((?:[^"\\]|\\.)*)"/g)];
  return [...literals, ...tables, ...inline].map((match) => (match[1] ?? match[2] ?? "").replaceAll('\\"', '"'));
}

function matches(name: string, link: Link): boolean {
  const pattern = name
    .split(/\$\{[^}]*\}|%[sijo]|\$\w+/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join(".+");
  return pattern !== ".+" && new RegExp(`^${pattern}$`).test(link.text.replaceAll("`", ""));
}
