import { createHash } from "node:crypto";
import { State } from "../../src/agent/state.js";
import { hasCode } from "../../src/errors.js";
import { DEAD } from "./crash-disk.js";
import { type Call, type CallFault, CrashMachine, type Image, keyOf } from "./crash-machine.js";
import {
  ackedIsKept,
  type Expected,
  foldEqualsContext,
  frozen,
  InvariantBroken,
  listAgreesWithRead,
  noGapNoRepeat,
  noOpenCall,
  resumeThenReopen,
} from "./invariants.js";
import { type AfterFailure, Play, storeOf } from "./play.js";
import type { Scenario } from "./scenario.js";

/** What a search went through. */
export interface Tally {
  /** Plays of a scenario, each with other faults. */
  runs: number;
  /** Moments at which the machine might have crashed. */
  points: number;
  /** States that a crash at such a moment may leave, and how many of them differ. */
  states: number;
  checked: number;
}

/** A state after a crash, and what must be in it. */
interface Found {
  readonly image: Image;
  readonly expected: readonly Expected[];
  /** Of its way here, for the message. */
  readonly way: string;
}

export type Faults = ReadonlyMap<number, CallFault>;

/** Plays scenarios under faults, collects every state that a crash may leave at any moment, and checks each once. */
export class Search {
  readonly tally: Tally = { runs: 0, points: 0, states: 0, checked: 0 };
  private readonly seen = new Set<string>();
  private found: Found[] = [];

  /** Without a fault: returns the calls that could have failed. */
  async clean(scenario: Scenario): Promise<Call[]> {
    const calls: Call[] = [];
    await this.play(scenario, (call) => void calls.push(call), 0);
    return calls;
  }

  async withFaults(scenario: Scenario, faults: Faults, afterFailure?: AfterFailure): Promise<void> {
    await this.play(scenario, ({ n }) => faults.get(n), Math.min(...faults.keys()), afterFailure);
  }

  /**
   * kill -9 after a call: what was written is seen by others although it is not durable yet. Another process goes on with
   * it, and only then the power goes.
   */
  async killedAfter(scenario: Scenario, n: number, faults: Faults = new Map()): Promise<void> {
    this.tally.runs++;
    const way = `${scenario.name}, killed after call ${n}`;
    const machine = new CrashMachine();
    const play = new Play(machine, scenario);
    machine.fault = (call) => faults.get(call.n);
    machine.onStep = () => {
      if (machine.calls > n) play.process.kill();
    };
    await play.run().catch((error: unknown) => {
      if (!hasCode(error, DEAD)) throw named(error, way);
    });
    const expected = [...play.expected.values()];
    machine.onStep = () => undefined;
    await checkLive(machine, expected).catch((error: unknown) => {
      throw named(error, way);
    });
    machine.onStep = () => {
      this.tally.points++;
      this.collect(machine, expected, `${way}, resumed, crash after call ${machine.calls - 1}`);
    };
    await resumeAll(machine, expected);
    this.collect(machine, expected, `${way}, resumed`);
  }

  /** Throws InvariantBroken with the way to the first state that is not as it must be. */
  async check(): Promise<void> {
    const found = this.found;
    this.found = [];
    for (const { image, expected, way } of found) {
      this.tally.checked++;
      await checkImage(image, expected).catch((error: unknown) => {
        throw named(error, way);
      });
    }
  }

  private async play(
    scenario: Scenario,
    fault: (call: Call) => CallFault | undefined,
    from: number,
    afterFailure?: AfterFailure,
  ): Promise<void> {
    this.tally.runs++;
    const machine = new CrashMachine();
    const play = new Play(machine, scenario, afterFailure);
    let way = scenario.name;
    machine.fault = (call) => {
      const failure = fault(call);
      if (failure !== undefined)
        way += `, call ${call.n} ${call.name} ${call.path} ${failure.code} ${failure.keepBytes ?? ""}`;
      return failure;
    };
    machine.onStep = () => {
      if (machine.calls <= from) return;
      this.tally.points++;
      this.collect(machine, [...play.expected.values()], `${way}, crash after call ${machine.calls - 1}`);
    };
    await play.run().catch((error: unknown) => {
      throw error instanceof InvariantBroken
        ? new InvariantBroken(error.invariant, `${error.message} (${way})`)
        : error;
    });
    this.collect(machine, [...play.expected.values()], `${way}, at the end`);
    machine.fault = () => undefined;
    machine.onStep = () => undefined;
    await leavesNothingBehind(machine, way);
  }

  private collect(machine: CrashMachine, expected: readonly Expected[], way: string): void {
    const must = expected.map(({ ackedLength, made, gone, ackedSnapshot, id }) => [
      id,
      ackedLength,
      made,
      gone,
      ackedSnapshot?.historyLength,
    ]);
    const key = JSON.stringify(must);
    for (const image of machine.powerCuts()) {
      this.tally.states++;
      const whole = createHash("sha1").update(key).update(keyOf(image)).digest("base64");
      if (this.seen.has(whole)) continue;
      this.seen.add(whole);
      this.found.push({ image, expected: expected.map((each) => ({ ...each, snapshots: [...each.snapshots] })), way });
    }
  }
}

function named(error: unknown, way: string): unknown {
  return error instanceof InvariantBroken ? error.after(way) : error;
}

/** Another process after the computer started again: everything there is, right, and ready to go on. */
export async function checkImage(image: Image, expected: readonly Expected[]): Promise<void> {
  const machine = new CrashMachine(image);
  await checkLive(machine, expected);
  for (const { id } of await storeOf(machine.process()).list()) {
    await resumeThenReopen(() => storeOf(machine.process()), id);
  }
}

/** What another process finds, without writing. */
export async function checkLive(machine: CrashMachine, expected: readonly Expected[]): Promise<void> {
  const store = storeOf(machine.process());
  const rows = await store.list();
  for (const each of expected) {
    const { id } = each;
    await listAgreesWithRead(store, rows, id);
    const record = await store.read(id).catch((error: unknown) => {
      throw new InvariantBroken("acked-is-kept", `${id} cannot be read: ${String(error)}`);
    });
    ackedIsKept(record, each);
    if (record === undefined) continue;
    noGapNoRepeat(record, id);
    const state = State.fromRecord(id, record);
    noOpenCall(state);
    foldEqualsContext(state);
  }
  const ids = expected.map(({ id }) => id);
  const stray = rows.filter((row) => !ids.includes(row.id));
  if (stray.length > 0) throw new InvariantBroken("list-agrees-with-read", `nobody made ${stray.map(({ id }) => id)}`);
}

/** Goes on with every conversation there is, with a message that is acknowledged: from now on that must be there. */
async function resumeAll(machine: CrashMachine, expected: readonly Expected[]): Promise<void> {
  const store = storeOf(machine.process());
  for (const each of expected) {
    const record = await store.read(each.id);
    if (record === undefined) continue;
    const state = State.fromRecord(each.id, record, { clock: frozen });
    state.addUserMessage("go on");
    const snapshot = state.snapshot();
    each.history = JSON.parse(JSON.stringify(state.history));
    each.snapshots.push(snapshot);
    await store.write(each.id, state.history.slice(state.savedLength), snapshot);
    each.ackedLength = each.history.length;
    each.ackedSnapshot = snapshot;
    each.made = "yes";
    each.gone = "no";
  }
}

/** No temporary file and no hidden folder once another process has gone on with what is there, and made something new. */
async function leavesNothingBehind(machine: CrashMachine, way: string): Promise<void> {
  const store = storeOf(machine.process());
  for (const { id } of await store.list()) {
    await store.lock(id);
    const record = await store.read(id);
    await store.write(id, [], record?.snapshot);
  }
  await store.write("another", [], { task: "", createdAt: "", historyLength: 0 }, { create: true });
  const stray = [...machine.liveImage().keys()].filter((path) => /\.tmp$|\/\.(new|deleted)-/.test(path));
  if (stray.length > 0) throw new InvariantBroken("resume-then-reopen", `left behind: ${stray.join(" ")} (${way})`);
}

/** How each call can fail: a write after some bytes of it, a sync as a worn-out disk does, all else at once. */
export function waysToFail(call: Call): CallFault[] {
  if (call.name !== "write" || call.path.endsWith(".stamp"))
    return [{ code: call.name.includes("sync") ? "EIO" : "ENOSPC" }];
  const bytes = call.bytes ?? 0;
  const cuts = new Set([0, 1, bytes >> 1, bytes - 1, bytes]);
  return [...cuts].map((keepBytes) => ({ code: "ENOSPC", keepBytes }));
}
