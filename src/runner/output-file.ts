import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * The whole output of a command, raw, in a file of its own. Nothing is created while the output is small enough for
 * history; then the file (0600, its folder 0700) gets everything from the first byte on, up to `bytesMax`.
 */
export class OutputFile {
  readonly #path: string | undefined;
  readonly #bytesMax: number;
  readonly #bytesInMemoryMax: number;
  #waiting: Buffer[] = [];
  #bytes = 0;
  #stream: WriteStream | undefined;
  #opening: Promise<void> | undefined;
  #failed = false;
  #draining: Promise<void> | undefined;
  #wake: () => void = () => {};

  constructor(path: string | undefined, bytesMax: number, bytesInMemoryMax: number) {
    this.#path = path;
    this.#bytesMax = bytesMax;
    this.#bytesInMemoryMax = bytesInMemoryMax;
  }

  /** Undefined: taken. A promise: stop reading the pipes until it resolves. */
  write(chunk: Buffer): Promise<void> | undefined {
    if (this.#path === undefined || this.#failed) return undefined;
    const part = chunk.subarray(0, Math.max(0, this.#bytesMax - this.#bytes));
    if (part.length === 0) return undefined;
    this.#bytes += part.length;
    if (this.#stream !== undefined) {
      return this.#stream.write(part) ? undefined : this.#drained();
    }
    this.#waiting.push(part);
    if (this.#bytes <= this.#bytesInMemoryMax) return undefined;
    this.#opening ??= this.#open(this.#path);
    return this.#opening;
  }

  /** The path when there is a file; undefined when none was needed or when it could not be written. */
  async close(): Promise<string | undefined> {
    await this.#opening;
    const stream = this.#stream;
    if (stream === undefined || this.#path === undefined) return undefined;
    if (!this.#failed) await new Promise<void>((resolve) => stream.end(resolve).once("error", () => resolve()));
    if (!this.#failed) return this.#path;
    await rm(this.#path, { force: true });
    return undefined;
  }

  async #open(path: string): Promise<void> {
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const stream = createWriteStream(path, { mode: 0o600 });
      // A full disk must not end the command: history keeps head and tail all the same.
      stream.on("error", () => {
        this.#failed = true;
        this.#wake();
      });
      stream.on("drain", () => this.#wake());
      await once(stream, "open");
      await chmod(path, 0o600);
      for (const chunk of this.#waiting) stream.write(chunk);
      this.#stream = stream;
    } catch {
      this.#failed = true;
    } finally {
      this.#waiting = [];
    }
  }

  #drained(): Promise<void> {
    this.#draining ??= new Promise((resolve) => {
      this.#wake = () => {
        this.#draining = undefined;
        resolve();
      };
    });
    return this.#draining;
  }
}
