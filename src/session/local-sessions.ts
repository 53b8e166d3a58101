import { loadState } from "../agent/load-state.js";
import { State } from "../agent/state.js";
import { hasCode, PerdureError } from "../errors.js";
import type { SavedState } from "../store/store.js";
import { printableLine } from "../text/printable.js";
import { findState, latestState } from "./find-state.js";
import { forkState } from "./fork-state.js";
import { LocalSession } from "./local-session.js";
import { resumeView } from "./resume-view.js";
import { endCommands, livingCommands } from "./running-calls.js";
import type { Session, Sessions } from "./session.js";
import type { SessionParts } from "./session-parts.js";

/** The conversations of one store, driven in this process. */
export class LocalSessions implements Sessions {
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  async create(): Promise<Session> {
    const model = await this.#parts.modelFor(undefined);
    return new LocalSession(this.#parts, new State(), model, this.#parts.cwd);
  }

  async resume(ref: string | undefined): Promise<Session> {
    try {
      return await this.#resume(ref);
    } catch (error) {
      throw this.#parts.explain?.(error) ?? error;
    }
  }

  /** A copy of a conversation, gone on with; the original may be open elsewhere, and is not touched. */
  async fork(ref: string | undefined, name?: string): Promise<Session> {
    // What would fail later must not leave a copy behind.
    await this.#parts.modelFor(undefined);
    const id = await forkState(this.#parts.store, ref, name === undefined ? {} : { name });
    return this.#resume(id);
  }

  async #resume(ref: string | undefined): Promise<Session> {
    const { store } = this.#parts;
    const rows = ref === undefined ? await store.list() : [];
    const id = ref === undefined ? latestState(rows).id : await this.#lockById(ref);
    await store.lock(id);
    try {
      const state = await loadState(store, id, { openCalls: "keep" });
      const { cwd, notices } = await resumeView(state, this.#parts);
      const model = await this.#parts.modelFor(state.model);
      const session = new LocalSession(this.#parts, state, model, cwd);
      session.opened([...passedOver(rows, id), ...notices]);
      return session;
    } catch (error) {
      await store.unlock(id);
      throw error;
    }
  }

  /** The id that a reference means, its lock taken when it is one: so only a name or a beginning needs the whole list. */
  async #lockById(ref: string): Promise<string> {
    try {
      await this.#parts.store.lock(ref);
      return ref;
    } catch (error) {
      if (!hasCode(error, "STATE_NOT_FOUND", "STATE_ID_INVALID")) throw error;
      return (await this.find(ref)).id;
    }
  }

  list(): Promise<SavedState[]> {
    return this.#parts.store.list();
  }

  async find(ref: string): Promise<SavedState> {
    if (ref === "") {
      throw new PerdureError({
        code: "STATE_NOT_FOUND",
        problem: 'there is no conversation ""',
        fix: "give an id, the beginning of one, or a name; or no value for the most recently updated one",
        example: "chat --resume",
      });
    }
    return findState(await this.#parts.store.list(), ref);
  }

  runningIn(id: string): Promise<string[]> {
    return livingCommands(this.#parts.store, id);
  }

  async delete(ref: string): Promise<SavedState> {
    const row = findState(await this.#parts.store.list(), ref, { damaged: "allow" });
    const { store } = this.#parts;
    await store.lock(row.id);
    try {
      await endCommands(store, row.id);
      await store.delete(row.id);
    } finally {
      await store.unlock(row.id);
    }
    return row;
  }
}

/** A newer conversation that cannot be read is not resumed, and the person must know that this one is not the newest. */
function passedOver(rows: readonly SavedState[], id: string): string[] {
  const index = rows.findIndex((row) => row.id === id);
  return rows
    .slice(0, index)
    .map((newer) => `a newer conversation, ${newer.id}, cannot be resumed: ${printableLine(newer.problem ?? "")}`);
}
