import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { describe, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { MemoryStore } from "../../src/testing/memory-store.js";
import { storeConformance } from "../../src/testing/store-kit.js";

describe("a FileStore", () => {
  const cases = storeConformance(async () => {
    const root = await mkdtemp(path.join(os.tmpdir(), "perdure-test-"));
    const store = new FileStore(path.join(root, "store"));
    return {
      store,
      async reopen() {
        // A copy, read through a store that shares nothing with the first.
        const { cp } = await import("node:fs/promises");
        const copy = path.join(root, "copy");
        await rm(copy, { recursive: true, force: true });
        await cp(path.join(root, "store"), copy, { recursive: true });
        return new FileStore(copy);
      },
      cleanup: () => rm(root, { recursive: true, force: true }),
    };
  });
  for (const { name, run } of cases) it(name, run);
});

describe("a MemoryStore", () => {
  const cases = storeConformance(async () => {
    const store = new MemoryStore();
    return { store, reopen: async () => store, cleanup: async () => undefined };
  });
  for (const { name, run } of cases) it(name, run);
});
