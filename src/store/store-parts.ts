import type { Disk } from "./disk.js";
import type { TakeLock } from "./lock.js";
import type { Stamps } from "./stamps.js";

/** What all FileStores of one folder share in a process. */
export interface StoreParts {
  readonly root: string;
  readonly disk: Disk;
  readonly takeLock: TakeLock;
  readonly stamps: Stamps;
}
