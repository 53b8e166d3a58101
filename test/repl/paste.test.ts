import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createInputFilter } from "../../src/repl/paste.js";

function collect(chunks: string[]) {
  const got: Array<["keys" | "paste", string]> = [];
  const filter = createInputFilter({
    keys: (text) => got.push(["keys", text]),
    paste: (text) => got.push(["paste", text]),
  });
  for (const chunk of chunks) filter.write(chunk);
  filter.end();
  const texts = (kind: string) => got.filter(([is]) => is === kind).map(([, text]) => text);
  return { got, keys: texts("keys").join(""), pastes: texts("paste"), all: got.map(([, text]) => text).join("") };
}

describe("a bracketed paste", () => {
  it("arrives as one text, however it is cut", () => {
    const pasted = "one\ntwo 漢字 👩‍👩‍👧\nthree";
    const input = `a\u001b[200~${pasted}\u001b[201~b`;
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: input.length }), { maxLength: 8 }), (cuts) => {
        const borders = [0, ...cuts.sort((a, b) => a - b), input.length];
        const chunks = borders.slice(1).map((end, index) => input.slice(borders[index], end));
        const { keys, pastes } = collect(chunks);
        expect(pastes).toEqual([pasted]);
        expect(keys).toBe("ab");
      }),
    );
  });

  it("keeps escape sequences in it as text", () => {
    expect(collect(["\u001b[200~x\u001b[31my\u0003\r\u001b[201~"]).pastes).toEqual(["x\u001b[31my\u0003\r"]);
  });

  it("whose end never comes is ended by Ctrl+C, with what had come", () => {
    expect(collect(["\u001b[200~lost ", "end", "\u0003", "k"])).toMatchObject({ pastes: ["lost end"], keys: "k" });
  });
});

describe("keys", () => {
  it("pass as they come, also a lone Escape and sequences that begin like a paste", () => {
    expect(collect(["a", "\u001b", "[2", "J", "\u001b"]).keys).toBe("a\u001b[2J\u001b");
  });

  it("that come faster than anybody types lose and double nothing, and no character is cut", () => {
    const text = `${"漢👍x".repeat(1700)}\r${"y".repeat(39)}\u001b[A`;
    const { all, got } = collect([text]);
    expect(all).toBe(text);
    for (const [, part] of got) expect(part).not.toMatch(/\p{Surrogate}/u);
  });
});
