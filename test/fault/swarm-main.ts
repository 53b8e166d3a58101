import { parseArgs } from "node:util";
import { swarm } from "./swarm.js";

// The program behind `npm run fault`.
const { values } = parseArgs({
  options: { seed: { type: "string" }, runs: { type: "string" }, seconds: { type: "string" } },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));
const runs = values.runs === undefined ? (values.seed === undefined ? undefined : 1) : Number(values.runs);
const ms = Number(values.seconds ?? (runs === undefined ? 60 : 3600)) * 1000;
console.log(`seed ${seed}`);
const report = await swarm(seed, { ...(runs === undefined ? {} : { runs }), ms });
if (report.failure === undefined) console.log(`${report.runs} runs, nothing lost`);
else {
  const { failure } = report;
  console.error(`${String(failure.error)}\n\n${failure.way.join("\n")}\n`);
  console.error(`run ${report.runs} failed; again with: npm run fault -- --seed ${failure.seed}`);
  process.exitCode = 1;
}
