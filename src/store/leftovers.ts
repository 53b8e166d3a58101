import path from "node:path";
import { removeHidden } from "./create-state.js";
import { DELETED_PREFIX, NEW_PREFIX } from "./layout.js";
import { isHeld } from "./lock.js";
import { noLock } from "./no-lock.js";
import type { StoreParts } from "./store-parts.js";

/** What a delete that was cut off left. It is out of the list already; failing to remove it now harms nobody. */
export async function removeDeleted({ disk, root }: StoreParts, names: readonly string[]): Promise<void> {
  for (const name of names) {
    if (name.startsWith(DELETED_PREFIX)) await removeHidden(disk, root, path.join(root, name)).catch(() => undefined);
  }
}

/** Conversations that a process died making: nobody holds their lock. Best effort. */
export async function removeHalfMade({ disk, root, takeLock }: StoreParts, names: readonly string[]): Promise<void> {
  // Without locks nobody can tell whether its maker lives.
  if (takeLock === noLock) return;
  for (const name of names) {
    if (!name.startsWith(NEW_PREFIX)) continue;
    const folder = path.join(root, name);
    try {
      // One without a lock file may be a moment old: then its maker finds this lock, and makes another one.
      const lock = await takeLock(path.join(folder, "lock"));
      if (!isHeld(lock)) continue;
      await removeHidden(disk, root, folder).finally(() => lock.release());
    } catch {
      // Whatever keeps it there: it is hidden, and the next process tries again.
    }
  }
}
