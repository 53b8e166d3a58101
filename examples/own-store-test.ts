import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { storeConformance } from "perdure/testing";
import { JsonStore } from "./json-store.js";

async function makeStore() {
  const folder = await mkdtemp(join(tmpdir(), "json-store-"));
  return {
    store: new JsonStore(folder),
    reopen: async () => new JsonStore(folder), // as another process would find it
    cleanup: () => rm(folder, { recursive: true }),
  };
}

for (const { name, run } of storeConformance(makeStore)) it(name, run);
