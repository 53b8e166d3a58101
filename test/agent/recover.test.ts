import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { SignalAbort, UserInterrupt } from "../../src/agent/interrupt.js";
import type { Permission } from "../../src/agent/permissions.js";
import { State } from "../../src/agent/state.js";
import type { RecoverContext, Recovered, Tool, WhenUnknown } from "../../src/agent/tool.js";
import type { FileStore } from "../../src/index.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { copyOfStore, expectSound, gate, kinds, makeStore, results, tool } from "./support.js";

const unknown = /^\(unknown: the run stopped before this result was saved/;
const notRun = "(not run: the run stopped before this call started)";
const boot = (id: string) => ({ boot: { id, isSame: (other: string) => other === id } });

/** The store as a process left it that died while these tools ran. */
async function left(...names: string[]): Promise<FileStore> {
  const { store, root } = makeStore();
  let copy: FileStore | undefined;
  const dies = tool("dies", () => {
    copy ??= copyOfStore(root);
    return "";
  });
  const model = new ScriptedModel([{ calls: names.map((name) => ({ name })) }, "done"]);
  const tools = names.map((name) => ({ ...dies, name }));
  await new Agent({ model, store, tools, context: boot("first") }).run(new State("go", { id: "s" }));
  if (copy === undefined) throw new Error("no tool ran");
  return copy;
}

function recovering(name: string, recover: (context: RecoverContext) => Promise<Recovered> | Recovered): Tool {
  return {
    ...tool(name, () => {
      throw new Error("it must not run again");
    }),
    recover: async (_, context) => recover(context),
  };
}

const agentWith = (store: FileStore, tools: Tool[], more: Partial<ConstructorParameters<typeof Agent>[0]> = {}) =>
  new Agent({ model: new ScriptedModel(["Seen."]), store, tools, context: boot("first"), ...more });

describe("calls that an earlier process left open", () => {
  it("are closed as unknown by loading, unless they are asked for", async () => {
    const store = await left("work");
    expect((await store.load("s")).openCalls).toEqual([]);
    const state = await store.load("s", { openCalls: "keep" });
    expect(state.openCalls).toMatchObject([{ name: "work" }]);
    expect(results(state)).toEqual([]);
    expectSound(state);
  });

  it("get what their tool finds out, each saved as it comes, and then the model is asked", async () => {
    const store = await left("quick", "slow");
    const state = await store.load("s", { openCalls: "keep" });
    const slow = gate<string>();
    const agent = agentWith(store, [
      recovering("quick", () => ({ text: "quick result", durationMs: 7 })),
      recovering("slow", async () => ({ text: await slow.promise })),
    ]);
    const saved = gate();
    state.onEntry((entry) => entry.kind === "result" && saved.open());
    const done = agent.recover(state);
    await saved.promise;
    await agent.save(state);
    expect(results(await store.load("s"))[0]).toBe("quick result");
    slow.open("slow result");
    await done;
    expect(results(state)).toEqual(["quick result", "slow result"]);
    expect(state.history.find((entry) => entry.kind === "result")).toMatchObject({ durationMs: 7, outcome: "ok" });
    expect(await agent.run(state)).toBe("Seen.");
    expectSound(state);
    expect(results(await store.load("s"))).toEqual(["quick result", "slow result"]);
  });

  it("are found out about by run before anything else", async () => {
    const store = await left("work");
    const state = await store.load("s", { openCalls: "keep" });
    expect(await agentWith(store, [recovering("work", () => ({ text: "found" }))]).run(state)).toBe("Seen.");
    expect(results(state)).toEqual(["found"]);
  });

  it("are never just run by useTools", async () => {
    const store = await left("work");
    const state = await store.load("s", { openCalls: "keep" });
    let ran = 0;
    await agentWith(store, [tool("work", () => `ran ${++ran}`)]).useTools(state);
    expect(ran).toBe(0);
    expect(results(state)[0]).toMatch(unknown);
  });

  it.each<[Recovered | Error, string | RegExp, string]>([
    ["not_run", notRun, "not_run"],
    ["unknown", unknown, "unknown"],
    [{ unknown: "the file was changed" }, /^\(unknown: [\s\S]*\n\(the file was changed\)$/, "unknown"],
    [new Error("cannot look"), /^\(unknown: [\s\S]*\n\(cannot look\)$/, "unknown"],
  ])("say what is known: %j", async (found, text, outcome) => {
    const store = await left("work");
    const state = await store.load("s", { openCalls: "keep" });
    const recover = () => {
      if (found instanceof Error) throw found;
      return found;
    };
    await agentWith(store, [recovering("work", recover)]).recover(state);
    expect(results(state)[0]).toMatch(text);
    expect(state.history.find((entry) => entry.kind === "result")).toMatchObject({ outcome, isError: true });
  });

  it("know whether the machine was restarted meanwhile", async () => {
    const seen: boolean[] = [];
    for (const id of ["first", "second"]) {
      const store = await left("work");
      const state = await store.load("s", { openCalls: "keep" });
      const look = recovering("work", ({ restarted, wasStarted }) => {
        seen.push(restarted, wasStarted);
        return "unknown";
      });
      await agentWith(store, [look], { context: boot(id) }).recover(state);
    }
    expect(seen).toEqual([false, true, true, true]);
  });

  it("whose tool is gone are unknown", async () => {
    const store = await left("work");
    const state = await store.load("s", { openCalls: "keep" });
    await agentWith(store, []).recover(state);
    expect(results(state)[0]).toMatch(unknown);
  });

  it("are told to their tool when they are durable, so that it can clean up", async () => {
    const store = await left("work");
    const state = await store.load("s", { openCalls: "keep" });
    const settled: string[] = [];
    const work: Tool = {
      ...recovering("work", () => ({ text: "found", outputFile: "/kept" })),
      settle: async ({ callId }, outputFile) => {
        settled.push(`${callId} ${outputFile} ${results(await store.load("s"))[0]}`);
      },
    };
    await agentWith(store, [work]).recover(state);
    expect(settled).toEqual([`${state.history.find((entry) => entry.kind === "result")?.callId} /kept found`]);
  });
});

describe("a tool that cannot find out", () => {
  async function recovered(whenUnknown: WhenUnknown, permission?: Permission) {
    const store = await left("work");
    const state = await store.load("s", { openCalls: "keep" });
    const asked: (boolean | undefined)[] = [];
    const spy: Permission = (request) => {
      asked.push(request.mayHaveRun);
      return permission?.(request);
    };
    await agentWith(store, [{ ...tool("work", () => "ran again"), whenUnknown }], { permissions: [spy] }).recover(
      state,
    );
    expectSound(state);
    return { text: results(state)[0], asked };
  }

  it("runs again when it only reads", async () => {
    expect(await recovered("run-again")).toEqual({ text: "ran again", asked: [undefined] });
  });

  it("does not run again by default", async () => {
    const { text, asked } = await recovered("never");
    expect(text).toMatch(unknown);
    expect(asked).toEqual([]);
  });

  it("runs again after a person's yes, who is told that it may have run, and not after a no", async () => {
    expect(await recovered("ask", () => ({ allow: true }))).toEqual({ text: "ran again", asked: [true] });
    expect((await recovered("ask", () => ({ allow: false, reason: "no" }))).text).toMatch(unknown);
  });

  it("does not run again when a permission throws, and says why", async () => {
    const { text } = await recovered("run-again", () => {
      throw new Error("the rules cannot be read");
    });
    expect(text).toMatch(unknown);
    expect(text).toContain("it was not run again: the rules cannot be read");
  });
});

describe("stopping while a call of an earlier process is waited for", () => {
  async function stopped(reason: unknown) {
    const store = await left("work");
    const state = await store.load("s", { openCalls: "keep" });
    const controller = new AbortController();
    let heard: unknown;
    const work = recovering("work", ({ signal }) => {
      controller.abort(reason);
      heard = signal.aborted ? signal.reason : undefined;
      return signal.aborted ? { text: "so far" } : new Promise<never>(() => {});
    });
    const recovering_ = agentWith(store, [work]).recover(state, { signal: controller.signal });
    await expect(recovering_).rejects.toBe(reason);
    return { state, heard, again: await store.load("s", { openCalls: "keep" }) };
  }

  it("by the person: it is ended and closed, and the turn does not go on by itself", async () => {
    const reason = new UserInterrupt();
    const { heard, again } = await stopped(reason);
    expect(heard).toBe(reason);
    expect(results(again)).toEqual(["so far\n(interrupted by user)"]);
    expect(again.cutOffTurn).toBeUndefined();
    expect(kinds(again.history).at(-1)).toBe("run_end");
  });

  it("by a signal that leaves calls running: nothing changes", async () => {
    const { heard, state, again } = await stopped(new SignalAbort("SIGHUP", { leavesCalls: true }));
    expect(heard).toBeUndefined();
    expect(state.openCalls).toHaveLength(1);
    expect(again.openCalls).toHaveLength(1);
    expect(results(again)).toEqual([]);
    expect(again.cutOffTurn).toMatchObject({ cause: "killed" });
  });
});

describe("a run that a signal ends and that leaves its calls", () => {
  it("leaves those open that can be taken up, and closes the others", async () => {
    const { store } = makeStore();
    const controller = new AbortController();
    const reason = new SignalAbort("SIGHUP", { leavesCalls: true });
    const started = gate();
    const model = new ScriptedModel([{ calls: [{ name: "outlives" }, { name: "ends" }] }]);
    const outlives: Tool = {
      ...tool("outlives", () => new Promise<never>(() => started.open())),
      recover: async () => ({ text: "its real result" }),
    };
    const ends = tool("ends", async (_, { signal }) => {
      await started.promise;
      controller.abort(reason);
      throw signal.reason;
    });
    const state = new State("go", { id: "s" });
    const agent = new Agent({ model, store, tools: [outlives, ends] });
    await expect(agent.run(state, { signal: controller.signal })).rejects.toBe(reason);
    expect(results(state)).toEqual(["(aborted: SIGHUP)"]);
    expect(state.history.at(-1)).toMatchObject({ kind: "run_end", reason: "aborted:SIGHUP" });
    expectSound(state);

    const again = await store.load("s", { openCalls: "keep" });
    expect(again.openCalls).toMatchObject([{ name: "outlives" }]);
    expect(again.cutOffTurn).toMatchObject({ cause: "aborted:SIGHUP" });
    const next = new Agent({ model: new ScriptedModel(["Seen."]), store, tools: [outlives, ends] });
    expect(await next.run(again)).toBe("Seen.");
    expect(results(again)).toEqual(["(aborted: SIGHUP)", "its real result"]);
    expectSound(again);
  });
});

describe("a command of the person's that was left open", () => {
  it("is closed as unknown by loading, unless it is asked for, and the model is told", async () => {
    const { store } = makeStore();
    const state = new State("go", { id: "s" });
    state.record({ kind: "shell_started", callId: "shell_1", command: "make" });
    await new Agent({ model: new ScriptedModel([]), store }).save(state);
    expect((await store.load("s", { openCalls: "keep" })).openShell).toMatchObject({ command: "make" });
    const closed = await store.load("s");
    expect(closed.openShell).toBeUndefined();
    expect(closed.context.at(-1)).toMatchObject({ text: expect.stringMatching(/\$ make\n\(unknown: [^)]*\)$/) });
    expectSound(closed);
  });
});
