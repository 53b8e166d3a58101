import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

/** A folder of the test's own, removed when the test is finished. */
export async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "perdure-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
