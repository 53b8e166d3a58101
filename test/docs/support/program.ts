import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { afterEach } from "vitest";
import type { ModelServer } from "../../support/model-server.js";
import { root } from "./markdown.js";

export const examplesFolder = join(root, "examples");

export function exampleNames(): string[] {
  return readdirSync(examplesFolder)
    .filter((name) => name.endsWith(".ts"))
    .sort();
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A project of somebody's own that has perdure installed, with the examples as its programs. */
export interface Project {
  readonly folder: string;
  /** Starts `node NAME.js ARGS`, for tests that end it themselves. */
  start(name: string, args?: readonly string[]): ChildProcessWithoutNullStreams;
  /** The same to its end. */
  run(name: string, options?: { args?: readonly string[]; input?: string }): Promise<Finished>;
}

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

export function createProject(server: ModelServer): Project {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "perdure-docs-")));
  folders.push(folder);
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules", "perdure"));
  symlinkSync(join(root, "node_modules", "zod"), join(folder, "node_modules", "zod"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "project", type: "module" }));
  for (const name of exampleNames()) {
    const { code } = transformSync(readFileSync(join(examplesFolder, name), "utf8"), {
      loader: "ts",
      format: "esm",
      target: "node20",
    });
    writeFileSync(join(folder, name.replace(/\.ts$/, ".js")), code);
  }
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    ANTHROPIC_API_KEY: "sk-example",
    ANTHROPIC_BASE_URL: server.url,
  };
  const start: Project["start"] = (name, args = []) =>
    spawn(process.execPath, [join(folder, `${name}.js`), ...args], { cwd: folder, env, stdio: "pipe" });
  return {
    folder,
    start,
    async run(name, { args = [], input = "" } = {}) {
      const child = start(name, args);
      const finished = finish(child);
      child.stdin.end(input);
      return finished;
    },
  };
}

export function finish(child: ChildProcessWithoutNullStreams): Promise<Finished> {
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (data: Buffer) => stdout.push(data));
  child.stderr.on("data", (data: Buffer) => stderr.push(data));
  child.stdin.on("error", () => undefined);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) =>
      resolve({ code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }),
    );
  });
}
