import { hasCode } from "../errors.js";
import type { Disk } from "./disk.js";
import { parseLine } from "./log-line.js";
import { reading, readRange } from "./read-file.js";
import type { Entry } from "./store.js";

const CHUNK_BYTES = 1 << 20;

/**
 * Reads a log that another process writes to: each `next` gives what came since the last one. A record on its way is left
 * until it is whole; one that is taken back and written again is given once. No lock, and nothing is written.
 */
export class LogTail {
  private position = 0;
  private identity = "";

  /** `seqNext`: entries before it are known. */
  constructor(
    private readonly disk: Disk,
    private readonly path: string,
    private seqNext: number,
  ) {}

  /** Undefined: the log is gone. */
  async next(): Promise<Entry[] | undefined> {
    try {
      return await reading(this.disk, this.path, async (file) => {
        const { identity, sizeBytes } = file.stat();
        // Replaced, or cut back: what is known already is passed over by its `seq`.
        if (identity !== this.identity || sizeBytes < this.position) this.position = 0;
        this.identity = identity;
        const entries: Entry[] = [];
        let rest: Buffer = Buffer.alloc(0);
        for (let at = this.position; at < sizeBytes; ) {
          const piece = await readRange(file, at, Math.min(at + CHUNK_BYTES, sizeBytes));
          if (piece.length === 0) break;
          at += piece.length;
          const bytes = Buffer.concat([rest, piece]);
          const end = bytes.lastIndexOf(10) + 1;
          this.take(bytes.toString("utf8", 0, end), entries);
          this.position += end;
          rest = bytes.subarray(end);
        }
        return entries;
      });
    } catch (error) {
      if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
      throw error;
    }
  }

  private take(lines: string, entries: Entry[]): void {
    for (const text of lines.split("\n")) {
      const entry = text === "" ? undefined : parseLine(text)?.line?.entry;
      if (entry === undefined || entry.seq < this.seqNext) continue;
      entries.push(entry);
      this.seqNext = entry.seq + 1;
    }
  }
}
