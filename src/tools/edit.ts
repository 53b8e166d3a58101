import { readFile } from "node:fs/promises";
import { z } from "zod";
import { defineTool } from "../agent/define-tool.js";
import { type Tool, ToolError } from "../agent/tool.js";
import { unifiedDiff } from "./diff.js";
import { applyEdit, type Edit } from "./edit-match.js";
import { type Location, locate, notFound, shownPath, toolError, workingFolder } from "./paths.js";
import { fileStats, openText, writeFileWhole } from "./text-file.js";
import { forgetIntent, keepIntent, recoverWrite } from "./write-intent.js";

const FILE_BYTES_MAX = 16 * 1024 * 1024;

export function editTool(): Tool {
  return defineTool({
    name: "edit",
    description:
      "Replaces a text in a file by another. The text must be in the file exactly as given, and once only unless " +
      "replaceAll is set. Read the file first.",
    input: z.object({
      path: z.string().min(1).describe("Relative to the working folder, or absolute"),
      oldText: z.string().describe("The text to replace, exactly as it is in the file, white space included"),
      newText: z.string().describe("What takes its place"),
      replaceAll: z.boolean().optional().describe("Replace every place (default false)"),
    }),
    access: async (input, { cwd }) => {
      const { location, name, before, after } = await plan(input, cwd);
      const subject = `edit ${location.path}\n${unifiedDiff(name, before.toString(), after.toString())}`;
      return { action: "write", inside: location.inside, subject };
    },
    run: async (input, context) => {
      const { location, name, before, after, places, stats } = await plan(input, context.cwd);
      const count = places === 1 ? "1 place" : `${places} places`;
      const text = `edited ${name} (${count})\n${unifiedDiff(name, before.toString(), after.toString())}`;
      await keepIntent(context, location.path, stats, after, text);
      context.signal.throwIfAborted();
      await writeFileWhole(location.path, after, stats);
      return { text };
    },
    recover: (_, context) => recoverWrite(context),
    settle: forgetIntent,
  });
}

type EditInput = Omit<Edit, "replaceAll"> & { readonly path: string; readonly replaceAll?: boolean | undefined };

/** Everything short of writing. Throws the ToolError that says why the edit cannot be made. */
async function plan(input: EditInput, cwd: string) {
  if (input.oldText === "") throw new ToolError("oldText is empty; use write to create or replace a file");
  if (input.oldText === input.newText) throw new ToolError("oldText and newText are the same: nothing would change");
  const location: Location = await locate(input.path, cwd);
  const stats = await fileStats(location.path);
  if (stats === undefined) throw await notFound(location.path);
  if (stats.size > FILE_BYTES_MAX) {
    throw new ToolError(`${location.path} is too large to edit (${stats.size.toLocaleString("en-US")} bytes)`);
  }
  await (await openText(location.path, stats)).close();
  const before = await readFile(location.path).catch((error: unknown) => {
    throw toolError(`${location.path} cannot be read`, error);
  });
  const edit: Edit = { oldText: input.oldText, newText: input.newText, replaceAll: input.replaceAll ?? false };
  const { content: after, places } = applyEdit(before, edit);
  const name = shownPath(location.path, await workingFolder(cwd));
  return { location, name, before, after, places, stats };
}
