/** What of one output enters history, in UTF-8 bytes. */
export const HISTORY_BYTES_MAX = 65_536;

export interface Cut {
  /** At most `bytesMax` bytes of UTF-8, the line that tells of the gap included. */
  readonly text: string;
  /** Bytes of the original that are not in `text`. */
  readonly omittedBytes: number;
}

/**
 * Keeps the head (about two thirds) and the tail of a text, with a line between them that says how much is missing.
 * Cuts at line borders where one is near, never inside a character. A text that fits comes back as it is; one that is
 * cut comes back well-formed.
 */
export function cutText(text: string, bytesMax: number): Cut {
  const totalBytes = Buffer.byteLength(text);
  if (totalBytes <= bytesMax) return { text, omittedBytes: 0 };
  // No character has fewer bytes than code units, so this many units hold all that can be kept.
  return joinHeadAndTail(text.slice(0, bytesMax), text.slice(-bytesMax), totalBytes, bytesMax);
}

/** As {@link cutText}, of a text of which only the first and the last `bytesMax` units are at hand. */
export function cutEnds(head: string, tail: string, totalBytes: number, bytesMax: number): Cut {
  return joinHeadAndTail(head, tail, totalBytes, bytesMax);
}

/** The head and the tail of a text of any length, in memory bounded by a few times `bytesMax`. */
export class HeadTail {
  readonly #bytesMax: number;
  #head = "";
  #tail = "";
  #totalBytes = 0;

  constructor(bytesMax: number = HISTORY_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** UTF-8 bytes of all that was pushed. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  push(text: string): void {
    this.#totalBytes += Buffer.byteLength(text);
    const room = this.#bytesMax - this.#head.length;
    if (room > 0) this.#head = text.length > room ? copyOf(this.#head + text.slice(0, room)) : this.#head + text;
    if (text.length >= this.#bytesMax) this.#tail = text.slice(-this.#bytesMax);
    else this.#tail += text;
    if (this.#tail.length > this.#bytesMax * 4) this.#tail = copyOf(this.#tail.slice(-this.#bytesMax));
  }

  /** Everything so far, cut as {@link cutText} does. */
  cut(): Cut {
    if (this.#totalBytes <= this.#bytesMax) return { text: this.#head, omittedBytes: 0 };
    return joinHeadAndTail(this.#head, this.#tail.slice(-this.#bytesMax), this.#totalBytes, this.#bytesMax);
  }
}

/** A slice keeps its whole parent alive; a copy does not. Well-formed: what is cut comes back so anyway. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

function joinHeadAndTail(headSource: string, tailSource: string, totalBytes: number, bytesMax: number): Cut {
  // The gap's line is longest when nothing is kept; two line breaks stand around it.
  const gapBytesMax = Buffer.byteLength(gapLine(totalBytes)) + 2;
  const room = bytesMax - gapBytesMax;
  if (room < 0) {
    const head = firstBytes(headSource, bytesMax);
    return { text: head, omittedBytes: totalBytes - Buffer.byteLength(head) };
  }
  const headRoom = Math.ceil((room * 2) / 3);
  const head = endAtLine(firstBytes(headSource, headRoom), Math.min(1024, headRoom / 4));
  const tailRoom = room - headRoom;
  const tail = startAtLine(lastBytes(tailSource, tailRoom), Math.min(1024, tailRoom / 4));
  const omittedBytes = totalBytes - Buffer.byteLength(head) - Buffer.byteLength(tail);
  const before = head === "" || head.endsWith("\n") ? head : `${head}\n`;
  return { text: `${before}${gapLine(omittedBytes)}\n${tail}`, omittedBytes };
}

function gapLine(bytes: number): string {
  return `[… ${bytes.toLocaleString("en-US")} bytes left out …]`;
}

/** The longest prefix of at most `bytes` bytes that ends between characters. */
function firstBytes(text: string, bytes: number): string {
  const buffer = Buffer.alloc(bytes);
  // encodeInto writes whole characters only.
  const { written } = new TextEncoder().encodeInto(text.slice(0, bytes), buffer);
  return buffer.toString("utf8", 0, written);
}

/** The longest suffix of at most `bytes` bytes that starts between characters. */
function lastBytes(text: string, bytes: number): string {
  if (bytes <= 0) return "";
  const buffer = Buffer.from(text.slice(-bytes - 1));
  let start = Math.max(0, buffer.length - bytes);
  while (start < buffer.length && ((buffer[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return buffer.toString("utf8", start);
}

function endAtLine(text: string, unitsMax: number): string {
  const end = text.lastIndexOf("\n") + 1;
  return end > 0 && text.length - end <= unitsMax ? text.slice(0, end) : text;
}

function startAtLine(text: string, unitsMax: number): string {
  const end = text.indexOf("\n") + 1;
  return end > 0 && end <= unitsMax ? text.slice(end) : text;
}
