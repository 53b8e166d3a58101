import { PerdureError } from "../errors.js";
import { checkStateId } from "../store/state-id.js";
import type { Draft, Entry, SavedRecord, SavedState, Snapshot, Store } from "../store/store.js";

/** A Store in memory, for tests of programs: what it holds went through JSON, as in a real one. */
export class MemoryStore implements Store {
  private readonly states = new Map<string, { entries: Entry[]; snapshot: Snapshot | undefined; stamp: number }>();
  private readonly drafts = new Map<string, Draft>();
  private stamp = 0;

  async write(
    id: string,
    entries: readonly Entry[],
    snapshot: Snapshot | undefined,
    options: { create?: boolean } = {},
  ): Promise<void> {
    checkStateId(id);
    const saved = this.states.get(id);
    if (options.create === true && saved !== undefined) {
      throw refusal("STATE_EXISTS", `there is a conversation ${id} already`, "pick another id");
    }
    if (options.create !== true && entries.length === 0 && snapshot === undefined) return;
    if (options.create !== true && saved === undefined) {
      throw refusal("STATE_NOT_FOUND", `there is no conversation ${id}`, "create it first");
    }
    const before = saved?.entries ?? [];
    const fresh = entries.filter((entry) => entry.seq >= before.length);
    fresh.forEach((entry, index) => {
      if (entry.seq === before.length + index) return;
      const problem = `conversation ${id}: the next entry must have seq ${before.length + index}, not ${entry.seq}`;
      throw refusal("STATE_SEQ_GAP", problem, "pass entries in seq order without gaps");
    });
    const nextSnapshot = snapshot === undefined ? saved?.snapshot : asSaved(snapshot);
    const isNew = saved === undefined || fresh.length > 0 || snapshot !== undefined;
    const stamp = isNew ? Math.max(Date.now(), this.stamp + 1) : saved.stamp;
    this.states.set(id, { entries: [...before, ...fresh.map(asSaved)], snapshot: nextSnapshot, stamp });
    this.stamp = Math.max(this.stamp, stamp);
  }

  async read(id: string): Promise<SavedRecord | undefined> {
    checkStateId(id);
    const saved = this.states.get(id);
    if (saved === undefined) return undefined;
    const draft = this.drafts.get(id);
    return {
      entries: saved.entries.map(asSaved),
      snapshot: saved.snapshot === undefined ? undefined : asSaved(saved.snapshot),
      ...(draft === undefined ? {} : { draft: asSaved(draft) }),
    };
  }

  async list(): Promise<SavedState[]> {
    const rows = [...this.states].sort(([, a], [, b]) => b.stamp - a.stamp);
    return rows.map(([id, { entries, snapshot, stamp }]): SavedState => {
      const updatedAt = new Date(stamp).toISOString();
      return {
        id,
        task: snapshot?.task ?? "",
        name: snapshot?.name,
        createdAt: snapshot?.createdAt ?? updatedAt,
        updatedAt,
        stoppedBy: typeof snapshot?.stoppedBy === "string" ? snapshot.stoppedBy : undefined,
        historyLength: entries.length,
        snapshot: snapshot === undefined ? undefined : asSaved(snapshot),
      };
    });
  }

  async delete(id: string): Promise<void> {
    checkStateId(id);
    if (!this.states.delete(id)) throw refusal("STATE_NOT_FOUND", `there is no conversation ${id}`, "list them first");
    this.drafts.delete(id);
  }

  async writeDraft(id: string, draft: Draft | undefined): Promise<void> {
    checkStateId(id);
    if (!this.states.has(id)) throw refusal("STATE_NOT_FOUND", `there is no conversation ${id}`, "create it first");
    if (draft === undefined) this.drafts.delete(id);
    else this.drafts.set(id, asSaved(draft));
  }
}

function asSaved<T extends Entry | Snapshot | Draft>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

function refusal(code: string, problem: string, fix: string): PerdureError {
  return new PerdureError({ code, problem, fix });
}
