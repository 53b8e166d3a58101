import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

// fast: in-process tests, part of `npm run check`. slow: real processes, terminals and packages.
const slow = ["test/e2e/**/*.test.ts", "test/docs/**/*.test.ts", "test/slow/**/*.test.ts"];

export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // On two cores Vitest would start one worker; these tests mostly wait for processes of their own.
    maxWorkers: Math.max(2, Math.min(4, availableParallelism())),
    projects: [
      { extends: true, test: { name: "fast", include: ["test/**/*.test.ts"], exclude: slow } },
      { extends: true, test: { name: "slow", include: slow, testTimeout: 60_000 } },
    ],
  },
});
