import type { Stats } from "node:fs";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { defineTool } from "../agent/define-tool.js";
import type { Tool } from "../agent/tool.js";
import { unifiedDiff } from "./diff.js";
import { locate, shownPath, workingFolder } from "./paths.js";
import { fileStats, writeFileWhole } from "./text-file.js";
import { forgetIntent, keepIntent, recoverWrite } from "./write-intent.js";

/** Larger files are replaced without showing what changes. */
const DIFF_SOURCE_BYTES_MAX = 1024 * 1024;

export function writeTool(): Tool {
  return defineTool({
    name: "write",
    description:
      "Writes a text file as a whole: creates it, its folders too, or replaces what it held. Use edit to change a part.",
    input: z.object({
      path: z.string().min(1).describe("Relative to the working folder, or absolute"),
      content: z.string().describe("Everything the file is to hold"),
    }),
    access: async ({ path, content }, { cwd }) => {
      const location = await locate(path, cwd);
      const before = await fileStats(location.path);
      const what = before === undefined ? "create" : "overwrite";
      const diff = await changeOf(location.path, before, content);
      return { action: "write", inside: location.inside, subject: `${what} ${location.path}\n${diff}` };
    },
    run: async ({ path, content }, context) => {
      const { cwd, signal } = context;
      const location = await locate(path, cwd);
      const before = await fileStats(location.path);
      const bytes = Buffer.from(content);
      const name = shownPath(location.path, await workingFolder(cwd));
      const size = `${bytes.length.toLocaleString("en-US")} bytes`;
      const text =
        before === undefined
          ? `created ${name} (${size})`
          : `overwritten ${name} (${size}, ${before.size.toLocaleString("en-US")} before)`;
      await keepIntent(context, location.path, before, bytes, text);
      signal.throwIfAborted();
      await writeFileWhole(location.path, bytes, before);
      return { text };
    },
    recover: (_, context) => recoverWrite(context),
    settle: forgetIntent,
  });
}

async function changeOf(path: string, before: Stats | undefined, content: string): Promise<string> {
  if (before === undefined) return unifiedDiff(path, "", content);
  if (before.size > DIFF_SOURCE_BYTES_MAX) return `(${before.size.toLocaleString("en-US")} bytes are replaced)`;
  const old = await readFile(path).catch(() => undefined);
  if (old === undefined) return "(what it holds cannot be read)";
  if (old.includes(0)) return `(a binary file of ${old.length.toLocaleString("en-US")} bytes is replaced)`;
  return unifiedDiff(path, old.toString(), content);
}
