import { expect, it } from "vitest";
import { swarm } from "./swarm.js";

// More of it, and a failure again: `npm run fault -- --seed N`.
const BUDGET_MS = 4000;

it("long random runs on a disk that fails, forgets and fills up lose nothing that was acknowledged", {
  timeout: 60_000,
}, async () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const report = await swarm(seed, { ms: BUDGET_MS });
  const { failure } = report;
  if (failure !== undefined) {
    throw new Error(`npm run fault -- --seed ${failure.seed}\n${String(failure.error)}\n${failure.way.join("\n")}`);
  }
  expect(report.runs).toBeGreaterThan(0);
});
