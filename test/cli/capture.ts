import { Writable } from "node:stream";

/** A stream that keeps what is written. */
export class Capture extends Writable {
  text = "";
  columns: number | undefined = undefined;

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.text += chunk.toString();
    callback();
  }

  get lines(): string[] {
    return this.text.split("\n").slice(0, -1);
  }
}

/** A stream whose writes fail, as a closed pipe's (EPIPE) or a full disk's (ENOSPC) do, after `bytesMax`. */
export class Failing extends Capture {
  constructor(
    private readonly code: string,
    private readonly bytesMax = 0,
  ) {
    super();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    if (this.text.length + chunk.length > this.bytesMax) {
      callback(Object.assign(new Error(`write ${this.code}`), { code: this.code }));
    } else super._write(chunk, encoding, callback);
  }
}
