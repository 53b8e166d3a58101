import type { Tool } from "../agent/tool.js";
import { type BashOptions, bashTool } from "./bash.js";
import { editTool } from "./edit.js";
import { listTool } from "./list.js";
import { readTool } from "./read.js";
import { searchTool } from "./search.js";
import { writeTool } from "./write.js";

/** The tools of `chat`. `env` is the whole environment of commands: make it with `toolEnvironment`. */
export function builtinTools(options: BashOptions): Tool[] {
  return [bashTool(options), readTool(), writeTool(), editTool(), listTool(), searchTool()];
}
