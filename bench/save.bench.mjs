// A save of a 1 KiB tool result (an append only) against write + fdatasync of the same bytes through node:fs, on a file of
// the same size, in turn. And the same with ever more entries before it.
import { closeSync, fdatasync, mkdtempSync, openSync, rmSync, statSync, write, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { FileStore } from "../dist/lib/index.js";
import { median, quantile, table } from "./measure.mjs";

const rawWrite = promisify(write);
const rawSync = promisify(fdatasync);
const entry = (seq) => ({
  seq,
  at: "2026-01-01T00:00:00.000Z",
  kind: "result",
  turn: 1,
  callId: `call_${seq}`,
  name: "bash",
  text: "x".repeat(880),
  isError: false,
  outcome: "ok",
});
const small = (seq) => ({ seq, at: "2026-01-01T00:00:00.000Z", kind: "user", turn: seq, text: "hello" });

export async function run(sizes = [10, 10_000, 1_000_000], saves = 400) {
  const folder = mkdtempSync(join(process.env.PERDURE_BENCH_DIR ?? tmpdir(), "perdure-bench-"));
  const rows = [["entries before", "save p50 ms", "raw p50 ms", "p50 ratio", "p99 ratio"]];
  try {
    for (const size of sizes) {
      const store = new FileStore(join(folder, `store-${size}`));
      const id = "bench";
      const snapshot = { task: "bench", createdAt: "2026-01-01T00:00:00.000Z", historyLength: size };
      const chunk = 20_000;
      for (let seq = 0; seq < size; seq += chunk) {
        const entries = Array.from({ length: Math.min(chunk, size - seq) }, (_, index) => small(seq + index));
        await store.write(id, entries, seq === 0 ? snapshot : undefined, { create: seq === 0 });
      }
      const rawPath = join(folder, `raw-${size}`);
      const raw = openSync(rawPath, "a", 0o600);
      const logBytes = statSync(join(folder, `store-${size}`, id, "log.jsonl")).size;
      for (let left = logBytes; left > 0; left -= 1 << 20) writeSync(raw, Buffer.alloc(Math.min(left, 1 << 20), 120));
      const ours = [];
      const theirs = [];
      for (let index = 0; index < saves; index++) {
        const bytes = Buffer.from(`${JSON.stringify(entry(size + index))}\n`);
        const rawFirst = index % 2 === 0;
        for (const side of rawFirst ? ["raw", "ours"] : ["ours", "raw"]) {
          const start = process.hrtime.bigint();
          if (side === "ours") await store.write(id, [entry(size + index)], undefined);
          else {
            await rawWrite(raw, bytes);
            await rawSync(raw);
          }
          (side === "ours" ? ours : theirs).push(Number(process.hrtime.bigint() - start) / 1e6);
        }
      }
      closeSync(raw);
      await store.unlock(id);
      const warm = (values) => values.slice(20);
      rows.push([
        size,
        median(warm(ours)).toFixed(3),
        median(warm(theirs)).toFixed(3),
        (median(warm(ours)) / median(warm(theirs))).toFixed(2),
        (quantile(warm(ours), 0.99) / quantile(warm(theirs), 0.99)).toFixed(2),
      ]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  table(rows);
}
