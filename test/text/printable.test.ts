import fc from "fast-check";
import stringWidth from "fast-string-width";
import { describe, expect, it } from "vitest";
import { createPrintable, printable, printableLine } from "../../src/text/printable.js";

// Anything a byte stream can decode to, with more than its share of what terminals obey.
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom("\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x9b", "\x9d", "\x9c", "\x07", "\r", "\n", "\t"),
      fc.constantFrom(
        "\u202e",
        "\u2066",
        "\u200b",
        "\u200d",
        "\ufe0f",
        "\u{e0041}",
        "\ud800",
        "\udc00",
        "😀",
        "漢",
        "é",
      ),
      fc.string({ unit: "binary", maxLength: 4 }),
      fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(""));

const UNSAFE =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}\p{Surrogate}]/u;

describe("text for a terminal", () => {
  it("never holds ESC or any control but line break and tab, whatever comes in", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(printable(text)).not.toMatch(UNSAFE);
        expect(printable(text, { controls: "show" })).not.toMatch(UNSAFE);
      }),
      { numRuns: 2000 },
    );
  });

  it("is the same when it comes in chunks, cut anywhere", () => {
    fc.assert(
      fc.property(hostile, fc.array(fc.nat(60), { maxLength: 6 }), (text, cuts) => {
        const whole = `${text}.`;
        const borders = [0, ...cuts.filter((cut) => cut < whole.length).sort((a, b) => a - b), whole.length];
        const write = createPrintable();
        const chunked = borders.slice(1).map((border, index) => write(whole.slice(borders[index], border)));
        expect(chunked.join("")).toBe(printable(whole));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["a clear screen, a title, a clipboard write", "x\x1b[2J\x1b]0;PWN\x07\x1b]52;c;QQ==\x07\r\b\x9by", "x\n"],
    ["colours", "\x1b[1;31mred\x1b[0m", "red"],
    ["a title ended by ST", "\x1b]0;title\x1b\\text", "text"],
    ["DCS, APC, PM and SOS", "a\x1bPq#0\x1b\\b\x1b_x\x1b\\c\x1b^x\x1b\\d\x1bXx\x1b\\e", "abcde"],
    ["8-bit sequences", "a\x9b31mb\x9d0;t\x9cc\x90q\x9cd", "abcd"],
    ["a title that never ends: until the end of its line", "a\x1b]0;hidden\nshown", "a\nshown"],
    ["a charset switch and a full reset", "\x1b(0a\x1bcb", "ab"],
    ["backspace, bell, NUL and DEL", "a\bb\x07c\0d\x7fe", "abcde"],
    ["direction overrides and zero width characters", "a\u202eb\u2066c\u200bd\ufeffe", "abcde"],
    ["tag characters", "a\u{e0041}\u{e0042}b", "ab"],
    ["Windows line ends and progress bars", "a\r\nb\rc", "a\nb\nc"],
    ["lone surrogates", "a\ud800b\udc00", "a\uFFFDb\uFFFD"],
    ["nothing of plain text", "héllo\twörld\n漢字 é ✓", "héllo\twörld\n漢字 é ✓"],
    ["nothing of emoji sequences", "👩‍👩‍👧 ❤️ 👍🏽 🏳️‍🌈", "👩‍👩‍👧 ❤️ 👍🏽 🏳️‍🌈"],
    ["nothing of joined Persian letters", "می\u200cخواهم", "می\u200cخواهم"],
  ])("takes away %s", (_name, text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  it("can show what it would take away", () => {
    expect(printable("rm\x1b[2J \u202etxt\x7f", { controls: "show" })).toBe("rm␛[2J <U+202E>txt␡");
  });

  it("cleans a megabyte of escapes", () => {
    expect(printable("\x1b[31mab".repeat(150_000))).toBe("ab".repeat(150_000));
  });
});

describe("one line for a list", () => {
  it("is one line without tabs", () => {
    expect(printableLine("\t\x1b[31mfirst\nsecond\r\n\tthird\n")).toBe("first second third");
  });

  it("is cut by what it takes on the screen", () => {
    expect(printableLine("漢字漢字漢字", 7)).toBe("漢字漢…");
    expect(printableLine("exactly", 7)).toBe("exactly");
    expect(printableLine("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 4)).toBe("👩‍👩‍👧…");
  });

  it("never is wider than allowed nor more than a line", () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 1, max: 30 }), (text, widthMax) => {
        const line = printableLine(text, widthMax);
        expect(line).not.toMatch(/[\n\t]/);
        expect(stringWidth(line)).toBeLessThanOrEqual(widthMax);
      }),
    );
  });
});
