import { z } from "zod";
import { defineTool } from "../agent/define-tool.js";
import { type Tool, ToolError } from "../agent/tool.js";
import { locate, notFound } from "./paths.js";
import { type LineWindow, readLines } from "./read-lines.js";
import { fileStats, openText } from "./text-file.js";

const LINES_MAX = 2000;

export function readTool(): Tool {
  return defineTool({
    name: "read",
    description:
      "Reads a text file. Returns its lines as they are; of a long file the first " +
      `${LINES_MAX} lines or the ones asked for, and how to read on.`,
    input: z.object({
      path: z.string().min(1).describe("Relative to the working folder, or absolute"),
      offset: z.number().int().min(1).optional().describe("The first line to read, counted from 1"),
      limit: z.number().int().min(1).optional().describe(`How many lines to read (default ${LINES_MAX})`),
    }),
    whenUnknown: "run-again",
    access: async ({ path }, { cwd }) => {
      const location = await locate(path, cwd);
      return { action: "read", inside: location.inside, subject: `read ${location.path}` };
    },
    run: async ({ path, offset = 1, limit = LINES_MAX }, context) => {
      const location = await locate(path, context.cwd);
      const stats = await fileStats(location.path);
      if (stats === undefined) throw await notFound(location.path);
      const file = await openText(location.path, stats);
      try {
        const window = await readLines(file, { offset, limit, signal: context.signal });
        return { text: shown(window, offset, location.path) };
      } finally {
        await file.close();
      }
    },
  });
}

function shown(window: LineWindow, offset: number, path: string): string {
  const { text, lineCount, more } = window;
  if (lineCount === 0) {
    if (offset === 1) return "(the file is empty)";
    throw new ToolError(`${path} ends before line ${offset}: it has ${window.linesSeen} lines`);
  }
  if (more === "none") return text;
  const last = offset + lineCount - 1;
  const end = text.endsWith("\n") ? "" : "\n";
  if (more === "line") {
    return `${text}${end}[… line ${last} is longer than this; bash can cut it, for example with cut -c]`;
  }
  return `${text}${end}[… lines ${offset} to ${last}; the file goes on: read on with offset ${last + 1}]`;
}
