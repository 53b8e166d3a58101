import { State } from "../../src/agent/state.js";
import { codeOf, hasCode } from "../../src/errors.js";
import type { FileStore } from "../../src/store/file-store.js";
import { DEAD } from "./crash-disk.js";
import { type Call, type CallFault, CrashMachine, type Process } from "./crash-machine.js";
import { type Expected, frozen, InvariantBroken } from "./invariants.js";
import { storeOf } from "./play.js";
import { Random } from "./random.js";
import { checkImage, checkLive, waysToFail } from "./search.js";

const IDS = ["a", "b", "c"];
const LIVES = 5;
const STEPS = 12;

/** What a life of the swarm has of a conversation: the State it works on, and what must be in the store. */
interface Conversation {
  readonly state: State;
  readonly expected: Expected;
  /** It was found by this process, or made by it. */
  isThere: boolean;
}

/**
 * One long random run, which a seed decides: processes that save, close, delete, are killed or lose power, on a disk that
 * fails in ways of which some are switched off for this run. Throws InvariantBroken at the first thing that is wrong.
 */
export class SwarmRun {
  /** For the message of a failure. */
  readonly way: string[] = [];
  private readonly random: Random;
  private readonly conversations = new Map<string, Conversation>();
  private readonly failing: readonly Call["name"][];
  private readonly faultRate: number;
  private machine = new CrashMachine();
  private process: Process = this.machine.process();
  private store: FileStore = storeOf(this.process);
  /** Calls that fail on from now, as on a full disk. */
  private outage = 0;
  private callsLeft = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    const kinds: Call["name"][] = [
      "write",
      "datasync",
      "sync",
      "truncate",
      "open",
      "makeFolder",
      "rename",
      "syncFolder",
      "remove",
    ];
    this.failing = kinds.filter(() => this.random.chance(0.5));
    this.faultRate = this.random.of([0, 0.02, 0.1, 0.3]);
  }

  async run(): Promise<void> {
    for (let life = 0; life < LIVES; life++) {
      this.prepare();
      for (let step = 0; step < STEPS && this.process.owner.isAlive; step++) await this.step();
      await this.end();
    }
  }

  private prepare(): void {
    this.callsLeft = this.random.chance(0.7) ? this.random.below(60) : Number.POSITIVE_INFINITY;
    this.machine.fault = (call) => this.fault(call);
    this.machine.onStep = () => {
      if (this.callsLeft-- === 0) this.process.kill();
    };
  }

  private fault(call: Call): CallFault | undefined {
    if (this.outage > 0) this.outage--;
    else if (!this.failing.includes(call.name) || !this.random.chance(this.faultRate)) return undefined;
    else if (this.random.chance(0.3)) this.outage = this.random.below(8);
    const fault = this.random.of(waysToFail(call));
    this.way.push(`call ${call.n} ${call.name} ${call.path} ${fault.code} ${fault.keepBytes ?? ""}`);
    return fault;
  }

  private async step(): Promise<void> {
    const id = this.random.of(IDS);
    const what = this.random.of(["say", "say", "say", "work", "work", "close", "delete", "look"]);
    this.way.push(`${what} ${id}`);
    try {
      if (what === "say") await this.say(id);
      else if (what === "work") await this.work(id);
      else if (what === "close") await this.store.unlock(id);
      else if (what === "look") await this.store.list();
      else if (this.random.chance(0.4)) await this.delete(id);
    } catch (error) {
      if (error instanceof InvariantBroken || codeOf(error) === undefined) throw error;
      this.way.push(`failed ${codeOf(error)}`);
      if (!hasCode(error, DEAD, "ENOSPC", "EIO", "STATE_EXISTS", "STATE_NOT_FOUND")) {
        throw new InvariantBroken("acked-is-kept", `${what} ${id}: ${String(error)}`);
      }
    }
  }

  private async say(id: string): Promise<void> {
    const { state } = await this.conversation(id);
    for (let count = 1 + this.random.below(3); count > 0; count--) {
      state.addUserMessage(`message ${state.history.length} ${"€".repeat(this.random.below(60))}`);
    }
    if (this.random.chance(0.2)) state.rename(`name ${state.history.length}`);
    await this.save(id);
  }

  /** A reply with calls; starts and results are saved one by one, as an agent does. */
  private async work(id: string): Promise<void> {
    const { state } = await this.conversation(id);
    const usage = { inputTokens: 1, outputTokens: 1 };
    const calls = [0, 1].map((index) => ({ id: `call_${state.history.length}_${index}`, name: "look", input: {} }));
    state.record({ kind: "user", text: "look" });
    const { seq: requestSeq } = state.record({ kind: "request", model: "m" });
    if (this.random.chance(0.5)) await this.stream(id, requestSeq);
    state.record({ kind: "reply", text: "I look.", calls, model: "m", usage, finish: "tool-calls" });
    await this.save(id);
    for (const call of calls) {
      state.record({ kind: "call_started", callId: call.id, name: call.name });
      await this.save(id);
      state.record({ kind: "result", callId: call.id, name: call.name, text: "seen", isError: false, outcome: "ok" });
      await this.save(id);
    }
  }

  /** The request is saved, then the draft of its reply grows; it may be left behind, as by a kill. */
  private async stream(id: string, requestSeq: number): Promise<void> {
    await this.save(id);
    for (const text of ["I", "I lo", "I look."]) await this.store.writeDraft(id, { requestSeq, text });
    if (this.random.chance(0.5)) await this.store.writeDraft(id, undefined);
  }

  private async save(id: string): Promise<void> {
    const conversation = await this.conversation(id);
    const { state, expected } = conversation;
    const create = !conversation.isThere;
    const snapshot = create || this.random.chance(0.3) ? state.snapshot() : undefined;
    expected.history = JSON.parse(JSON.stringify(state.history));
    if (expected.made === "no") expected.made = "maybe";
    if (snapshot !== undefined) expected.snapshots.push(JSON.parse(JSON.stringify(snapshot)));
    const length = state.history.length;
    await this.store.write(id, state.history.slice(expected.ackedLength), snapshot, create ? { create } : undefined);
    conversation.isThere = true;
    expected.made = "yes";
    expected.gone = "no";
    expected.ackedLength = length;
    if (snapshot !== undefined) expected.ackedSnapshot = expected.snapshots.at(-1);
  }

  private async delete(id: string): Promise<void> {
    const known = this.conversations.get(id);
    if (known?.isThere !== true || known.expected.gone !== "no") return;
    known.expected.gone = "maybe";
    await this.store.delete(id);
    this.conversations.set(id, { ...known, expected: { ...known.expected, gone: "yes" } });
  }

  /** The one there is, or a new one once it is surely gone. */
  private async conversation(id: string): Promise<Conversation> {
    const known = this.conversations.get(id);
    if (known !== undefined && known.expected.gone === "no") return known;
    if (known?.expected.gone === "maybe" && (await this.store.read(id)) !== undefined) {
      known.expected.gone = "no";
      return known;
    }
    const state = new State(undefined, { id, clock: frozen });
    const made = known === undefined ? "no" : "maybe";
    const nothing = { ackedLength: 0, ackedSnapshot: undefined, made, gone: "no" } as const;
    // A power cut may bring it back as it was.
    const lostTries = known?.expected.history ?? [];
    const expected = { ...nothing, id, history: [], snapshots: [], lostTries };
    const conversation = { state, expected, isThere: false };
    this.conversations.set(id, conversation);
    return conversation;
  }

  /** Closed, killed, or the power goes; then what is there is looked at, and the next life goes on with it. */
  private async end(): Promise<void> {
    const how = this.random.of(["close", "kill", "power", "power"]);
    this.way.push(how);
    this.machine.fault = () => undefined;
    this.machine.onStep = () => undefined;
    if (how === "close" && this.process.owner.isAlive) for (const id of IDS) await this.store.unlock(id);
    this.process.kill();
    const expected = [...this.conversations.values()].map((each) => each.expected);
    if (how === "power") {
      const image = this.machine.powerCut(this.random.below);
      await checkImage(image, expected);
      this.machine = new CrashMachine(image);
    } else await checkLive(this.machine, expected);
    this.process = this.machine.process();
    this.store = storeOf(this.process);
    await this.resume();
  }

  private async resume(): Promise<void> {
    for (const [id, { expected }] of this.conversations) {
      const record = await this.store.read(id);
      if (record === undefined) {
        this.conversations.delete(id);
        continue;
      }
      const state = State.fromRecord(id, record, { clock: frozen });
      // Found is not acknowledged: after a kill it may not be durable yet.
      const ackedLength = Math.min(expected.ackedLength, record.entries.length);
      const snapshots = [...expected.snapshots, ...(record.snapshot === undefined ? [] : [record.snapshot])];
      const lostTries = [...(expected.lostTries ?? []), ...expected.history.slice(ackedLength)];
      const history = [...record.entries];
      const made = expected.made === "yes" ? "yes" : "maybe";
      const found = { history, ackedLength, snapshots, lostTries, made, gone: "no" } as const;
      this.conversations.set(id, { state, expected: { ...expected, ...found }, isThere: true });
    }
  }
}

export interface SwarmReport {
  readonly runs: number;
  readonly failure?: { readonly seed: number; readonly error: unknown; readonly way: readonly string[] };
}

/** Runs one seed after the other until so many are done, the time is over, or one fails. */
export async function swarm(firstSeed: number, limits: { runs?: number; ms?: number }): Promise<SwarmReport> {
  const start = performance.now();
  let runs = 0;
  for (; runs < (limits.runs ?? Number.POSITIVE_INFINITY); runs++) {
    if (performance.now() - start > (limits.ms ?? Number.POSITIVE_INFINITY)) break;
    const seed = (firstSeed + runs) >>> 0;
    const run = new SwarmRun(seed);
    try {
      await run.run();
    } catch (error) {
      return { runs: runs + 1, failure: { seed, error, way: run.way } };
    }
  }
  return { runs };
}
