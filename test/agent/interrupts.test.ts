import { describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { SignalAbort, UserInterrupt } from "../../src/agent/interrupt.js";
import { State } from "../../src/agent/state.js";
import { abortOnSignal } from "../../src/index.js";
import { modelError } from "../../src/model/model-error.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";
import { expectSound, gate, kinds, makeStore, results, tool } from "./support.js";

/** Graces and retries take one turn of the event loop. */
const clock = { now: () => 0, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };

async function abortDuringTool(reason: unknown, run: (signal: AbortSignal) => Promise<string>) {
  const { store } = makeStore();
  const controller = new AbortController();
  const running = gate();
  const model = new ScriptedModel([{ calls: [{ name: "wait" }] }, "next"]);
  const wait = tool("wait", (_, { signal }) => {
    running.open();
    return run(signal);
  });
  const agent = new Agent({ model, store, tools: [wait], clock });
  const state = new State("go");
  const run_ = agent.run(state, { signal: controller.signal });
  await running.promise;
  controller.abort(reason);
  await expect(run_).rejects.toBe(reason);
  expectSound(state);
  expect((await store.load(state.id)).history).toEqual(state.history);
  return { state, agent, model };
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<string>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

describe("a run that is stopped while a tool runs", () => {
  it("closes the call as interrupted by the person after Ctrl+C, and the next message goes on", async () => {
    const { state, agent, model } = await abortDuringTool(new UserInterrupt(), untilAborted);
    expect(results(state)).toEqual(["(interrupted by user)"]);
    expect(state.stoppedBy).toBe("interrupted");
    state.addUserMessage("go on");
    expect(await agent.run(state)).toBe("next");
    expect(model.requests[1]?.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  it("closes it with the signal's name after SIGTERM, and with the error's name after an exception", async () => {
    const term = await abortDuringTool(new SignalAbort("SIGTERM"), untilAborted);
    expect(results(term.state)).toEqual(["(aborted: SIGTERM)"]);
    expect(term.state.stoppedBy).toBe("aborted:SIGTERM");
    const error = await abortDuringTool(new TypeError("bug"), untilAborted);
    expect(results(error.state)).toEqual(["(aborted: TypeError)"]);
    expect(error.state.stoppedBy).toBe("aborted:TypeError");
  });

  it("is not held by a tool that ignores its signal", async () => {
    const { state } = await abortDuringTool(new UserInterrupt(), () => new Promise(() => undefined));
    expect(results(state)).toEqual(["(interrupted by user)"]);
  });

  it("keeps what the tool returns when it is told to stop", async () => {
    const { state } = await abortDuringTool(
      new UserInterrupt(),
      (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("half of it"))),
    );
    expect(results(state)).toEqual(["half of it\n(interrupted by user)"]);
  });

  it("says of calls that had not started that they did not run", async () => {
    const { store } = makeStore();
    const controller = new AbortController();
    const running = gate();
    const model = new ScriptedModel([{ calls: [{ name: "a" }, { name: "b" }] }]);
    const agent = new Agent({
      model,
      store,
      clock,
      tools: [
        tool("a", (_, { signal }) => {
          running.open();
          return untilAborted(signal);
        }),
        tool("b", () => "never"),
      ],
      permissions: [
        async ({ call }) => {
          if (call.name === "a") return { allow: true };
          await running.promise;
          controller.abort(new SignalAbort("SIGTERM"));
          return new Promise(() => undefined);
        },
      ],
    });
    const state = new State("go");
    await expect(agent.run(state, { signal: controller.signal })).rejects.toThrow("SIGTERM");
    expect(results(state).sort()).toEqual(["(aborted: SIGTERM)", "(not run: aborted: SIGTERM)"]);
    expectSound(state);
  });
});

describe("a run that is stopped while the model streams", () => {
  it("keeps the text that was shown, marked as cut off, and sends it with the next request", async () => {
    const { store } = makeStore();
    const controller = new AbortController();
    const model = new ScriptedModel([{ chunks: ["MARK-P ", "first half"], stall: true }, "whole"]);
    const agent = new Agent({
      model,
      store,
      onEvent: (event) => event.type === "text" && event.text === "first half" && controller.abort(new UserInterrupt()),
    });
    const state = new State("go");
    await expect(agent.run(state, { signal: controller.signal })).rejects.toThrow("interrupted");
    const loaded = await store.load(state.id);
    expect(loaded.history).toContainEqual(
      expect.objectContaining({ kind: "reply", text: "MARK-P first half", cutOff: "interrupted by user", calls: [] }),
    );
    loaded.addUserMessage("go on");
    await agent.run(loaded);
    expect(model.requests[1]?.messages).toEqual([
      { role: "user", text: "go" },
      { role: "assistant", text: "MARK-P first half", calls: [] },
      { role: "user", text: "[notice] the reply above was cut off: interrupted by user" },
      { role: "user", text: "go on" },
    ]);
  });

  it("does not wait for a model that ignores its signal", async () => {
    const controller = new AbortController();
    const asked = gate();
    const model = {
      name: "deaf",
      async *stream(): AsyncGenerator<never> {
        asked.open();
        await new Promise(() => undefined);
      },
    };
    const run = new Agent({ model }).run(new State("go"), { signal: controller.signal });
    await asked.promise;
    controller.abort(new UserInterrupt());
    await expect(run).rejects.toThrow("interrupted by user");
  });

  it("does nothing at all when it is stopped before it starts", async () => {
    const state = new State("go");
    const reason = new UserInterrupt();
    const run = new Agent({ model: new ScriptedModel([]) }).run(state, { signal: AbortSignal.abort(reason) });
    await expect(run).rejects.toBe(reason);
    expect(kinds(state.history)).toEqual(["user"]);
  });
});

describe("a stream that is cut in the middle", () => {
  it("is kept, saved and asked again", async () => {
    const { store } = makeStore();
    const model = new ScriptedModel([{ chunks: ["half"], cut: true }, "whole answer"]);
    const retries: string[] = [];
    const agent = new Agent({
      model,
      store,
      clock,
      onEvent: (event) => event.type === "retry" && retries.push(`${event.attempt}: ${event.reason}`),
    });
    const state = new State("go");
    expect(await agent.run(state)).toBe("whole answer");
    expect(model.requests[1]?.messages.slice(1)).toEqual([
      { role: "assistant", text: "half", calls: [] },
      { role: "user", text: expect.stringContaining("[notice] the reply above was cut off: ") },
    ]);
    expect(retries).toEqual(["1: The connection was lost in the middle of the reply."]);
    expect((await store.load(state.id)).history).toEqual(state.history);
  });

  it("is given up after the third time; the message stays answerable", async () => {
    const cut = { chunks: ["half"], cut: true } as const;
    const model = new ScriptedModel([cut, cut, { chunks: [], cut: true }, "at last"]);
    const agent = new Agent({ model, clock });
    const state = new State("go");
    await expect(agent.run(state)).rejects.toMatchObject({ code: "MODEL_STREAM_CUT" });
    expect(state.stoppedBy).toBe("error");
    expect(await agent.run(state)).toBe("at last");
    expectSound(state);
  });

  it("also when the model just stops, and its calls do not run", async () => {
    let ran = false;
    const model = {
      name: "short",
      count: 0,
      async *stream() {
        this.count += 1;
        if (this.count === 1) yield { type: "call", call: { id: "x", name: "pay", input: {} } } as const;
        else {
          yield { type: "text", text: "ok" } as const;
          yield { type: "finish", reason: "stop", usage: {} } as const;
        }
      },
    };
    const pay = tool("pay", () => {
      ran = true;
      return "";
    });
    expect(await new Agent({ model, clock, tools: [pay] }).run("go")).toBe("ok");
    expect(ran).toBe(false);
  });

  it("at the output limit runs none of its calls: the last may be half", async () => {
    let ran = false;
    const pay = tool("pay", () => {
      ran = true;
      return "";
    });
    const model = new ScriptedModel([{ calls: [{ name: "pay" }], finish: "length" }, "shorter"]);
    expect(await new Agent({ model, tools: [pay] }).run("go")).toBe("shorter");
    expect(ran).toBe(false);
  });
});

describe("a request that fails for good", () => {
  it("is recorded, saved and thrown as it is; another run answers the message", async () => {
    const { store } = makeStore();
    const error = modelError("MODEL_UNREACHABLE", "No connection to the model.", "Check the network.");
    const model = new ScriptedModel([{ error }, "hello"]);
    const agent = new Agent({ model, store });
    const state = new State("MARK-1");
    await expect(agent.run(state)).rejects.toBe(error);
    const loaded = await store.load(state.id);
    expect(loaded.history).toContainEqual(
      expect.objectContaining({
        kind: "error",
        step: "request",
        message: "No connection to the model.",
        code: "MODEL_UNREACHABLE",
      }),
    );
    expect(await agent.run(loaded)).toBe("hello");
    expect(model.requests[1]?.messages).toEqual([{ role: "user", text: "MARK-1" }]);
  });

  it("keeps the message also when the model cannot even be opened", async () => {
    const { store } = makeStore();
    const state = new State("MARK-1");
    const agent = new Agent({ model: "no-such-provider/x", store });
    await expect(agent.run(state)).rejects.toMatchObject({ code: "MODEL_NOT_FOUND" });
    expect((await store.load(state.id)).task).toBe("MARK-1");
    expect(await agent.copy({ model: new ScriptedModel(["hello"]) }).run(state)).toBe("hello");
  });
});

describe("abortOnSignal", () => {
  it("turns a signal into an abort, until it is disposed of", () => {
    const before = process.listenerCount("SIGUSR2");
    const { signal, dispose } = abortOnSignal(["SIGUSR2"]);
    process.emit("SIGUSR2");
    expect(signal.reason).toMatchObject({ name: "SignalAbort", signal: "SIGUSR2" });
    dispose();
    expect(process.listenerCount("SIGUSR2")).toBe(before);
  });
});
