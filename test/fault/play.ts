import { codeOf } from "../../src/errors.js";
import { FileStore } from "../../src/store/file-store.js";
import { DEAD } from "./crash-disk.js";
import type { CrashMachine, Process } from "./crash-machine.js";
import { type Expected, InvariantBroken } from "./invariants.js";
import type { Scenario, Step } from "./scenario.js";

export const ROOT = "/home/me/store";

/** A store as a process of its own has it. */
export function storeOf(process: Process): FileStore {
  return new FileStore(ROOT, { ...process, clock: () => 1_790_000_000_000 });
}

/** What follows a step that failed: the same again, or the next one, which then writes what is missing, as an Agent does. */
export type AfterFailure = "again" | "go on";

/**
 * Plays a scenario, and keeps book of what was acknowledged. What fails is not given up: in the end everything is tried
 * until it is there.
 */
export class Play {
  readonly expected = new Map<string, Expected>();
  /** The one that does the steps now. */
  process: Process;
  private store: FileStore;

  constructor(
    private readonly machine: CrashMachine,
    private readonly scenario: Scenario,
    private readonly afterFailure: AfterFailure = "go on",
  ) {
    this.process = machine.process();
    this.store = storeOf(this.process);
    for (const [id, history] of scenario.histories) {
      const nothing = { ackedLength: 0, snapshots: [], ackedSnapshot: undefined, made: "no", gone: "no" } as const;
      this.expected.set(id, { ...nothing, id, history, snapshots: [] });
    }
  }

  /** Rejects only with a broken invariant, or with DEAD when its process was killed from outside. */
  async run(): Promise<void> {
    for (const step of this.scenario.steps) {
      await this.step(step).catch(failedByDisk);
      const again = this.afterFailure === "again" && this.isMissing(step);
      if (again) await this.step(step).catch(failedByDisk);
    }
    for (let round = 0; round < 4; round++) {
      const missing = this.scenario.steps.filter((step) => this.isMissing(step));
      const last = missing.at(-1);
      if (last === undefined) break;
      try {
        for (const step of missing) await this.step(step);
      } catch (error) {
        failedByDisk(error);
        if (round < 3) continue;
        throw new InvariantBroken("acked-is-kept", `what failed cannot be saved any more: ${String(error)}`);
      }
    }
    for (const id of this.scenario.histories.keys()) await this.store.unlock(id);
  }

  private isMissing(step: Step): boolean {
    if (step.do !== "write" && step.do !== "delete") return false;
    const expected = this.expectedOf(step.id);
    if (step.do === "delete") return expected.gone === "no";
    if (expected.gone !== "no") return false;
    return (
      expected.ackedLength < step.length || (step.snapshot !== undefined && !this.isAcked(expected, step.snapshot))
    );
  }

  private isAcked(
    expected: Expected,
    snapshot: Step & { do: "write" } extends { snapshot: infer S } ? S : never,
  ): boolean {
    const { ackedSnapshot } = expected;
    return (
      ackedSnapshot !== undefined && snapshot !== undefined && ackedSnapshot.historyLength >= snapshot.historyLength
    );
  }

  private async step(step: Step): Promise<void> {
    if (!this.process.owner.isAlive) throw Object.assign(new Error("killed"), { code: DEAD });
    switch (step.do) {
      case "write":
        return this.write(step);
      case "delete": {
        const expected = this.expectedOf(step.id);
        if (expected.made !== "yes") return;
        expected.gone = "maybe";
        await this.store.delete(step.id);
        expected.gone = "yes";
        return;
      }
      case "reopen":
        for (const id of this.scenario.histories.keys()) await this.store.unlock(id);
        return this.next();
      case "kill":
        this.process.kill();
        return this.next();
      case "draft":
        if (this.expectedOf(step.id).made === "yes") await this.store.writeDraft(step.id, step.draft);
        return;
      case "intrude":
        return this.intrude(step.id);
    }
  }

  private async write({ id, length, snapshot }: Step & { do: "write" }): Promise<void> {
    const expected = this.expectedOf(id);
    if (expected.gone !== "no") return;
    const create = expected.made !== "yes";
    if (create) expected.made = "maybe";
    const saved = create ? (snapshot ?? expected.snapshots.at(-1)) : snapshot;
    if (saved !== undefined) expected.snapshots.push(saved);
    const entries = expected.history.slice(expected.ackedLength, length);
    await this.store.write(id, entries, saved, create ? { create } : undefined);
    expected.made = "yes";
    expected.ackedLength = Math.max(expected.ackedLength, length);
    if (saved !== undefined) expected.ackedSnapshot = saved;
  }

  /** Whoever has it open keeps it: a second process reads what was acknowledged and can write nothing. */
  private async intrude(id: string): Promise<void> {
    const expected = this.expectedOf(id);
    if (expected.made !== "yes") return;
    const other = storeOf(this.machine.process());
    const record = await other.read(id);
    const length = record?.entries.length ?? 0;
    if (length < expected.ackedLength) {
      throw new InvariantBroken("acked-is-kept", `a second process sees ${length} of ${expected.ackedLength} entries`);
    }
    try {
      await other.write(id, [{ seq: length, at: "", kind: "user", turn: 0, text: "intruder" }], undefined);
    } catch (error) {
      if (codeOf(error) === "STATE_LOCKED") return;
      throw error;
    }
    throw new InvariantBroken("no-gap-no-repeat", "a second process wrote to a conversation that is open");
  }

  private next(): void {
    this.process = this.machine.process();
    this.store = storeOf(this.process);
  }

  private expectedOf(id: string): Expected {
    const expected = this.expected.get(id);
    if (expected === undefined) throw new Error(`no conversation ${id} in this scenario`);
    return expected;
  }
}

/** A failed disk call is what a scenario is about; all else is a mistake. */
function failedByDisk(error: unknown): void {
  if (error instanceof InvariantBroken || codeOf(error) === undefined || codeOf(error) === DEAD) throw error;
}
