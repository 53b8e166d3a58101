import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDecoder } from "../../src/text/decode.js";
import { wellFormed } from "../../src/text/well-formed.js";

describe("decoding a pipe", () => {
  it("puts characters together that were cut over chunks", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 3 }), (text, size) => {
        const decoder = createDecoder();
        const buffer = Buffer.from(text);
        let out = "";
        for (let at = 0; at < buffer.length; at += size) out += decoder.decode(buffer.subarray(at, at + size));
        expect(out + decoder.end()).toBe(text);
      }),
    );
  });

  it("replaces invalid bytes, encoded surrogates and a cut end", () => {
    const decoder = createDecoder();
    expect(decoder.decode(Buffer.from([0x61, 0xff, 0x62, 0xed, 0xa0, 0x80, 0x63, 0xc3]))).toBe(
      "a\uFFFDb\uFFFD\uFFFD\uFFFDc",
    );
    expect(decoder.end()).toBe("\uFFFD");
  });

  it("keeps a byte order mark", () => {
    expect(createDecoder().decode(Buffer.from("\uFEFFa"))).toBe("\uFEFFa");
  });
});

describe("making text well-formed", () => {
  it("replaces lone surrogates and keeps pairs", () => {
    expect(wellFormed("a\ud99cb😀\udc00")).toBe("a\uFFFDb😀\uFFFD");
  });
});
