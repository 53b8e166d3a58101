import { FileStore } from "../../src/store/file-store.js";
import type { Entry, Snapshot } from "../../src/store/store.js";

// A program that is killed: writes entries one save after the other, and prints the `seq` of each that was acknowledged.
const [root = "", id = "", from = "0"] = process.argv.slice(2);
const store = new FileStore(root);

function entry(seq: number): Entry {
  return {
    seq,
    at: "2026-01-02T03:04:05.678Z",
    kind: "user",
    turn: seq,
    text: `message ${seq} ${"€".repeat(seq % 50)}`,
  };
}

function snapshot(historyLength: number): Snapshot {
  return {
    task: "message 0 ",
    createdAt: "2026-01-02T03:04:05.678Z",
    historyLength,
    messageCount: historyLength,
    turn: 0,
  };
}

for (let seq = Number(from); ; seq++) {
  const saved = seq % 5 === 0 ? snapshot(seq + 1) : undefined;
  if (seq === 0) await store.write(id, [entry(0)], snapshot(1), { create: true });
  else await store.write(id, [entry(seq)], saved);
  process.stdout.write(`${seq}\n`);
}
