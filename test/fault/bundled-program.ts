import { randomBytes } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll } from "vitest";

const here = path.dirname(fileURLToPath(import.meta.url));
// Inside the repository, so that the bundle finds its native packages.
const folder = path.join(here, "../../node_modules/.cache/perdure-test", randomBytes(6).toString("hex"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A program of this folder that another process can run: the path of its bundle, removed after the tests of the file. */
export async function bundledProgram(name: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const outfile = path.join(folder, `${name}.mjs`);
  await build({
    entryPoints: [path.join(here, `${name}.ts`)],
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["koffi"],
    outfile,
    logLevel: "error",
  });
  return outfile;
}
