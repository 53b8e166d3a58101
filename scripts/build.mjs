// Builds dist/: the program as CommonJS bundles (they start faster than ESM ones on Node 20) and the library by tsc.
// Every module that src/ imports with `import()` becomes a bundle of its own, so the prompt loads none of it.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** Native: found in node_modules at run time. */
const nativePackages = new Set(["koffi"]);

const programOnly = process.argv.includes("--program");
// A build must not leave a half-new dist behind for a chat that starts meanwhile: bundles are replaced one by one.
mkdirSync(dist, { recursive: true });

/** @type {Map<string, string>} bundle name -> entry (a file, or a package name) */
const entries = new Map([["chat", join(root, "src/cli/main.ts")]]);

const lazyImports = {
  name: "lazy-imports",
  setup(plugin) {
    plugin.onResolve({ filter: /.*/ }, (args) => {
      if (args.kind !== "dynamic-import" || args.path.startsWith("node:")) return undefined;
      if (nativePackages.has(args.path)) return { path: args.path, external: true };
      const file = args.path.startsWith(".") ? resolve(args.resolveDir, args.path.replace(/\.js$/, ".ts")) : args.path;
      const name = (args.path.startsWith(".") ? relative(join(root, "src"), file).replace(/\.ts$/, "") : file).replace(
        /[^A-Za-z0-9-]+/g,
        "-",
      );
      entries.set(name, file);
      return { path: `./${name}.cjs`, external: true };
    });
  },
};

/**
 * Modules of Node that no start needs, and what src/ calls of them: loaded with the first call. `node:crypto` takes 7 ms,
 * `node:child_process` 2. A name that is not listed here fails the build.
 */
const lateModules = new Map([
  ["node:child_process", ["spawn"]],
  ["node:crypto", ["createHash", "randomBytes", "randomInt", "randomUUID"]],
]);

const lateNodeModules = {
  name: "late-node-modules",
  setup(plugin) {
    plugin.onResolve({ filter: /^node:/ }, ({ path, kind, importer }) => {
      const isOurs = kind === "import-statement" && importer.startsWith(join(root, "src"));
      return isOurs && lateModules.has(path) ? { path, namespace: "late" } : undefined;
    });
    plugin.onLoad({ filter: /.*/, namespace: "late" }, ({ path }) => ({
      contents: lateModules
        .get(path)
        .map((name) => `export const ${name} = (...args) => require("${path}").${name}(...args);`)
        .join("\n"),
    }));
  },
};

const built = new Set();
for (;;) {
  const next = [...entries].find(([name]) => !built.has(name));
  if (next === undefined) break;
  const [name, entry] = next;
  built.add(name);
  await build({
    ...(entry.startsWith("/") || /^[A-Z]:/i.test(entry)
      ? { entryPoints: [entry] }
      : { stdin: { contents: `export * from ${JSON.stringify(entry)};`, resolveDir: root } }),
    outfile: join(dist, `${name}.cjs`),
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    external: [...nativePackages],
    define: { PERDURE_VERSION: JSON.stringify(version), "import.meta.url": "__bundleUrl" },
    banner: { js: "const __bundleUrl=require('node:url').pathToFileURL(__filename).href;" },
    // import() becomes require(): no ESM loader is started, and default exports keep their meaning.
    supported: { "dynamic-import": false },
    plugins: [lazyImports, lateNodeModules],
    logLevel: "warning",
  });
}

if (!programOnly) {
  rmSync(join(dist, "lib"), { recursive: true, force: true });
  execFileSync(
    process.execPath,
    [join(root, "node_modules/typescript/bin/tsc"), "-p", join(root, "tsconfig.build.json")],
    { stdio: "inherit" },
  );
}
