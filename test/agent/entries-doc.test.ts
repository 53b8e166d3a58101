import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isMalformed, isReplayable, kindsOfEntries } from "../../src/agent/entry-check.js";
import { State } from "../../src/agent/state.js";
import type { Entry } from "../../src/store/store.js";
import { expectSound } from "./support.js";

const page = readFileSync(new URL("../../docs/format/entries.md", import.meta.url), "utf8");
const examples = (/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Entry);

describe("docs/format/entries.md", () => {
  it("has a row and an example for every kind that is saved", () => {
    const saved = kindsOfEntries.filter((kind) => kind !== "missing");
    const rows = [...page.matchAll(/^\| `([a-z_]+)` \| [^|]+ \| [^|]+ \|$/gm)].map((match) => match[1]);
    expect([...rows].sort()).toEqual([...saved].sort());
    expect([...new Set(examples.map((entry) => entry.kind))].sort()).toEqual([...saved].sort());
  });

  it("has examples that load", () => {
    expect(examples.filter((entry) => isMalformed(entry) || !isReplayable(entry))).toEqual([]);
    const state = State.fromRecord("doc", { entries: examples, snapshot: undefined });
    expect(state.history).toEqual(examples);
    expect(state.name).toBe("failing test");
    expect(state.data).toEqual({ tries: 1 });
    expect(state.answer).toBe("fixed");
    expectSound(state);
  });
});
