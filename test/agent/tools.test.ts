import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.js";
import { defineTool } from "../../src/agent/define-tool.js";
import type { Permission } from "../../src/agent/permissions.js";
import { State } from "../../src/agent/state.js";
import { type ToolContext, ToolError } from "../../src/agent/tool.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { expectSound, gate, kinds, makeStore, results, tool } from "./support.js";

async function resultOf(
  run: () => string | Promise<string>,
): Promise<{ text: string; isError: boolean; state: State }> {
  const model = new ScriptedModel([{ calls: [{ name: "it" }] }, "done"]);
  const state = new State("go");
  await new Agent({ model, tools: [tool("it", run)] }).run(state);
  expectSound(state);
  const entry = state.history.find((candidate) => candidate.kind === "result");
  if (entry?.kind !== "result") throw new Error("no result");
  return { text: entry.text, isError: entry.isError, state };
}

describe("what the model gets of a tool", () => {
  it("that throws is an error result, and the run goes on: a ToolError in its own words, another with its name", async () => {
    const own = await resultOf(() => {
      throw new ToolError("No such file: x");
    });
    expect(own).toMatchObject({ text: "No such file: x", isError: true });
    const other = await resultOf(() => {
      throw new RangeError("too far");
    });
    expect(other).toMatchObject({ text: "RangeError: too far", isError: true });
    expect(other.state.answer).toBe("done");
  });

  it("is well-formed, cut to 64 KiB with what was left out counted, and never blank", async () => {
    const huge = await resultOf(() => `${"A".repeat(12 << 20)}END`);
    expect(Buffer.byteLength(huge.text)).toBeLessThanOrEqual(64 << 10);
    expect(huge.text.endsWith("END")).toBe(true);
    const entry = huge.state.history.find((candidate) => candidate.kind === "result");
    expect(entry).toMatchObject({ omittedBytes: expect.any(Number) });
    expect((await resultOf(() => "a\ud800b\0c")).text).toBe("a\ufffdb\ufffdc");
    const blank = await resultOf(() => " \n");
    expect(blank.state.context[2]).toMatchObject({ results: [{ text: "(no output)" }] });
  });

  it("is an error naming what is wrong for a tool there is not, and for an input that is not right", async () => {
    const read = defineTool({
      name: "read",
      description: "reads",
      input: z.object({ path: z.string(), lines: z.number().optional() }),
      run: ({ path }) => path,
    });
    const model = new ScriptedModel([
      { calls: [{ name: "raed" }, { name: "read", input: { path: 7 } }, { name: "read", input: "x" }] },
      "done",
    ]);
    const state = new State("go");
    await new Agent({ model, tools: [read] }).run(state);
    const texts = results(state);
    expect(texts).toContainEqual('There is no tool named "raed". Did you mean read? The tools are: read.');
    expect(texts).toContainEqual(expect.stringMatching(/^The input is not right: path: /));
    expect(texts).toHaveLength(3);
    expect(kinds(state.history)).not.toContain("call_started");
  });
});

describe("calls of one turn", () => {
  it("run at the same time, and are placed in the order of the calls", async () => {
    const both = [gate(), gate()] as const;
    const model = new ScriptedModel([{ calls: [{ name: "a" }, { name: "b" }] }, "done"]);
    const meet = (mine: 0 | 1, other: 0 | 1, text: string) => async () => {
      both[mine].open();
      await both[other].promise;
      return text;
    };
    const state = new State("go");
    await new Agent({ model, tools: [tool("a", meet(0, 1, "A")), tool("b", meet(1, 0, "B"))] }).run(state);
    expect(state.context[2]).toMatchObject({ results: [{ text: "A" }, { text: "B" }] });
  });

  it("get ids of the agent's own, unique in the conversation and safe in paths", async () => {
    const seen: string[] = [];
    const note = tool("note", (_, context: ToolContext) => {
      seen.push(context.callId);
      return "";
    });
    const same = {
      calls: [
        { name: "note", id: "../x" },
        { name: "note", id: "../x" },
      ],
    };
    await new Agent({ model: new ScriptedModel([same, same, "done"]), tools: [note] }).run("go");
    expect(new Set(seen).size).toBe(4);
    for (const id of seen) expect(id).toMatch(/^call_\d+_\d+$/);
  });

  it("never hold half a surrogate pair, also in the input's keys", async () => {
    let input: unknown;
    const model = new ScriptedModel([{ calls: [{ name: "it", input: { "\ud99c": ["\ud99c"] } }] }, "done"]);
    const it_ = tool("it", (given) => {
      input = given;
      return "";
    });
    await new Agent({ model, tools: [it_] }).run("go");
    expect(input).toEqual({ "\ufffd": ["\ufffd"] });
  });
});

describe("permissions", () => {
  it("are asked in order, one at a time, while calls that are allowed run", async () => {
    const answerC = gate();
    const ran: string[] = [];
    const asking: string[] = [];
    const model = new ScriptedModel([{ calls: [{ name: "a" }, { name: "b" }, { name: "c" }] }, "done"]);
    const slow: Permission = async ({ call }) => {
      asking.push(call.name);
      if (call.name === "c") await answerC.promise;
      asking.splice(asking.indexOf(call.name), 1);
      return { allow: true };
    };
    const run = (name: string) =>
      tool(name, () => {
        ran.push(name);
        expect(asking.length).toBeLessThanOrEqual(1);
        if (ran.length === 2) answerC.open();
        return name;
      });
    await new Agent({ model, tools: [run("a"), run("b"), run("c")], permissions: [slow] }).run("go");
    expect(ran).toEqual(["a", "b", "c"]);
  });

  it("that refuse give the model the reason; the others of the turn run", async () => {
    const model = new ScriptedModel([{ calls: [{ name: "a" }, { name: "b" }] }, "done"]);
    const no: Permission = ({ call }) => (call.name === "a" ? { allow: false, reason: "not on Sundays" } : undefined);
    const state = new State("go");
    const agent = new Agent({ model, tools: [tool("a", () => "A"), tool("b", () => "B")], permissions: [no] });
    expect(await agent.run(state)).toBe("done");
    expect(state.context[2]).toMatchObject({
      results: [{ text: "(refused: not on Sundays)", isError: true }, { text: "B" }],
    });
  });

  it("that stop end the run before its next step; the next message goes on", async () => {
    const model = new ScriptedModel([{ calls: [{ name: "a" }] }, "as you wish"]);
    const no: Permission = () => ({ allow: false, reason: "stop it", stop: true });
    const state = new State("go");
    const agent = new Agent({ model, tools: [tool("a", () => "A")], permissions: [no] });
    expect(await agent.run(state)).toBeUndefined();
    expect(state.stoppedBy).toBe("denied");
    expect(model.requests).toHaveLength(1);
    state.addUserMessage("do something else");
    expect(await agent.run(state)).toBe("as you wish");
    expectSound(state);
  });

  it("that are remembered are kept with the conversation, for the folder they were given in", async () => {
    const { store } = makeStore();
    const seen: number[] = [];
    const rule = { tool: "a", where: "anywhere", cwd: "/work" } as const;
    const ask: Permission = ({ rules }) => {
      seen.push(rules.length);
      return rules.length > 0 ? { allow: true } : { allow: true, remember: rule };
    };
    const options = { store, tools: [tool("a", () => "A")], permissions: [ask] };
    const call = { calls: [{ name: "a" }] };
    const agent = new Agent({ ...options, model: new ScriptedModel([call, call, "done"]), context: { cwd: "/work" } });
    const state = new State("go");
    await agent.run(state);
    const loaded = await store.load(state.id);
    expect(loaded.permissions).toEqual([rule]);
    loaded.addUserMessage("again");
    await agent
      .copy({ model: new ScriptedModel([call, "done"], "scripted/model"), context: { cwd: "/else" } })
      .run(loaded);
    expect(seen).toEqual([0, 1, 0]);
  });

  it("that throw refuse the call", async () => {
    const model = new ScriptedModel([{ calls: [{ name: "a" }] }, "done"]);
    const broken: Permission = () => {
      throw new Error("no terminal");
    };
    const state = new State("go");
    await new Agent({ model, tools: [tool("a", () => "A")], permissions: [broken] }).run(state);
    expect(results(state)).toEqual(["(refused: asking for permission failed: no terminal)"]);
  });
});

describe("defineTool", () => {
  it("says its input in JSON Schema, and gives values as JSON", async () => {
    const sum = defineTool({
      name: "sum",
      description: "adds",
      input: z.object({ a: z.number(), b: z.number().default(1) }),
      run: ({ a, b }) => ({ sum: a + b }),
    });
    expect(sum.inputSchema).toMatchObject({ type: "object", properties: { a: { type: "number" } }, required: ["a"] });
    const model = new ScriptedModel([{ calls: [{ name: "sum", input: { a: 2 } }] }, "done"]);
    const state = new State("go");
    await new Agent({ model, tools: [sum] }).run(state);
    expect(results(state)).toEqual(['{"sum":3}']);
  });

  it("takes a plain JSON Schema, and no schema", async () => {
    const echo = defineTool({
      name: "echo",
      description: "echoes",
      input: { type: "object", properties: { text: { type: "string" } } },
      run: (input) => input.text ?? null,
    });
    const nothing = defineTool({ name: "nothing", description: "does nothing", run: () => undefined });
    const model = new ScriptedModel([
      { calls: [{ name: "echo", input: { text: "hi" } }, { name: "nothing" }] },
      "done",
    ]);
    const state = new State("go");
    await new Agent({ model, tools: [echo, nothing] }).run(state);
    expect(results(state)).toEqual(["hi", ""]);
  });

  it("refuses names that are taken or that APIs refuse", () => {
    const named = (name: string) => tool(name, () => "");
    const make = (...names: string[]) => new Agent({ model: new ScriptedModel([]), tools: names.map(named) });
    expect(() => make("a", "a")).toThrow(expect.objectContaining({ code: "TOOL_NAME_TAKEN" }));
    expect(() => make("a.b")).toThrow(expect.objectContaining({ code: "TOOL_NAME_INVALID" }));
  });
});
