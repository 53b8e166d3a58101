// `npm run bench [NAME…]`: what is measured, as ratios within one run. Nothing here passes or fails.
// Figures depend on the machine; the ratio against the raw limit measured beside them does much less.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const wanted = process.argv.slice(2);
const benches = readdirSync(folder)
  .filter((name) => name.endsWith(".bench.mjs"))
  .map((name) => name.slice(0, -".bench.mjs".length))
  .filter((name) => wanted.length === 0 || wanted.includes(name));

// Set by some machines for their own certificates: reading them costs more than the whole start that is measured.
delete process.env.NODE_EXTRA_CA_CERTS;
for (const name of benches) {
  console.log(`\n## ${name}\n`);
  const { run } = await import(join(folder, `${name}.bench.mjs`));
  await run();
}
