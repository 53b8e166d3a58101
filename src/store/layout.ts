import { createHash, randomBytes } from "node:crypto";
import path from "node:path";
import { isStateId } from "./state-id.js";

/** Where things lie in a store's folder. Names that begin with a dot can never be a conversation's id. */
export const NEW_PREFIX = ".new-";
export const DELETED_PREFIX = ".deleted-";

export interface StatePaths {
  readonly folder: string;
  readonly log: string;
  readonly snapshot: string;
  readonly lock: string;
  readonly draft: string;
}

export function statePaths(root: string, id: string): StatePaths {
  return pathsIn(path.join(root, id));
}

export function pathsIn(folder: string): StatePaths {
  return {
    folder,
    log: path.join(folder, "log.jsonl"),
    snapshot: path.join(folder, "snapshot.json"),
    lock: path.join(folder, "lock"),
    draft: path.join(folder, "streaming"),
  };
}

/** Models choose the ids of calls: one that is not safe in a path is replaced by its hash. */
export function callOutputPath(root: string, id: string, callId: string): string {
  const name = isStateId(callId) ? callId : `~${createHash("sha256").update(callId).digest("hex").slice(0, 32)}`;
  return path.join(root, id, "calls", name, "output");
}

export function stampPath(root: string): string {
  return path.join(root, ".stamp");
}

export function newFolderPath(root: string, id: string): string {
  return path.join(root, `${NEW_PREFIX}${id}-${randomName()}`);
}

export function deletedFolderPath(root: string, id: string): string {
  return path.join(root, `${DELETED_PREFIX}${id}-${randomName()}`);
}

export function randomName(): string {
  return randomBytes(6).toString("hex");
}
