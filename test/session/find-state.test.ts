import { describe, expect, it } from "vitest";
import { PerdureError } from "../../src/errors.js";
import { findState, latestState } from "../../src/session/find-state.js";
import type { SavedState } from "../../src/store/store.js";

function row(id: string, more: Partial<SavedState> = {}): SavedState {
  const at = "2026-01-01T00:00:00.000Z";
  return {
    ...{ id, task: `task of ${id}`, name: undefined, createdAt: at, updatedAt: at },
    ...{ stoppedBy: undefined, historyLength: 1, snapshot: undefined },
    ...more,
  };
}

function refusal(work: () => unknown): PerdureError {
  try {
    work();
  } catch (error) {
    if (error instanceof PerdureError) return error;
  }
  throw new Error("not refused");
}

describe("a reference", () => {
  it("is an id before a name, a name before the beginning of an id, and any case of a name last", () => {
    const rows = [row("abc", { name: "xyz" }), row("xyz"), row("xyzzy", { name: "ab" }), row("q", { name: "Parser" })];
    expect(findState(rows, "xyz").id).toBe("xyz");
    expect(findState(rows, "ab").id).toBe("xyzzy");
    expect(findState(rows, "abc").id).toBe("abc");
    expect(findState(rows, "xyzz").id).toBe("xyzzy");
    expect(findState(rows, "parser").id).toBe("q");
  });

  it("is an id in its own case only", () => {
    expect(refusal(() => findState([row("abcd")], "ABC")).code).toBe("STATE_NOT_FOUND");
  });

  it("that may be several is refused with all of them, and the task or name of each", () => {
    const rows = [row("ab1", { name: "first" }), row("ab2"), row("b")];
    const error = refusal(() => findState(rows, "ab"));
    expect(error.code).toBe("STATE_AMBIGUOUS");
    expect(error.message).toMatch(/"ab"[\s\S]*ab1 {2}first[\s\S]*ab2 {2}task of ab2/);
    const same = [row("a", { name: "n" }), row("b", { name: "n" })];
    expect(refusal(() => findState(same, "n")).code).toBe("STATE_AMBIGUOUS");
    expect(findState(same, "a").id).toBe("a");
  });

  it.each(["nosuch", "", "../../victim", "/tmp/victim", "..", "a/b", "%00", "x".repeat(5000)])(
    "that is nothing is refused by repeating it: %s",
    (ref) => {
      const error = refusal(() => findState([row("abc")], ref));
      expect(error.code).toBe("STATE_NOT_FOUND");
      expect(error.problem).toContain(ref.slice(0, 100));
      expect(error.problem.length).toBeLessThan(300);
      expect(error.message).toContain("chat list");
    },
  );

  it("that would drive the terminal is repeated without that", () => {
    expect(refusal(() => findState([], "x\u001b[2J\ny")).problem).not.toMatch(/[\u001b\n]/);
  });

  it("to a damaged conversation is refused with what is wrong, and allowed for deleting it", () => {
    const rows = [row("bad", { problem: "log.jsonl is a folder" }), row("good")];
    const error = refusal(() => findState(rows, "bad"));
    expect(error.code).toBe("STATE_DAMAGED");
    expect(error.problem).toContain("log.jsonl is a folder");
    expect(findState(rows, "bad", { damaged: "allow" }).id).toBe("bad");
    expect(findState(rows, "good").id).toBe("good");
  });
});

describe("the latest conversation", () => {
  it("is the first that can be read", () => {
    expect(latestState([row("bad", { problem: "damaged" }), row("b"), row("a")]).id).toBe("b");
  });

  it("is none when there is none, or none that can be read", () => {
    expect(refusal(() => latestState([])).code).toBe("STATE_NONE");
    expect(refusal(() => latestState([row("bad", { problem: "damaged" })])).problem).toContain("1 damaged");
  });
});
