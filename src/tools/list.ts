import type { Dirent } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { defineTool } from "../agent/define-tool.js";
import { type Tool, ToolError } from "../agent/tool.js";
import { hasCode } from "../errors.js";
import { IgnoreRules } from "./gitignore.js";
import { locate, notFound, toolError } from "./paths.js";

const ENTRIES_MAX = 1000;

export function listTool(): Tool {
  return defineTool({
    name: "list",
    description:
      "Lists what is in a folder: folders first (name/), then files with their size in bytes. " +
      "What .gitignore leaves out is not listed, only counted.",
    input: z.object({
      path: z.string().min(1).optional().describe("The folder (default: the working folder)"),
    }),
    whenUnknown: "run-again",
    access: async ({ path = "." }, { cwd }) => {
      const location = await locate(path, cwd);
      return { action: "read", inside: location.inside, subject: `list ${location.path}` };
    },
    run: async ({ path = "." }, { cwd, signal }) => {
      const folder = (await locate(path, cwd)).path;
      const entries = await entriesOf(folder);
      const rules = await IgnoreRules.forFolder(folder);
      const kept = entries.filter((entry) => !rules.ignores(join(folder, entry.name), entry.isDirectory()));
      kept.sort(byKindAndName);
      const lines: string[] = [];
      for (const entry of kept.slice(0, ENTRIES_MAX)) {
        signal.throwIfAborted();
        lines.push(await lineOf(folder, entry));
      }
      if (kept.length > ENTRIES_MAX) lines.push(`(and ${kept.length - ENTRIES_MAX} more)`);
      const ignored = entries.length - kept.length;
      if (ignored > 0) lines.push(`(${ignored} ignored by .gitignore)`);
      return { text: lines.length === 0 ? "(the folder is empty)" : lines.join("\n") };
    },
  });
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (hasCode(error, "ENOENT")) throw await notFound(folder);
    if (hasCode(error, "ENOTDIR")) throw new ToolError(`${folder} is a file; the tool read shows what is in it`);
    throw toolError(`${folder} cannot be listed`, error);
  }
}

function byKindAndName(a: Dirent, b: Dirent): number {
  const kind = Number(b.isDirectory()) - Number(a.isDirectory());
  return kind === 0 ? (a.name < b.name ? -1 : 1) : kind;
}

/** A name may hold a line break: one entry stays one line. */
async function lineOf(folder: string, entry: Dirent): Promise<string> {
  const name = entry.name.replace(/[\n\r]/g, "\uFFFD");
  const path = join(folder, entry.name);
  if (entry.isDirectory()) return `${name}/`;
  if (entry.isSymbolicLink()) return `${name} -> ${await readlink(path).catch(() => "?")}`;
  if (!entry.isFile()) return `${name} (a device, pipe or socket)`;
  const size = await lstat(path).then(
    (stats) => stats.size.toLocaleString("en-US"),
    () => "?",
  );
  return `${name}  ${size}`;
}
