// `npm run fault [-- --seed N] [--runs M] [--seconds S]`: long random runs of the store on a disk that fails and forgets.
// Without a seed: another one each time, for a minute. A failure prints the seed that brings it back.
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = join(root, "node_modules", ".cache", "perdure-fault", String(process.pid));
const outfile = join(folder, "swarm-main.mjs");
mkdirSync(folder, { recursive: true });
try {
  await build({
    entryPoints: [join(root, "test", "fault", "swarm-main.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["koffi"],
    outfile,
    logLevel: "error",
  });
  await import(pathToFileURL(outfile).href);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
