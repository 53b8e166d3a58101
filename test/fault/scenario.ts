import { Agent } from "../../src/agent/agent.js";
import type { Clock } from "../../src/agent/clock.js";
import { State } from "../../src/agent/state.js";
import type { Tool } from "../../src/agent/tool.js";
import type { Draft, Entry, Snapshot, Store } from "../../src/store/store.js";
import { MemoryStore } from "../../src/testing/memory-store.js";
import { ScriptedModel } from "../../src/testing/scripted-model.js";

/** One thing that a process does. `write`: everything up to `length` that was not acknowledged yet. */
export type Step =
  | { readonly do: "write"; readonly id: string; readonly length: number; readonly snapshot: Snapshot | undefined }
  | { readonly do: "delete"; readonly id: string }
  /** What a reply has said while it streams; undefined when it is durable. */
  | { readonly do: "draft"; readonly id: string; readonly draft: Draft | undefined }
  /** Closes what it has open; another process goes on. */
  | { readonly do: "reopen" }
  /** kill -9; another process goes on. */
  | { readonly do: "kill" }
  /** Another process looks, and tries to write. */
  | { readonly do: "intrude"; readonly id: string };

export interface Scenario {
  readonly name: string;
  readonly histories: ReadonlyMap<string, readonly Entry[]>;
  readonly steps: readonly Step[];
}

/** What an Agent asked its store to write, by the way of a real conversation. */
interface Recorded {
  readonly id: string;
  readonly history: readonly Entry[];
  readonly steps: readonly Step[];
}

function clockOf(): Clock {
  let time = Date.UTC(2026, 0, 1);
  return { now: () => (time += 1000), sleep: () => Promise.resolve() };
}

class RecordingStore implements Store {
  readonly key = "recording";
  readonly steps: Step[] = [];
  readonly history: Entry[] = [];
  readonly #store = new MemoryStore();

  async write(...[id, entries, snapshot, options]: Parameters<Store["write"]>): Promise<void> {
    await this.#store.write(id, entries, snapshot, options);
    this.history.push(...JSON.parse(JSON.stringify(entries)));
    const saved = snapshot === undefined ? undefined : JSON.parse(JSON.stringify(snapshot));
    this.steps.push({ do: "write", id, length: this.history.length, snapshot: saved });
  }

  read(id: string): ReturnType<Store["read"]> {
    return this.#store.read(id);
  }
}

function tool(name: string, text: () => Promise<string> | string): Tool {
  return {
    name,
    description: name,
    inputSchema: { type: "object" },
    parse: (input) => input,
    run: async () => ({ text: await text() }),
  };
}

/** A message, three calls at once that end in another order than they began, an answer. */
export async function recordParallelCalls(id = "parallel"): Promise<Recorded> {
  const store = new RecordingStore();
  const clock = clockOf();
  const state = new State("look at € and \u2028", { id, clock });
  const calls = [{ name: "slow" }, { name: "quick" }, { name: "quick" }];
  const model = new ScriptedModel([{ text: "I look.", calls }, "Seen."]);
  let quick = 0;
  let allQuick: () => void = () => undefined;
  const untilQuick = new Promise<void>((resolve) => {
    allQuick = resolve;
  });
  const tools = [
    tool("slow", () => untilQuick.then(() => "slow result")),
    tool("quick", () => {
      if (++quick === 2) setImmediate(allQuick);
      return `quick result ${quick}`;
    }),
  ];
  await new Agent({ model, store, tools, clock }).run(state);
  return { id, history: store.history, steps: store.steps };
}

/** Two turns, a name, data, a compaction, another turn. */
export async function recordCompaction(id = "compacted"): Promise<Recorded> {
  const store = new RecordingStore();
  const clock = clockOf();
  const state = new State("first", { id, clock });
  const agent = new Agent({ model: new ScriptedModel(["one", "two", "a summary", "three"]), store, clock });
  await agent.run(state);
  state.addUserMessage("second");
  state.data.step = 2;
  await agent.run(state);
  state.rename("the one with a summary");
  await agent.compact(state);
  state.addUserMessage("third");
  await agent.run(state);
  return { id, history: store.history, steps: store.steps };
}

/** A message and its answer. */
export async function recordShort(id: string): Promise<Recorded> {
  const store = new RecordingStore();
  const clock = clockOf();
  await new Agent({ model: new ScriptedModel(["yes"]), store, clock }).run(
    new State(`a message to ${id}`, { id, clock }),
  );
  return { id, history: store.history, steps: store.steps };
}

/** The first request's reply as it streams, before the save that brings it. */
function streaming({ id, history, steps }: Recorded): Step[] {
  const requestSeq = history.findIndex(({ kind }) => kind === "request");
  const replySaved = steps.findIndex((step) => step.do === "write" && step.length > requestSeq + 1);
  const drafts = ["I", "I lo", "I look."].map((text): Step => ({ do: "draft", id, draft: { requestSeq, text } }));
  const removed: Step = { do: "draft", id, draft: undefined };
  return [...steps.slice(0, replySaved), ...drafts, ...steps.slice(replySaved, replySaved + 1), removed];
}

function scenario(name: string, recorded: readonly Recorded[], steps: readonly Step[]): Scenario {
  return { name, histories: new Map(recorded.map(({ id, history }) => [id, history])), steps };
}

/** Puts a step in after every `every` steps. */
function between(steps: readonly Step[], every: number, ...added: Step[]): Step[] {
  return steps.flatMap((step, index) => ((index + 1) % every === 0 ? [step, ...added] : [step]));
}

export async function scenarios(): Promise<Scenario[]> {
  const parallel = await recordParallelCalls();
  const compacted = await recordCompaction();
  const [kept, gone] = [await recordShort("kept"), await recordShort("gone")];
  return [
    scenario("parallel calls", [parallel], parallel.steps),
    scenario("compaction", [compacted], compacted.steps),
    scenario("a reply that streams", [parallel], streaming(parallel)),
    scenario("reopened after every second save", [parallel], between(parallel.steps, 2, { do: "reopen" })),
    scenario("killed after every second save", [parallel], between(parallel.steps, 2, { do: "kill" })),
    scenario("a second process", [parallel], between(parallel.steps, 3, { do: "intrude", id: "parallel" })),
    scenario(
      "delete one of two",
      [kept, gone],
      [...gone.steps, ...kept.steps.slice(0, 2), { do: "delete", id: "gone" }, ...kept.steps.slice(2)],
    ),
  ];
}
