import path from "node:path";
import type { Adapter } from "lowdb";
import type { Disk, DiskFile } from "./disk.js";
import { readHeader, readingLog, readLog } from "./log-file.js";
import { encodeEntries, parseLine } from "./log-line.js";
import { readRange } from "./read-file.js";
import type { SnapshotDocument } from "./snapshot-adapter.js";
import type { Damage, Entry } from "./store.js";
import { naming, stateChangedOutside } from "./store-errors.js";

/** What a read gave, or what the next write appends. */
export interface LogDocument {
  entries: readonly Entry[];
  /** The highest stamp that was read, or the stamp of this write. */
  stamp: number;
  damage: readonly Damage[];
}

export const emptyLog: LogDocument = { entries: [], stamp: 0, damage: [] };

const SINCE_SNAPSHOT_BYTES_MAX = 8 << 20;

/** Where a log ends: what a writer must know of it. */
interface LogEnd {
  readonly seqNext: number;
  readonly stamp: number;
  readonly wholeBytes: number;
  readonly sizeBytes: number;
  readonly needsNewline: boolean;
}

/**
 * lowdb's adapter for a log: a write appends what is new and syncs it, instead of writing everything again.
 *
 * The file never gets bytes after a half-written record: after any failed write it is cut back to the size that the disk
 * acknowledged last, before anything else is written; a tail that was cut off before we came is set aside. Sizes and
 * `seqNext` change only after the disk said yes.
 */
export class LogAdapter implements Adapter<LogDocument> {
  private file: DiskFile | undefined;
  private identity = "";
  private end: LogEnd = { seqNext: 0, stamp: 0, wholeBytes: 0, sizeBytes: 0, needsNewline: false };
  /** What the last read found, to save the next opening a look at the file. */
  private lastRead: { end: LogEnd; version: string } | undefined;
  private ackedBytes = 0;
  /** How much of a write that is under way, or that failed, may be in the file after `ackedBytes`. */
  private unackedBytes = 0;

  constructor(
    private readonly disk: Disk,
    private readonly path: string,
    private readonly id: string,
  ) {}

  /** The position of the next entry. Known when the log is open. */
  get seqNext(): number {
    return this.end.seqNext;
  }

  get sizeBytes(): number {
    return this.ackedBytes;
  }

  get stamp(): number {
    return this.end.stamp;
  }

  async read(): Promise<LogDocument> {
    const asidePath = () => this.asidePath();
    const options = this.unackedBytes > 0 ? { limitBytes: this.ackedBytes, asidePath } : { asidePath };
    const contents = await readLog(this.disk, this.path, this.id, options);
    const { entries, damage, version, seqNext, stamp, wholeBytes, sizeBytes, needsNewline } = contents;
    // One that stopped before the file's end does not know where that is.
    const isWhole = !("limitBytes" in options);
    this.lastRead = isWhole ? { end: { seqNext, stamp, wholeBytes, sizeBytes, needsNewline }, version } : undefined;
    return { entries, stamp, damage };
  }

  /**
   * Opens the log to write to it. `known`: what the snapshot says, so that only what came after it must be read.
   * `isDurable`: we made it. `asRead`: nobody may have written since the last read, for what follows that would be taken
   * for written already.
   */
  async open(known: SnapshotDocument, { isDurable, asRead }: { isDurable: boolean; asRead: boolean }): Promise<void> {
    if (this.file !== undefined) return;
    this.end = await this.findEnd(known);
    const seqRead = this.lastRead?.end.seqNext;
    if (asRead && seqRead !== undefined && seqRead !== this.end.seqNext) {
      const change = `has ${this.end.seqNext} entries where we read ${seqRead}`;
      throw stateChangedOutside(this.id, this.path, change);
    }
    const file = await naming(this.path, () => this.disk.open(this.path, "append"));
    try {
      await naming(this.path, async () => {
        if (this.end.wholeBytes < this.end.sizeBytes) await this.setTailAside(file);
        if (!isDurable) await this.writeAgain(known.logBytes, this.end.wholeBytes);
      });
      this.ackedBytes = this.end.wholeBytes;
      this.unackedBytes = 0;
      this.identity = file.stat().identity;
    } catch (error) {
      await file.close();
      throw error;
    }
    this.file = file;
  }

  /**
   * Appends the document's entries. Durable on return; after an error the log is as it was, or is made so before the next
   * write.
   */
  async write({ entries, stamp }: LogDocument): Promise<void> {
    const file = this.file;
    const last = entries.at(-1);
    if (file === undefined || last === undefined)
      throw new Error("a log is written to when it is open and something is new");
    this.checkUnchanged();
    const bytes = Buffer.from(`${this.end.needsNewline ? "\n" : ""}${encodeEntries(entries, stamp)}`);
    await naming(this.path, async () => {
      if (this.unackedBytes > 0) await this.cutBack(file);
      this.unackedBytes = bytes.length;
      try {
        await file.writeDurably(bytes, this.ackedBytes);
      } catch (error) {
        // Now, so that no reader meets half a record; when this fails too, the next write begins with it.
        await this.cutBack(file).catch(() => undefined);
        throw error;
      }
    });
    this.ackedBytes += bytes.length;
    this.unackedBytes = 0;
    this.end = { ...this.end, seqNext: last.seq + 1, stamp, needsNewline: false };
  }

  async close(): Promise<void> {
    const file = this.file;
    this.file = undefined;
    if (file === undefined) return;
    if (this.unackedBytes > 0 && this.isUnchanged()) await this.cutBack(file).catch(() => undefined);
    // From now on others may write: what is there counts, and whoever opens it next sets a half record aside.
    this.unackedBytes = 0;
    await file.close();
  }

  /** @throws {PerdureError} STATE_CHANGED_OUTSIDE when the open log is not the file that we left */
  checkUnchanged(): void {
    if (this.file === undefined) return;
    const now = this.disk.stat(this.path);
    if (now === undefined) throw stateChangedOutside(this.id, this.path, "is gone");
    if (now.identity !== this.identity) throw stateChangedOutside(this.id, this.path, "was replaced by another file");
    const moreBytes = now.sizeBytes - this.ackedBytes;
    if (moreBytes >= 0 && moreBytes <= this.unackedBytes) return;
    throw stateChangedOutside(this.id, this.path, `has ${now.sizeBytes} bytes where we left ${this.ackedBytes}`);
  }

  private isUnchanged(): boolean {
    try {
      this.checkUnchanged();
      return true;
    } catch {
      return false;
    }
  }

  private async cutBack(file: DiskFile): Promise<void> {
    if (this.unackedBytes === 0) return;
    await file.truncate(this.ackedBytes);
    this.unackedBytes = 0;
  }

  /** From the last read when the file is still the same, else from the snapshot on; all of it only when that is odd. */
  private async findEnd(known: SnapshotDocument): Promise<LogEnd> {
    if (this.lastRead !== undefined && this.disk.stat(this.path)?.version === this.lastRead.version) {
      return this.lastRead.end;
    }
    const end = await readingLog(this.disk, this.path, (file) => endSinceSnapshot(file, this.path, this.id, known));
    return end ?? readLog(this.disk, this.path, this.id, { onEntry: () => undefined });
  }

  /** Never the same name twice. */
  private asidePath(): string {
    let number = 1;
    while (this.disk.stat(`${this.path}.torn-${number}`) !== undefined) number++;
    return `${this.path}.torn-${number}`;
  }

  /**
   * What came after the last snapshot is seen, but its writer may have died, or its disk failed, before it was durable; after
   * a failed sync another one alone would not make it so. The same bytes in their place harm nobody.
   */
  private async writeAgain(from: number, end: number): Promise<void> {
    const start = Math.max(from <= end ? from : 0, end - SINCE_SNAPSHOT_BYTES_MAX);
    if (start === end) return;
    const file = await this.disk.open(this.path, "update");
    try {
      await file.write(await readRange(file, start, end), start);
      await file.datasync();
    } finally {
      await file.close();
    }
  }

  private async setTailAside(file: DiskFile): Promise<void> {
    const tail = await readRange(file, this.end.wholeBytes, this.end.sizeBytes);
    const aside = await this.disk.open(this.asidePath(), "create");
    try {
      await aside.write(tail, 0);
      await aside.sync();
    } finally {
      await aside.close();
    }
    await this.disk.syncFolder(path.dirname(this.path));
    await file.truncate(this.end.wholeBytes);
    await file.datasync();
  }
}

/**
 * Where a log ends, from what a snapshot knew and the lines since then. Undefined when they are not what clean writes
 * leave: then the whole log must tell.
 */
async function endSinceSnapshot(
  file: DiskFile,
  path: string,
  id: string,
  known: SnapshotDocument,
): Promise<LogEnd | undefined> {
  const { sizeBytes } = file.stat();
  const { logBytes } = known;
  if ((await readHeader(file, path, id)) === undefined) return undefined;
  if (!(logBytes > 0) || sizeBytes < logBytes || sizeBytes - logBytes > SINCE_SNAPSHOT_BYTES_MAX) return undefined;
  const lines = (await readRange(file, logBytes - 1, sizeBytes)).toString("utf8").split("\n");
  if (lines.shift() !== "" || (lines.length > 0 && lines.pop() !== "")) return undefined;
  let seqNext = known.entries;
  let stamp = known.stamp;
  for (const text of lines) {
    const line = parseLine(text)?.line;
    if (line?.entry.seq !== seqNext) return undefined;
    stamp = Math.max(stamp, line.stamp ?? 0);
    seqNext++;
  }
  return { seqNext, stamp, wholeBytes: sizeBytes, sizeBytes, needsNewline: false };
}
