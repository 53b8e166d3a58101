import path from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Adapter } from "lowdb";
import { hasCode, problemOf } from "../errors.js";
import type { JsonValue } from "../json.js";
import type { Disk } from "./disk.js";
import { randomName } from "./layout.js";
import { FORMAT, isFormat, isJsonObject, isStamp } from "./log-line.js";
import { reading, readRange } from "./read-file.js";
import type { Damage, Snapshot } from "./store.js";
import { naming, stateNewer, stateUnreadable } from "./store-errors.js";

/** What `snapshot.json` holds. Fields that we do not know are kept. */
export interface SnapshotDocument {
  readonly format: number;
  /** When it was written, see docs/format/log.md. */
  readonly stamp: number;
  /** The log's size and number of entries at that time. */
  readonly logBytes: number;
  readonly entries: number;
  readonly snapshot: Snapshot | undefined;
  readonly [field: string]: JsonValue | undefined | Snapshot;
}

export const noSnapshot: SnapshotDocument = { format: FORMAT, stamp: 0, logBytes: 0, entries: 0, snapshot: undefined };

const TEMP_SUFFIX = ".tmp";
const RENAME_RETRY_DELAYS_MS = [20, 60, 180];

/**
 * lowdb's adapter for a snapshot: a new file beside the old one, owner-only and synced, which then takes the old one's
 * name; so there is always a whole one. A link stays a link, its target is replaced.
 */
export class SnapshotAdapter implements Adapter<SnapshotDocument> {
  /** Set by `read` when there is a snapshot that cannot be used. */
  damage: Damage | undefined;

  constructor(
    private readonly disk: Disk,
    private readonly path: string,
  ) {}

  /** Null when there is none, or a damaged one (then `damage` says why). */
  async read(): Promise<SnapshotDocument | null> {
    this.damage = undefined;
    const text = await this.readText();
    if (text === undefined) return null;
    let value: JsonValue;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return this.damaged(text === "" ? "it is empty" : problemOf(error));
    }
    if (!isJsonObject(value)) return this.damaged("it is not a JSON object");
    if (isFormat(value.format) && value.format > FORMAT) throw stateNewer(this.path, value.format);
    const { format, stamp, logBytes, entries, snapshot } = value;
    if (!isFormat(format) || !isStamp(stamp)) return this.damaged("format or stamp are missing");
    if (!isCount(logBytes) || !isCount(entries)) return this.damaged("logBytes or entries are missing");
    if (!isSnapshot(snapshot)) return this.damaged("it holds no snapshot");
    return { ...value, format, stamp, logBytes, entries, snapshot };
  }

  /** Durable on return; after an error the old snapshot is there. */
  async write(document: SnapshotDocument): Promise<void> {
    await naming(this.path, async () => {
      const target = this.disk.realpath(this.path);
      if (this.damage !== undefined) await this.keepDamaged(target);
      const temp = `${target}.${randomName()}${TEMP_SUFFIX}`;
      try {
        await writeNewFile(this.disk, temp, encodeSnapshot(document));
        await this.takeName(temp, target);
      } catch (error) {
        await this.disk.remove(temp).catch(() => undefined);
        throw error;
      }
      await this.disk.syncFolder(path.dirname(target));
    });
  }

  /** A virus scanner, a backup or a synchronised folder may hold the old file for a moment. */
  private async takeName(temp: string, target: string): Promise<void> {
    for (const delayMs of RENAME_RETRY_DELAYS_MS) {
      try {
        return await this.disk.rename(temp, target);
      } catch (error) {
        if (!hasCode(error, "EBUSY", "EPERM", "EACCES")) throw error;
        await setTimeout(delayMs);
      }
    }
    await this.disk.rename(temp, target);
  }

  /** Removes what writers that died left beside the snapshot. Only under the conversation's lock. */
  async removeLeftovers(): Promise<void> {
    const target = this.disk.realpath(this.path);
    const folder = path.dirname(target);
    const prefix = `${path.basename(target)}.`;
    for (const { name } of await this.disk.list(folder)) {
      if (!name.startsWith(prefix) || !name.endsWith(TEMP_SUFFIX)) continue;
      await this.disk.remove(path.join(folder, name));
    }
  }

  private async readText(): Promise<string | undefined> {
    try {
      return await reading(this.disk, this.path, async (file) => {
        return (await readRange(file, 0, file.stat().sizeBytes)).toString("utf8");
      });
    } catch (error) {
      if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
      throw stateUnreadable(this.path, error);
    }
  }

  private damaged(problem: string): null {
    this.damage = { path: this.path, problem: `the snapshot is damaged and not used: ${problem}` };
    return null;
  }

  /** What we cannot read is never written over. */
  private async keepDamaged(target: string): Promise<void> {
    let number = 1;
    while (this.disk.stat(`${target}.damaged-${number}`) !== undefined) number++;
    await this.disk.rename(target, `${target}.damaged-${number}`);
    this.damage = undefined;
  }
}

export function encodeSnapshot(document: SnapshotDocument): Buffer {
  return Buffer.from(`${JSON.stringify(document)}\n`);
}

/** A new, owner-only, synced file. Its folder entry is durable after `syncFolder`. */
export async function writeNewFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const file = await disk.open(path, "create");
  try {
    await file.write(bytes, 0);
    await file.sync();
  } finally {
    await file.close();
  }
}

function isSnapshot(value: JsonValue | undefined): value is Snapshot & JsonValue {
  return (
    isJsonObject(value) &&
    typeof value.task === "string" &&
    (value.name === undefined || typeof value.name === "string") &&
    typeof value.createdAt === "string" &&
    isCount(value.historyLength)
  );
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
