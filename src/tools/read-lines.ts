import type { FileHandle } from "node:fs/promises";
import { HISTORY_BYTES_MAX } from "../text/cut.js";
import { createDecoder } from "../text/decode.js";

export interface LineWindow {
  readonly text: string;
  /** Lines in `text`. */
  readonly lineCount: number;
  /** Lines looked at, up to the end of the window: all of the file's when it ended first. */
  readonly linesSeen: number;
  /** none: the file ends here. lines: more lines follow. line: the last line of `text` itself is cut. */
  readonly more: "none" | "lines" | "line";
}

const CHUNK_BYTES = 65_536;
/** Room is left in the history's limit for the line that says how to read on. */
const TEXT_BYTES_MAX = HISTORY_BYTES_MAX - 1024;

/**
 * Lines `offset` (from 1) to `offset + limit - 1` of a file, at most what history keeps of one result. Reads no further
 * than that, in constant memory.
 */
export async function readLines(
  file: FileHandle,
  options: { offset: number; limit: number; signal: AbortSignal },
): Promise<LineWindow> {
  const collector = new LineCollector(options.offset, options.limit);
  const decoder = createDecoder();
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (let position = 0; ; ) {
    options.signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, position);
    position += bytesRead;
    const ended = bytesRead === 0;
    const done = collector.push(ended ? decoder.end() : decoder.decode(buffer.subarray(0, bytesRead)));
    if (done || ended) return collector.window();
  }
}

class LineCollector {
  readonly #offset: number;
  readonly #lineEnd: number;
  /** The line that the next character belongs to. */
  #line = 1;
  /** True when characters of the current line have been seen. */
  #inLine = false;
  #whole = "";
  #part = "";
  #bytes = 0;
  #more: LineWindow["more"] = "none";

  constructor(offset: number, limit: number) {
    this.#offset = offset;
    this.#lineEnd = offset + limit;
  }

  /** True when nothing after it is wanted. */
  push(text: string): boolean {
    for (let start = 0; start < text.length; ) {
      if (this.#line >= this.#lineEnd) return this.#stop("lines");
      const newline = text.indexOf("\n", start);
      const end = newline === -1 ? text.length : newline + 1;
      if (this.#line >= this.#offset && !this.#keep(text.slice(start, end))) return true;
      this.#inLine = newline === -1;
      if (newline !== -1) this.#nextLine();
      start = end;
    }
    return false;
  }

  window(): LineWindow {
    const text = this.#whole + this.#part;
    const linesSeen = this.#line - 1 + (this.#inLine ? 1 : 0);
    const last = this.#part === "" ? this.#line - 1 : this.#line;
    return { text, lineCount: text === "" ? 0 : last - this.#offset + 1, linesSeen, more: this.#more };
  }

  #keep(piece: string): boolean {
    this.#bytes += Buffer.byteLength(piece);
    if (this.#bytes <= TEXT_BYTES_MAX) {
      this.#part += piece;
      return true;
    }
    // A line that does not fit is left for the next call, unless it is the first: then its beginning is all there is.
    if (this.#whole !== "") {
      this.#part = "";
      return !this.#stop("lines");
    }
    const room = TEXT_BYTES_MAX - Buffer.byteLength(this.#part);
    const { written } = new TextEncoder().encodeInto(piece, new Uint8Array(Math.max(0, room)));
    this.#part += Buffer.from(piece).toString("utf8", 0, written);
    return !this.#stop("line");
  }

  #nextLine(): void {
    this.#line += 1;
    this.#whole += this.#part;
    this.#part = "";
  }

  #stop(more: "lines" | "line"): true {
    this.#more = more;
    return true;
  }
}
