import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Tool, ToolAccess, ToolContext, ToolOutput } from "../../src/agent/tool.js";
import type { JsonObject } from "../../src/json.js";
import { LocalRunner } from "../../src/runner/local-runner.js";
import { builtinTools } from "../../src/tools/index.js";

/** A working folder, a folder beside it, and the tools as an agent calls them. */
export class Workplace {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "perdure-tools-")));
  readonly cwd = join(this.root, "work");
  readonly outside = join(this.root, "outside");
  readonly runner = new LocalRunner();
  readonly tools: readonly Tool[];
  output = "";
  #calls = 0;

  constructor() {
    mkdirSync(this.cwd);
    mkdirSync(this.outside);
    this.tools = builtinTools({ runner: this.runner, env: { PATH: process.env.PATH ?? "", TERM: "dumb" } });
  }

  file(path: string, content: string | Buffer): string {
    const absolute = join(this.cwd, path);
    mkdirSync(dirname(absolute), { recursive: true });
    writeFileSync(absolute, content);
    return absolute;
  }

  context(signal: AbortSignal = new AbortController().signal): ToolContext {
    this.#calls += 1;
    return {
      callId: `call_${this.#calls}`,
      stateId: "conversation",
      signal,
      cwd: this.cwd,
      onOutput: (chunk) => {
        this.output += chunk;
      },
      outputPath: join(this.root, "calls", `call_${this.#calls}`, "output"),
    };
  }

  async run(name: string, input: JsonObject, signal?: AbortSignal): Promise<ToolOutput> {
    const tool = this.#tool(name);
    return tool.run(tool.parse(input), this.context(signal));
  }

  async access(name: string, input: JsonObject): Promise<ToolAccess | undefined> {
    const tool = this.#tool(name);
    return tool.access?.(tool.parse(input), this.context());
  }

  async close(): Promise<void> {
    await this.runner.endAll(0);
    rmSync(this.root, { recursive: true, force: true });
  }

  #tool(name: string): Tool {
    const tool = this.tools.find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return tool;
  }
}
