import fs from "node:fs";
import path from "node:path";
import { hasCode } from "../errors.js";
import type { Disk } from "./disk.js";
import { examineMode, leftoverFile, unknownFile } from "./examine-files.js";
import type { Finding } from "./finding.js";
import { DELETED_PREFIX, NEW_PREFIX, stampPath } from "./layout.js";
import { probeLock } from "./lock-probe.js";
import { isStateId } from "./state-id.js";
import { stateUnreadable } from "./store-errors.js";

/** A conversation that is being made has its lock within milliseconds. */
const NEW_AGE_MS = 60_000;

/** The ids in a store's folder, and what lies beside them. Nothing is written. */
export async function examineRoot(disk: Disk, root: string): Promise<{ ids: string[]; findings: Finding[] }> {
  let items: Awaited<ReturnType<Disk["list"]>>;
  try {
    items = await disk.list(root);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return { ids: [], findings: [] };
    throw stateUnreadable(root, error);
  }
  const ids: string[] = [];
  const findings: Finding[] = [];
  for (const { name, isFolder } of items.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const at = path.join(root, name);
    if (isStateId(name) && isFolder !== false) ids.push(name);
    else if (at === stampPath(root)) findings.push(...examineMode(at));
    else if (name.startsWith(DELETED_PREFIX)) {
      findings.push(leftoverFile(at, "the rest of a conversation whose deletion was cut off; it is in no list"));
    } else if (name.startsWith(NEW_PREFIX)) {
      if (await isAbandoned(at)) {
        findings.push(leftoverFile(at, "a conversation whose first save was cut off; it was never acknowledged"));
      }
    } else findings.push(unknownFile(at));
  }
  return { ids, findings };
}

/** False when its maker may still live. */
async function isAbandoned(folder: string): Promise<boolean> {
  const lock = path.join(folder, "lock");
  try {
    if (!fs.existsSync(lock)) return Date.now() - fs.statSync(folder).mtimeMs > NEW_AGE_MS;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return false;
    throw error;
  }
  return (await probeLock(lock)).state === "free";
}
