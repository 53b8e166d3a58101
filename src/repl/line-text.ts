import { count } from "./display.js";

/**
 * The text being typed, as the line editor holds it. An editor of one line cannot hold line breaks, and a long paste
 * would make each key slow and the screen full, so both have a stand-in of one character: a break U+FDD0, which Unicode
 * keeps for programs' own use, a long or unprintable paste one of plane 16, shown as `[pasted 300 lines]`. What is sent
 * is the whole text again.
 */
export const LINE_BREAK = "\ufdd0";

const HELD_FIRST = 0x100000;
const HELD_LAST = 0x10fffd;
const INLINE_LINES_MAX = 10;
const INLINE_CHARS_MAX = 1000;

export class LineText {
  readonly #held = new Map<string, { text: string; label: string }>();

  /** A text of any length and content as it goes into the editor. */
  encode(text: string): string {
    const whole = text.replace(/\r\n?/g, "\n");
    if (whole.length <= INLINE_CHARS_MAX && isPlain(whole)) {
      const parts = whole.split("\n");
      if (parts.length <= INLINE_LINES_MAX) return parts.join(LINE_BREAK);
    }
    const id = HELD_FIRST + this.#held.size;
    // 65,000 long pastes in one session: the text itself then.
    if (id > HELD_LAST) return this.clean(whole).replaceAll("\n", LINE_BREAK);
    const stand = String.fromCodePoint(id);
    this.#held.set(stand, { text: whole, label: labelOf(whole) });
    return stand;
  }

  /** Typed characters, without what would drive the terminal or pass for a stand-in of ours. */
  clean(text: string): string {
    return text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\ufdd0\u{100000}-\u{10fffd}]|\p{Surrogate}/gu, (character) =>
      character === LINE_BREAK || this.#held.has(character) ? character : "\ufffd",
    );
  }

  /** What the person means: every stand-in replaced by its text. */
  expand(encoded: string): string {
    return this.#replace(encoded, "\n", "text");
  }

  /** What the screen shows. */
  show(encoded: string): string {
    return this.#replace(encoded, "\n  ", "label");
  }

  #replace(encoded: string, lineBreak: string, as: "text" | "label"): string {
    return encoded.replace(/[\ufdd0\u{100000}-\u{10fffd}]/gu, (character) => {
      if (character === LINE_BREAK) return lineBreak;
      return this.#held.get(character)?.[as] ?? character;
    });
  }
}

/** Printable, but for line breaks and tabs, and free of our stand-ins. */
function isPlain(text: string): boolean {
  return !/[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufdd0\u{100000}-\u{10fffd}]|\p{Surrogate}/u.test(text);
}

function labelOf(text: string): string {
  const breaks = text.split("\n").length;
  return breaks > 1 ? `[pasted ${count(breaks, "line")}]` : `[pasted ${count([...text].length, "character")}]`;
}
