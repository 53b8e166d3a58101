import { spawn } from "node:child_process";
import { codeOf } from "../../src/errors.js";
import { FileStore } from "../../src/store/file-store.js";

// The program that OtherProcess runs: does with its store what its parent says.
const [root = "", clockOffsetMs = "0"] = process.argv.slice(2);
const store = new FileStore(root, { clock: () => Date.now() + Number(clockOffsetMs) });

const methods: Record<string, (...args: never[]) => unknown> = {
  write: store.write.bind(store),
  read: store.read.bind(store),
  list: store.list.bind(store),
  delete: store.delete.bind(store),
  lock: store.lock.bind(store),
  unlock: store.unlock.bind(store),
  spawnSleep: () => spawn("sleep", ["60"], { detached: true, stdio: "ignore" }).pid,
};

process.on("message", async ({ method, args }: { method: string; args: never[] }) => {
  try {
    process.send?.({ value: (await methods[method]?.(...args)) ?? null });
  } catch (error) {
    process.send?.({ error: { message: String(error), code: codeOf(error) } });
  }
});
process.send?.({});
