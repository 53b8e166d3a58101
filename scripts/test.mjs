// `npm test`: build, format, lint, types, then every test, closing with one line that counts them.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const bin = (name) => join("node_modules", ".bin", name);
const step = (command, args) => {
  const { status, error } = spawnSync(command, args, { stdio: "inherit" });
  if (error) throw error;
  return status ?? 1;
};

for (const [command, ...args] of [
  [process.execPath, "scripts/build.mjs"],
  [bin("biome"), "check", "."],
  [bin("tsc"), "-p", "tsconfig.json"],
]) {
  const status = step(command, args);
  if (status !== 0) process.exit(status);
}

const folder = mkdtempSync(join(tmpdir(), "perdure-test-"));
const report = join(folder, "report.json");
try {
  const status = step(bin("vitest"), [
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  ]);
  if (!existsSync(report)) process.exit(status || 1);
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, numFailedTestSuites } = JSON.parse(
    readFileSync(report, "utf8"),
  );
  const failed = Math.max(numFailedTests, status !== 0 && numFailedTests === 0 ? numFailedTestSuites || 1 : 0);
  console.log(`\n${numPassedTests} passed, ${failed} failed, ${numPendingTests + numTodoTests} skipped`);
  process.exitCode = status;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
