import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { State } from "../../src/agent/state.js";
import { FileStore } from "../../src/store/file-store.js";
import { nodeDisk } from "../../src/store/node-disk.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { noGapNoRepeat } from "./invariants.js";

const MESSAGE_BYTES = 10_000;
const folder = await mkdtemp(path.join(os.tmpdir(), "perdure-full-"));
const why = mountProblem();

afterAll(async () => {
  if (why === undefined) execFileSync("umount", ["-l", folder]);
  await rm(folder, { recursive: true, force: true });
});

/** Undefined when a file system of one megabyte is mounted now. */
function mountProblem(): string | undefined {
  if (process.platform !== "linux" || process.geteuid?.() !== 0) return "only root on Linux may mount one";
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", folder], { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return String(error).split("\n").slice(0, 2).join(" ");
  }
}

describe("a small file system that fills up", () => {
  if (why !== undefined) console.log(`skipped: no small file system to fill here (${why})`);

  it.skipIf(why !== undefined)(
    "keeps everything saved before, whole, at every moment; with space again everything missing is written",
    { timeout: 60_000 },
    async () => {
      const root = path.join(folder, "store");
      const store = new FileStore(root);
      const agent = new Agent({ model: new ScriptedModel([]), store });
      const state = new State("MARK-0", { id: "a" });
      await agent.save(state);
      const ballast = path.join(folder, "ballast");
      writeFileSync(ballast, Buffer.alloc(300_000));

      let failures = 0;
      for (let message = 1; failures < 50; message++) {
        state.addUserMessage(`MARK-${message} ${"x".repeat(MESSAGE_BYTES)}`);
        const error = await agent.save(state).catch((failure: unknown) => failure);
        if (error !== undefined) {
          failures++;
          expect(error).toMatchObject({ code: "ENOSPC", message: expect.stringContaining(root) });
        }
        await expectSaved(root, state);
      }
      expect(state.savedLength).toBeGreaterThan(20);
      expect(state.savedLength).toBeLessThan(state.history.length);
      await expectNewIsRefusedWhole(root);

      rmSync(ballast);
      state.addUserMessage("MARK-last");
      // What is missing is more than there is room for: as much as before, but nothing half.
      const stillFull = await agent.save(state).catch((failure: unknown) => failure);
      expect(stillFull).toMatchObject({ code: "ENOSPC" });
      await expectSaved(root, state);
      execFileSync("mount", ["-o", "remount,size=8m", folder]);
      await agent.save(state);
      await agent.release(state);
      expect(state.savedLength).toBe(state.history.length);
      await expectSaved(root, state);
      expect((await readdir(root)).sort()).toEqual([".stamp", "a"]);
      expect((await readdir(path.join(root, "a"))).sort()).toEqual(["lock", "log.jsonl", "snapshot.json"]);
    },
  );
});

/** What another process finds: all that was acknowledged, each line whole, the row and no temporary file. */
async function expectSaved(root: string, state: State): Promise<void> {
  const store = new FileStore(root, { disk: { ...nodeDisk } });
  const record = await store.read("a");
  expect(record).not.toHaveProperty("damage");
  expect(record?.entries).toEqual(JSON.parse(JSON.stringify(state.history.slice(0, state.savedLength))));
  if (record !== undefined) noGapNoRepeat(record, "a");
  for (const line of readFileSync(path.join(root, "a", "log.jsonl"), "utf8")
    .split("\n")
    .slice(0, -1))
    JSON.parse(line);
  JSON.parse(readFileSync(path.join(root, "a", "snapshot.json"), "utf8"));
  expect(await store.list()).toMatchObject([{ id: "a", historyLength: state.savedLength, task: "MARK-0" }]);
  expect((await readdir(path.join(root, "a"))).filter((name) => name.endsWith(".tmp"))).toEqual([]);
}

/** A new conversation on the full disk: an error with the path, and nothing of it. */
async function expectNewIsRefusedWhole(root: string): Promise<void> {
  const store = new FileStore(root);
  const entry = { seq: 0, at: "", kind: "user", turn: 1, text: "x".repeat(200_000) };
  const snapshot = { task: "new", createdAt: "", historyLength: 1 };
  await expect(store.write("new", [entry], snapshot, { create: true })).rejects.toMatchObject({ code: "ENOSPC" });
  expect((await readdir(root)).filter((name) => name.includes("new"))).toEqual([]);
  await mkdir(path.join(root, "probe")).then(() => rm(path.join(root, "probe"), { recursive: true }));
}
