import { stat } from "node:fs/promises";
import { z } from "zod";
import { defineTool } from "../agent/define-tool.js";
import { type Tool, ToolError } from "../agent/tool.js";
import { problemOf } from "../errors.js";
import { locate, notFound, shownPath, workingFolder } from "./paths.js";
import { type Match, SearchWorker } from "./search-worker.js";
import { walkFiles } from "./walk.js";

const MATCHES_MAX = 200;
const FILES_MAX = 50_000;
/** For all files together: a folder may be a whole disk. */
const SEARCH_MS_MAX = 60_000;
const FILES_PER_ROUND = 16;
/** For one round of files: enough for any pattern that does not backtrack without end. */
const ROUND_TIMEOUT_MS = 5000;

export function searchTool(roundTimeoutMs: number = ROUND_TIMEOUT_MS): Tool {
  return defineTool({
    name: "search",
    description:
      "Searches files for a JavaScript regular expression, line by line; (?i) at its start ignores case. Returns " +
      "path:line: text. Leaves out what .gitignore names, binary and very large files; does not follow links.",
    input: z.object({
      pattern: z.string().min(1).describe("A JavaScript regular expression"),
      path: z.string().min(1).optional().describe("A folder or a file (default: the working folder)"),
    }),
    whenUnknown: "run-again",
    access: async ({ path = ".", pattern }, { cwd }) => {
      const location = await locate(path, cwd);
      return { action: "read", inside: location.inside, subject: `search ${location.path} for ${pattern}` };
    },
    run: async ({ pattern, path = "." }, { cwd, signal }) => {
      const expression = expressionOf(pattern);
      const start = (await locate(path, cwd)).path;
      const stats = await stat(start).catch(() => undefined);
      if (stats === undefined) throw await notFound(start);
      const files = stats.isDirectory() ? walkFiles(start, signal) : oneFile(start, stats.isFile());
      const found = await searchFiles(files, expression, roundTimeoutMs, signal);
      return { text: report(found, await workingFolder(cwd)) };
    },
  });
}

async function* oneFile(path: string, isFile: boolean): AsyncGenerator<string> {
  if (!isFile) throw new ToolError(`${path} is no regular file (a device, pipe or socket)`);
  yield path;
}

function expressionOf(pattern: string): RegExp {
  const ignoreCase = pattern.startsWith("(?i)");
  const source = ignoreCase ? pattern.slice(4) : pattern;
  const flags = ignoreCase ? "i" : "";
  try {
    return new RegExp(source, `${flags}u`);
  } catch (error) {
    try {
      // The u flag refuses needless escapes that everyone writes (`\-`, `\"`).
      return new RegExp(source, flags);
    } catch {
      throw new ToolError(`the pattern is no regular expression (${problemOf(error)}); escape what is meant literally`);
    }
  }
}

interface Found {
  readonly matches: readonly Match[];
  readonly files: number;
  readonly skipped: number;
  readonly more: "no" | "matches" | "files";
}

async function searchFiles(
  files: AsyncIterable<string>,
  expression: RegExp,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Found> {
  const until = performance.now() + SEARCH_MS_MAX;
  const worker = new SearchWorker(expression);
  const matches: Match[] = [];
  let count = 0;
  let skipped = 0;
  const round = async (paths: readonly string[]): Promise<boolean> => {
    const matchesMax = MATCHES_MAX - matches.length;
    const result = await worker.search(paths, { matchesMax, timeoutMs, signal });
    if (result === undefined) {
      throw new ToolError(
        `the pattern takes too long (more than ${timeoutMs / 1000} s for ${paths.length} files, near ` +
          `${paths[0]}); use one without nested repetition`,
      );
    }
    matches.push(...result.matches);
    skipped += result.skipped;
    return result.full;
  };
  try {
    let paths: string[] = [];
    for await (const path of files) {
      if (count === FILES_MAX) return { matches, files: count, skipped, more: "files" };
      count += 1;
      paths.push(path);
      if (paths.length < FILES_PER_ROUND) continue;
      if (await round(paths)) return { matches, files: count, skipped, more: "matches" };
      if (performance.now() > until) return { matches, files: count, skipped, more: "files" };
      paths = [];
    }
    const full = paths.length > 0 && (await round(paths));
    return { matches, files: count, skipped, more: full ? "matches" : "no" };
  } finally {
    await worker.close();
  }
}

function report(found: Found, folder: string): string {
  const lines = found.matches.map(({ path, line, text }) => `${shownPath(path, folder)}:${line}: ${text}`);
  if (found.more === "matches") lines.push(`(more matches than ${MATCHES_MAX}: narrow the pattern or the path)`);
  if (found.more === "files") lines.push(`(only the first ${found.files} files were searched: narrow the path)`);
  if (found.matches.length === 0) lines.unshift(`(no match in ${found.files} ${found.files === 1 ? "file" : "files"})`);
  if (found.skipped > 0) lines.push(`(${found.skipped} binary, too large or unreadable files left out)`);
  return lines.join("\n");
}
