import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutText, HeadTail, HISTORY_BYTES_MAX } from "../../src/text/cut.js";
import { wellFormed } from "../../src/text/well-formed.js";

const bytes = (text: string) => Buffer.byteLength(text);
const anyText = fc.string({ unit: "grapheme", maxLength: 600 });

describe("cutting a long text", () => {
  it("leaves a text that fits as it is", () => {
    expect(cutText("hello\n", 6)).toEqual({ text: "hello\n", omittedBytes: 0 });
  });

  it("keeps head and tail at line borders and says how much is left out", () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}`);
    const { text, omittedBytes } = cutText(lines.join("\n"), HISTORY_BYTES_MAX);
    const kept = text.split("\n");
    expect(kept[0]).toBe("line 0");
    expect(kept.at(-1)).toBe("line 19999");
    const gap = kept.findIndex((line) => line.startsWith("[…"));
    expect(kept[gap]).toBe(`[… ${omittedBytes.toLocaleString("en-US")} bytes left out …]`);
    expect(lines).toContain(kept[gap - 1]);
    expect(lines).toContain(kept[gap + 1]);
    expect(gap / kept.length).toBeGreaterThan(0.6);
    expect(gap / kept.length).toBeLessThan(0.72);
  });

  it("does not split an emoji that stands on the limit, wherever it stands", () => {
    for (let shift = 0; shift < 8; shift += 1) {
      const { text } = cutText("a".repeat(shift) + "😀".repeat(300), 400);
      expect(wellFormed(text)).toBe(text);
      expect(text).not.toContain("\uFFFD");
      expect(bytes(text)).toBeLessThanOrEqual(400);
    }
  });

  it("counts every byte: what is kept and what is left out add up", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 60, max: 300 }), (text, bytesMax) => {
        const cut = cutText(text, bytesMax);
        expect(bytes(cut.text)).toBeLessThanOrEqual(bytesMax);
        if (cut.omittedBytes === 0) {
          expect(cut.text).toBe(text);
          return;
        }
        const gap = `[… ${cut.omittedBytes.toLocaleString("en-US")} bytes left out …]\n`;
        const [head = "", tail = ""] = cut.text.split(gap);
        const headKept = text.startsWith(head) ? head : head.slice(0, -1);
        expect(text.startsWith(headKept)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
        expect(bytes(headKept) + bytes(tail) + cut.omittedBytes).toBe(bytes(text));
      }),
    );
  });

  it("changes nothing when it is cut again", () => {
    const once = cutText("x".repeat(100_000), 1000).text;
    expect(cutText(once, 1000)).toEqual({ text: once, omittedBytes: 0 });
  });

  it("keeps a head even where the line about the gap has no room", () => {
    expect(cutText("abcdefghij", 4)).toEqual({ text: "abcd", omittedBytes: 6 });
  });
});

describe("collecting head and tail of an endless text", () => {
  it("gives what cutting the whole text gives, however it was chunked", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 90 }), { maxLength: 40 }), (chunks) => {
        const collector = new HeadTail(200);
        for (const chunk of chunks) collector.push(chunk);
        expect(collector.cut()).toEqual(cutText(chunks.join(""), 200));
        expect(collector.totalBytes).toBe(bytes(chunks.join("")));
      }),
    );
  });

  it("keeps the end of a text a thousand times its size", () => {
    const collector = new HeadTail(1000);
    for (let index = 0; index < 100_000; index += 1) collector.push(`row ${index}\n`);
    const { text } = collector.cut();
    expect(text.startsWith("row 0\n")).toBe(true);
    expect(text.endsWith("row 99999\n")).toBe(true);
    expect(bytes(text)).toBeLessThanOrEqual(1000);
  });
});
