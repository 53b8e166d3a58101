import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { bundledProgram } from "./bundled-program.js";

const KILLS = 12;

/** Starts a writer, kills it with SIGKILL once it has acknowledged so many saves, and says which. */
async function killAfter(program: string, root: string, from: number, count: number): Promise<number[]> {
  const child = spawn(process.execPath, [program, root, "a", String(from)], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const acknowledged: number[] = [];
  const ended = once(child, "close");
  for await (const line of createInterface(child.stdout)) {
    acknowledged.push(Number(line));
    // What comes until it is dead counts too: it was said before.
    if (acknowledged.length === count) child.kill("SIGKILL");
  }
  await ended;
  expect(child.signalCode).toBe("SIGKILL");
  return acknowledged;
}

describe("a process that is killed while it saves", () => {
  it("leaves everything it had acknowledged, and the next one goes on at once, again and again", {
    timeout: 60_000,
  }, async () => {
    const program = await bundledProgram("killed-writer-main");
    const root = await tempFolder();
    let length = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const acknowledged = await killAfter(program, root, length, 3 + kill * 2);
      expect(acknowledged.length).toBeGreaterThanOrEqual(3 + kill * 2);
      const store = new FileStore(root);
      const record = await store.read("a");
      const seqs = record?.entries.map(({ seq }) => seq) ?? [];
      expect(seqs).toEqual(seqs.map((_, index) => index));
      expect(seqs.length).toBeGreaterThan(acknowledged.at(-1) ?? 0);
      const [row] = await store.list();
      expect(row).toMatchObject({ id: "a", historyLength: seqs.length, snapshot: { messageCount: seqs.length } });
      expect(row).not.toHaveProperty("problem");
      // What an unfinished write left, if anything, is set aside by the next writer, who finds the lock free.
      await store.lock("a");
      await store.unlock("a");
      length = seqs.length;
    }
    expect(length).toBeGreaterThan(KILLS * 3);
  });
});
