import type { Disk, DiskFile } from "./disk.js";
import { stampPath } from "./layout.js";
import { isJsonObject, isStamp } from "./log-line.js";
import { reading, readRange } from "./read-file.js";

const BOOT_ID = "/proc/sys/kernel/random/boot_id";
const LENGTH_BYTES = 128;

/**
 * Numbers the writes of a store, so that the one that was last in time has the highest stamp, whatever clocks do: the
 * larger of the clock and the highest stamp of the store plus one.
 *
 * The highest stamp is shared by processes in a small file, which is a cache: it is not synced, and when it is absent,
 * damaged or from before the computer started, the conversations are looked through once instead.
 */
export class Stamps {
  private highest = 0;
  private file: DiskFile | undefined;
  private opening: Promise<void> | undefined;
  private scanned = false;
  private boot = "";
  private readonly buffer = Buffer.alloc(LENGTH_BYTES);
  /** What the file held last, and what that says. */
  private lastBytes = Buffer.alloc(0);
  private lastShared: number | undefined;

  constructor(
    private readonly disk: Disk,
    private readonly root: string,
    /** The highest stamp in the store's conversations. */
    private readonly scan: () => Promise<number>,
  ) {}

  see(stamp: number): void {
    if (stamp > this.highest) this.highest = stamp;
  }

  /** The stamp of a write that is about to be made; other processes know of it. The root exists. */
  async next(clock: () => number): Promise<number> {
    if (this.file === undefined) {
      this.opening ??= this.open().finally(() => {
        this.opening = undefined;
      });
      await this.opening;
    }
    return this.nextNow(clock);
  }

  /** Whether `nextNow` can be asked, which saves each write a turn of the event loop. */
  get isOpen(): boolean {
    return this.file !== undefined;
  }

  nextNow(clock: () => number): number {
    this.see(this.readShared() ?? 0);
    this.highest = Math.max(Math.floor(clock()), this.highest + 1);
    this.writeShared();
    return this.highest;
  }

  private async open(): Promise<void> {
    this.boot = await this.readBoot();
    try {
      this.file = await this.disk.open(stampPath(this.root), "update");
    } catch {
      // Somebody else's file, or a full disk: then stamps are only as good as one look through the store.
    }
    if (this.readShared() !== undefined || this.scanned) return;
    try {
      this.see(await this.scan());
      this.scanned = true;
    } catch {
      // A store whose folder cannot be listed: the clock alone orders this write, and a save never fails for its place in a list.
    }
  }

  private readShared(): number | undefined {
    try {
      const length = this.file?.readSync(this.buffer, 0) ?? 0;
      const bytes = this.buffer.subarray(0, length);
      if (bytes.equals(this.lastBytes)) return this.lastShared;
      const value: unknown = JSON.parse(bytes.toString("utf8"));
      const known = isJsonObject(value) && isStamp(value.stamp) && value.boot === this.boot;
      this.lastShared = known ? Number(value.stamp) : undefined;
      this.lastBytes = Buffer.from(bytes);
      return this.lastShared;
    } catch {
      return undefined;
    }
  }

  /** Never throws: without the file, the next process looks through the store. */
  private writeShared(): void {
    const bytes = Buffer.from(`${JSON.stringify({ stamp: this.highest, boot: this.boot }).padEnd(LENGTH_BYTES - 1)}\n`);
    try {
      this.file?.writeSync(bytes, 0);
      this.lastBytes = bytes;
      this.lastShared = this.highest;
    } catch {
      this.file?.close().catch(() => undefined);
      this.file = undefined;
    }
  }

  /** Which start of the computer this is; empty where that is not told. */
  private async readBoot(): Promise<string> {
    try {
      return await reading(this.disk, BOOT_ID, async (file) =>
        (await readRange(file, 0, 64)).toString("latin1").trim(),
      );
    } catch {
      return "";
    }
  }
}
