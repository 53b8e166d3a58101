import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, onTestFinished } from "vitest";

const here = path.dirname(fileURLToPath(import.meta.url));
// Inside the repository, so that the bundle finds its native packages.
const bundleFolder = path.join(here, "../../node_modules/.cache/perdure-test", randomBytes(6).toString("hex"));
let bundle: Promise<string> | undefined;
afterAll(() => rm(bundleFolder, { recursive: true, force: true }));

/** Another process with a FileStore of its own for the same folder. */
export class OtherProcess {
  private constructor(private readonly child: ChildProcess) {}

  static async start(root: string, clockOffsetMs = 0): Promise<OtherProcess> {
    bundle ??= makeBundle();
    const child = fork(await bundle, [root, String(clockOffsetMs)], { stdio: "inherit", serialization: "advanced" });
    onTestFinished(() => void child.kill("SIGKILL"));
    const other = new OtherProcess(child);
    await other.answer();
    return other;
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  /** Calls a method of its store, or `spawnSleep`. Resolves with what that returned; rejects with what was thrown. */
  async call(method: string, ...args: unknown[]): Promise<unknown> {
    const answer = this.answer();
    this.child.send({ method, args });
    const { value, error } = await answer;
    if (error !== undefined) throw Object.assign(new Error(error.message), error);
    return value;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill(signal);
    await ended;
  }

  private answer(): Promise<{ value?: unknown; error?: { message: string; code?: string } }> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error("the other process ended"));
      this.child.once("exit", onExit);
      this.child.once("message", (message: { value?: unknown; error?: { message: string } }) => {
        this.child.off("exit", onExit);
        resolve(message);
      });
    });
  }
}

async function makeBundle(): Promise<string> {
  await mkdir(bundleFolder, { recursive: true });
  const outfile = path.join(bundleFolder, "other-process.mjs");
  await build({
    entryPoints: [path.join(here, "other-process-main.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["koffi"],
    outfile,
    logLevel: "error",
  });
  return outfile;
}
