import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.js";
import { State } from "../../src/agent/state.js";
import type { JsonObject } from "../../src/json.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { copyOfStore, FaultyStore, kinds, makeStore, tool } from "./support.js";

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;
class Point {
  constructor(
    readonly x: number,
    readonly y: number,
  ) {}
}

describe("data that is not JSON", () => {
  const cases: [string, unknown, string][] = [
    ["a Date in a list", { items: [1, { when: new Date(0) }] }, "data.items[1].when is a Date"],
    ["undefined", { a: { b: undefined } }, "data.a.b is undefined"],
    ["NaN", { n: Number.NaN }, "data.n is NaN"],
    ["Infinity", { n: [Number.POSITIVE_INFINITY] }, "data.n[0] is Infinity"],
    ["a BigInt", { n: 1n }, "data.n is a bigint"],
    ["a function", { f: () => 1 }, "data.f is a function"],
    ["a Map", { "a key": new Map() }, 'data["a key"] is a Map'],
    ["a Set", { s: new Set() }, "data.s is a Set"],
    ["an object of a class", { p: new Point(1, 2) }, "data.p is a Point"],
    ["a cycle", { c: cyclic }, "data.c.self contains itself"],
    ["a symbol as a key", { o: { [Symbol("s")]: 1 } }, "data.o has a symbol as a key"],
    ["a hole in a list", { l: Array(2) }, "data.l[0] is undefined"],
    ["not an object at all", ["list"], "data is not an object"],
  ];
  for (const [what, data, problem] of cases) {
    it(`is refused before the next model request, naming the place: ${what}`, async () => {
      const { store } = makeStore();
      const model = new ScriptedModel(["never"]);
      const state = new State("hi", { data: data as JsonObject });
      const run = new Agent({ model, store }).run(state);
      await expect(run).rejects.toMatchObject({ code: "STATE_DATA_NOT_JSON", problem });
      expect(model.requests).toEqual([]);
    });
  }

  it("that a tool put there is refused before the next request; what else there is, is saved", async () => {
    const { store } = makeStore();
    const state = new State("hi");
    const model = new ScriptedModel([{ calls: [{ name: "spoil" }] }, "never"]);
    const spoil = tool("spoil", () => {
      state.data = { at: new Date(0) } as never;
      return "SPOILT";
    });
    const agent = new Agent({ model, store, tools: [spoil] });
    await expect(agent.run(state)).rejects.toMatchObject({ code: "STATE_DATA_NOT_JSON", problem: "data.at is a Date" });
    expect(model.requests).toHaveLength(1);
    const saved = await store.read(state.id);
    expect(saved?.entries).toContainEqual(expect.objectContaining({ kind: "result", text: "SPOILT" }));
    state.data = { at: "1970" };
    state.addUserMessage("again");
    await agent.save(state);
    expect((await store.load(state.id)).data).toEqual({ at: "1970" });
  });
});

describe("data", () => {
  it("comes back as it was, whatever JSON it is", async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue({ noUnicodeString: false })), async (data) => {
        const { store } = makeStore();
        const state = new State("hi", { data: data as JsonObject });
        await new Agent({ model: new ScriptedModel([]), store }).save(state);
        expect((await store.load(state.id)).data).toEqual(JSON.parse(JSON.stringify(data)));
      }),
      { numRuns: 25 },
    );
  });

  it("is carried by the next save of any kind: only the keys that changed", async () => {
    const { store, root } = makeStore();
    const faulty = new FaultyStore(store);
    const state = new State("hi", { data: { kept: [1, 2], gone: true } });
    let seen: unknown;
    const model = new ScriptedModel([
      { calls: [{ name: "count" }] },
      async () => {
        seen = (await copyOfStore(root).load(state.id)).data;
        return "done";
      },
    ]);
    const count = tool("count", () => {
      state.data.count = { n: 1 };
      delete state.data.gone;
      return "counted";
    });
    await new Agent({ model, store: faulty, tools: [count] }).run(state);
    expect(seen).toEqual({ kept: [1, 2], count: { n: 1 } });
    const entries = faulty.writes.flatMap((write) => write.entries).filter((entry) => entry.kind === "data");
    expect(entries).toEqual([
      expect.objectContaining({ set: { kept: [1, 2], gone: true }, removed: [] }),
      expect.objectContaining({ set: { count: { n: 1 } }, removed: ["gone"] }),
    ]);
    expect(kinds(state.history).filter((kind) => kind === "data")).toHaveLength(2);
  });

  it("keeps a key named __proto__ a key", async () => {
    const { store } = makeStore();
    const state = new State("hi", { data: JSON.parse('{"__proto__":{"polluted":true}}') as JsonObject });
    await new Agent({ model: new ScriptedModel([]), store }).save(state);
    const loaded = await store.load(state.id);
    expect(Object.keys(loaded.data)).toEqual(["__proto__"]);
    expect("polluted" in loaded.data).toBe(false);
  });
});

describe("after loading", () => {
  it("answers are plain JSON, and errors are text", async () => {
    const { store } = makeStore();
    const state = new State("where?");
    const answer = z.object({ x: z.number(), y: z.number() }).transform(({ x, y }) => new Point(x, y));
    const model = new ScriptedModel([
      '{"x":1,"y":2}',
      { error: Object.assign(new Error("500 it broke"), { code: "MODEL_SERVER" }) },
    ]);
    const agent = new Agent({ model, store });
    const point = await agent.ask(state, "The point?", { schema: answer });
    expect(point).toBeInstanceOf(Point);
    await expect(agent.think(state)).rejects.toThrow("it broke");
    state.finish(new Point(3, 4));
    await agent.save(state);
    const loaded = await store.load(state.id);
    expect(loaded.history).toContainEqual(expect.objectContaining({ kind: "ask", answer: { x: 1, y: 2 } }));
    expect(loaded.history).toContainEqual(
      expect.objectContaining({ kind: "error", message: "500 it broke", code: "MODEL_SERVER" }),
    );
    expect(loaded.answer).toEqual({ x: 3, y: 4 });
    expect(loaded.answer).not.toBeInstanceOf(Point);
    expect(loaded.finished).toBe(true);
  });

  it("an answer that JSON cannot hold is refused, naming the place", () => {
    expect(() => new State("hi").finish({ list: [new Date(0)] })).toThrow(
      expect.objectContaining({ code: "ANSWER_NOT_JSON", problem: "answer.list[0] is a Date" }),
    );
  });
});
