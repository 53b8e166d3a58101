import { hasCode } from "../errors.js";
import type { Disk } from "./disk.js";
import { removeDeleted, removeHalfMade } from "./leftovers.js";
import { listStates, type StampedState } from "./list-states.js";
import type { TakeLock } from "./lock.js";
import { Stamps } from "./stamps.js";
import { StateFiles } from "./state-files.js";
import { isStateId } from "./state-id.js";
import type { Entry, Snapshot } from "./store.js";
import { stateUnreadable } from "./store-errors.js";
import type { StoreParts } from "./store-parts.js";

const stores = new WeakMap<Disk, Map<string, SharedStore>>();

/** What all FileStores of one folder in this process have in common: so they never lock each other out. */
export class SharedStore implements StoreParts {
  readonly stamps: Stamps;
  private readonly open = new Map<string, StateFiles>();
  private tidied = false;

  static of(disk: Disk, root: string, takeLock: TakeLock): SharedStore {
    let ofDisk = stores.get(disk);
    if (ofDisk === undefined) {
      ofDisk = new Map();
      stores.set(disk, ofDisk);
    }
    let store = ofDisk.get(root);
    if (store === undefined) {
      store = new SharedStore(disk, root, takeLock);
      ofDisk.set(root, store);
    }
    return store;
  }

  private constructor(
    readonly disk: Disk,
    readonly root: string,
    readonly takeLock: TakeLock,
  ) {
    this.stamps = new Stamps(disk, root, async () => (await this.list())[0]?.stamp ?? 0);
  }

  files(id: string): StateFiles {
    let files = this.open.get(id);
    if (files === undefined) {
      files = new StateFiles(this, id);
      this.open.set(id, files);
    }
    return files;
  }

  async create(
    id: string,
    entries: readonly Entry[],
    snapshot: Snapshot | undefined,
    clock: () => number,
  ): Promise<void> {
    await this.files(id).create(entries, snapshot, clock);
    await this.tidy();
  }

  async unlock(id: string): Promise<void> {
    await this.open.get(id)?.unlock();
  }

  async delete(id: string): Promise<void> {
    await this.files(id).delete();
    this.tidied = false;
    await this.tidy();
  }

  async list(): Promise<StampedState[]> {
    const items = await this.items();
    await removeDeleted(this, namesOf(items));
    const ids = items.filter(({ name, isFolder }) => isFolder !== false && isStateId(name)).map(({ name }) => name);
    const rows = await listStates(this.disk, this.root, ids);
    this.stamps.see(rows[0]?.stamp ?? 0);
    return rows;
  }

  /**
   * Removes what dead processes left half-made or half-deleted: once in this process, and after a delete. Never rejects:
   * what it was called after is done, and what is left now harms nobody.
   */
  private async tidy(): Promise<void> {
    if (this.tidied) return;
    this.tidied = true;
    const names = namesOf(await this.items().catch(() => []));
    await removeDeleted(this, names);
    await removeHalfMade(this, names);
  }

  private async items(): ReturnType<Disk["list"]> {
    try {
      return await this.disk.list(this.root);
    } catch (error) {
      if (hasCode(error, "ENOENT")) return [];
      throw stateUnreadable(this.root, error);
    }
  }
}

function namesOf(items: Awaited<ReturnType<Disk["list"]>>): string[] {
  return items.map(({ name }) => name);
}
