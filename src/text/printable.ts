import stringWidth from "fast-string-width";
import { isJoinable, isPrintable } from "./unicode.js";

export interface PrintableOptions {
  /** false: a tab becomes a space. */
  readonly tabs?: boolean;
  /** false: a line break becomes a space. */
  readonly newlines?: boolean;
  /**
   * remove (default): an escape sequence goes as a whole, other controls one by one. show: each of them is drawn as a
   * visible stand-in (`␛[2J`, `<U+202E>`): for what a person decides on, where nothing may be hidden.
   */
  readonly controls?: "remove" | "show";
}

/**
 * Text that may go to a terminal: what a model, a tool, a file or a person's own bytes contain cannot move the cursor,
 * change colours, titles or the clipboard, or reorder what is read. Keeps printable characters, `\n` and `\t`; `\r\n`
 * and a lone `\r` become `\n`; lone surrogates U+FFFD.
 */
export function printable(text: string, options: PrintableOptions = {}): string {
  const filter = new PrintableFilter(options);
  return filter.write(text) + filter.end();
}

/** The same for text that comes in chunks, cut anywhere. Holds back one code unit at most. */
export function createPrintable(options: PrintableOptions = {}): (chunk: string) => string {
  const filter = new PrintableFilter(options);
  return (chunk) => filter.write(chunk);
}

/** One line for lists and titles: breaks and tabs are spaces; cut to `widthMax` columns with `…`. */
export function printableLine(text: string, widthMax?: number): string {
  // Characters without width would let an endless text pass for a short one.
  const source = widthMax === undefined ? text : text.slice(0, 1024 + widthMax * 16);
  // As most titles are; and `Intl.Segmenter` takes 20 ms when it is used first.
  const plain = /^[\x20-\x7e]*$/.test(source);
  const line = (plain ? source : printable(source, { tabs: false, newlines: false })).replace(/ {2,}/g, " ").trim();
  const cut = source.length < text.length;
  if (widthMax === undefined || (!cut && stringWidth(line) <= widthMax)) return line;
  if (widthMax < 1) return "";
  if (plain) return `${line.slice(0, widthMax - 1).trimEnd()}…`;
  let kept = "";
  let width = 1;
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    width += stringWidth(segment);
    if (width > widthMax) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

/** Runs of characters that need no look one by one. A new regular expression each time: it carries a position. */
const plainRun = () =>
  /[\n\t\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u05ff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\u3163\u3165-\ud7ff\u{1f300}-\u{1faff}]+/uy;

const ESC = 0x1b;
const CAN = 0x18;
const SUB = 0x1a;
const BEL = 0x07;
const LF = 0x0a;
const CR = 0x0d;
const TAB = 0x09;

/** Where in an escape sequence the next character stands. */
type Place = "text" | "escape" | "csi" | "string" | "stringEscape";

class PrintableFilter {
  readonly #show: boolean;
  readonly #newline: string;
  readonly #tab: string;
  #place: Place = "text";
  #afterCarriageReturn = false;
  #heldSurrogate = "";
  /** The last character that was kept: joiners and variation selectors only stand after something visible. */
  #last = 0;

  constructor(options: PrintableOptions) {
    this.#show = options.controls === "show";
    this.#newline = options.newlines === false ? " " : "\n";
    this.#tab = options.tabs === false ? " " : "\t";
  }

  write(chunk: string): string {
    const text = this.#heldSurrogate + chunk;
    this.#heldSurrogate = "";
    const copiesBreaks = this.#newline === "\n" && this.#tab === "\t";
    const run = plainRun();
    let out = "";
    for (let index = 0; index < text.length; ) {
      if (copiesBreaks && this.#place === "text" && !this.#afterCarriageReturn) {
        run.lastIndex = index;
        const plain = run.exec(text)?.[0];
        if (plain !== undefined) {
          out += plain;
          index += plain.length;
          this.#last = lastCodePoint(plain);
          continue;
        }
      }
      const code = text.codePointAt(index) ?? 0;
      if (code >= 0xd800 && code <= 0xdbff && index === text.length - 1) {
        this.#heldSurrogate = text.slice(index);
        break;
      }
      out += this.#take(code);
      index += code > 0xffff ? 2 : 1;
    }
    return out;
  }

  end(): string {
    const held = this.#heldSurrogate;
    this.#heldSurrogate = "";
    return held === "" ? "" : this.#take(0xfffd);
  }

  #take(code: number): string {
    if (code === LF && this.#afterCarriageReturn) {
      this.#afterCarriageReturn = false;
      return "";
    }
    this.#afterCarriageReturn = false;
    if (this.#place !== "text" && this.#inSequence(code)) return "";
    return this.#inText(code);
  }

  /** True when the character belongs to the sequence. A line break ends any: what follows it is not to be hidden. */
  #inSequence(code: number): boolean {
    const place = this.#place;
    if (code === LF || code === CR) {
      this.#place = "text";
      return false;
    }
    if (code === CAN || code === SUB) {
      this.#place = "text";
      return true;
    }
    if (code === ESC) {
      this.#place = place === "string" ? "stringEscape" : "escape";
      return true;
    }
    if (place === "string") {
      if (code === BEL || code === 0x9c) this.#place = "text";
      return true;
    }
    if (place === "stringEscape" && code === 0x5c) {
      this.#place = "text";
      return true;
    }
    if (place === "csi") return this.#inCsi(code);
    return this.#afterEscape(code);
  }

  #inCsi(code: number): boolean {
    if (code < 0x20) return true;
    if (code >= 0x20 && code <= 0x3f) return true;
    this.#place = "text";
    return code >= 0x40 && code <= 0x7f;
  }

  #afterEscape(code: number): boolean {
    if (code === 0x5b) this.#place = "csi";
    else if (code === 0x5d || code === 0x50 || code === 0x58 || code === 0x5e || code === 0x5f) this.#place = "string";
    else if (code >= 0x20 && code <= 0x2f) this.#place = "escape";
    else {
      this.#place = "text";
      return code >= 0x30 && code <= 0x7e;
    }
    return true;
  }

  #inText(code: number): string {
    if (code === LF) return this.#keep(code, this.#newline);
    if (code === TAB) return this.#keep(code, this.#tab);
    if (code === CR) {
      this.#afterCarriageReturn = true;
      return this.#keep(LF, this.#newline);
    }
    if (code === 0x2028 || code === 0x2029) return this.#keep(LF, this.#newline);
    if (code >= 0xd800 && code <= 0xdfff) return this.#keep(0xfffd, "\uFFFD");
    if (isPrintable(code)) return this.#keep(code, String.fromCodePoint(code));
    if (isJoinable(code, this.#last)) return this.#keep(code, String.fromCodePoint(code));
    if (this.#show) return this.#keep(0x20, standIn(code));
    this.#place = sequenceStart(code);
    return "";
  }

  #keep(code: number, text: string): string {
    this.#last = code;
    return text;
  }
}

function lastCodePoint(text: string): number {
  const pair = text.length > 1 ? (text.codePointAt(text.length - 2) ?? 0) : 0;
  return pair > 0xffff ? pair : text.charCodeAt(text.length - 1);
}

function sequenceStart(code: number): Place {
  if (code === ESC) return "escape";
  if (code === 0x9b) return "csi";
  if (code === 0x9d || code === 0x90 || code === 0x98 || code === 0x9e || code === 0x9f) return "string";
  return "text";
}

/** `␛` for ESC and the like; `<U+202E>` for what has no picture. */
function standIn(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}
