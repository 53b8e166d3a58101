import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { FileStore } from "../store/file-store.js";

type Calls = typeof import("../runner/end-calls.js");

/** The commands of a conversation that run under their runners, in this process or without any. */
export async function livingCommands(store: FileStore, id: string): Promise<string[]> {
  return (await withCalls(store, id, (calls, folder) => calls.livingCalls(folder)))?.map((call) => call.command) ?? [];
}

/** Ends them: nothing runs on in a folder that is deleted. */
export async function endCommands(store: FileStore, id: string): Promise<void> {
  await withCalls(store, id, (calls, folder) => calls.endCalls(folder));
}

async function withCalls<T>(
  store: FileStore,
  id: string,
  work: (calls: Calls, folder: string) => Promise<T>,
): Promise<T | undefined> {
  const folder = dirname(dirname(store.callPath(id, "call")));
  // Most conversations have none: nothing is loaded for them.
  return existsSync(folder) ? work(await import("../runner/end-calls.js"), folder) : undefined;
}
