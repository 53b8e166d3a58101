// What it costs to keep a reply while it streams: a turn of 5,000 pieces with a FileStore, and with the same store without
// `writeDraft`, in turn. As fast as they come, and in the pace of a model; there also how far the file is behind the screen.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, FileStore, State } from "../dist/lib/index.js";
import { median, quantile, table } from "./measure.mjs";

const pieces = 5000;
const now = () => Number(process.hrtime.bigint()) / 1e6;

function model(pieceMs) {
  return {
    name: "bench/model",
    async *stream() {
      const start = now();
      for (let index = 0; index < pieces; index += 1) {
        if (pieceMs > 0 && now() < start + index * pieceMs)
          await new Promise((resolve) => setTimeout(resolve, pieceMs));
        yield { type: "text", text: `word ${index} of the reply, ` };
      }
      yield { type: "finish", reason: "stop", usage: {} };
    },
  };
}

/** One turn: wall and CPU time, and the time from a piece on the screen to its bytes in the file. */
async function turn(root, pieceMs, keepsDrafts) {
  const store = new FileStore(root);
  const shown = [];
  const writes = [];
  const used = {
    key: store.key,
    write: (...given) => store.write(...given),
    read: (id) => store.read(id),
    lock: (id) => store.lock(id),
    unlock: (id) => store.unlock(id),
    ...(keepsDrafts && {
      async writeDraft(id, draft) {
        await store.writeDraft(id, draft);
        if (draft !== undefined) writes.push({ at: now(), length: draft.text.length });
      },
    }),
  };
  let length = 0;
  const onEvent = (event) => {
    if (event.type !== "text") return;
    length += event.text.length;
    shown.push({ at: now(), length });
  };
  const state = new State("go");
  const cpu = process.cpuUsage();
  const start = now();
  await new Agent({ model: model(pieceMs), store: used, onEvent }).run(state);
  const ms = now() - start;
  const { user, system } = process.cpuUsage(cpu);
  await store.unlock(state.id);
  const behind = [];
  for (const { at, length } of shown) {
    while (writes.length > 0 && writes[0].length < length) writes.shift();
    if (writes.length > 0) behind.push(writes[0].at - at);
  }
  return { ms, cpuMs: (user + system) / 1000, behind };
}

export async function run(rounds = 20) {
  const root = mkdtempSync(join(process.env.PERDURE_BENCH_DIR ?? tmpdir(), "perdure-bench-"));
  const rows = [["5,000 pieces", "turn ms", "without", "CPU ms", "without", "behind p50 ms", "p99", "max"]];
  try {
    for (const [name, pieceMs, count] of [
      ["as fast as they come", 0, rounds],
      ["one each 1 ms", 1, 4],
    ]) {
      const kept = [];
      const plain = [];
      for (let round = 0; round < count; round += 1) {
        // Whoever comes second is warmed up.
        for (const keeps of round % 2 === 0 ? [false, true] : [true, false])
          (keeps ? kept : plain).push(await turn(root, pieceMs, keeps));
      }
      const of = (list, field) => median(list.map((each) => each[field])).toFixed(0);
      const behind = kept.flatMap((each) => each.behind);
      const parts = pieceMs === 0 ? ["–", "–", "–"] : [0.5, 0.99, 1].map((q) => quantile(behind, q).toFixed(1));
      rows.push([name, of(kept, "ms"), of(plain, "ms"), of(kept, "cpuMs"), of(plain, "cpuMs"), ...parts]);
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  table(rows);
}
