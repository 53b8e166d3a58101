// Shared by the benches: quantiles, and whole processes timed in pairs so that a machine's drift hits both sides.
import { spawn } from "node:child_process";

export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

export const median = (values) => quantile(values, 0.5);

export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  const line = (row) => `| ${row.map((cell, column) => String(cell).padEnd(widths[column])).join(" | ")} |`;
  console.log(
    [line(rows[0]), `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...rows.slice(1).map(line)].join(
      "\n",
    ),
  );
}

/** Milliseconds from spawn to exit. */
export function timeProcess(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const child = spawn(command, args, { stdio: "ignore", ...options });
    child.once("error", reject);
    child.once("exit", () => resolve(Number(process.hrtime.bigint() - start) / 1e6));
  });
}
