import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LINE_BREAK, LineText } from "../../src/repl/line-text.js";

describe("text in the line editor", () => {
  it("comes out as it went in, whatever is in it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 3000 }), (text) => {
        const whole = text.replace(/\r\n?/g, "\n");
        const held = new LineText();
        expect(held.expand(held.encode(text))).toBe(whole);
      }),
    );
  });

  it("shows a short paste as it is and a long one as one word", () => {
    const text = new LineText();
    expect(text.show(text.encode("a\nb"))).toBe("a\n  b");
    expect(text.encode("a\nb")).toBe(`a${LINE_BREAK}b`);
    expect(text.show(text.encode("x\n".repeat(300)))).toBe("[pasted 301 lines]");
    expect(text.show(text.encode("漢".repeat(1200)))).toBe("[pasted 1,200 characters]");
  });

  it("shows nothing that would drive the terminal", () => {
    const text = new LineText();
    const evil = "a\u001b[2Jb\u009b31m\u202ec\u0000";
    expect(text.show(text.encode(evil))).toBe("[pasted 13 characters]");
    expect(text.clean("a\u001b\u0000\u009b\ud800b")).toBe("a\ufffd\ufffd\ufffd\ufffdb");
  });

  it("keeps two pastes in one line apart", () => {
    const text = new LineText();
    const line = `${text.encode("a".repeat(2000))} and ${text.encode("b".repeat(2000))}`;
    expect(text.expand(line)).toBe(`${"a".repeat(2000)} and ${"b".repeat(2000)}`);
  });
});
