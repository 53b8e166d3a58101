import { type Clock, systemClock } from "../agent/clock.js";
import { restore } from "../agent/restore.js";
import { State } from "../agent/state.js";
import { PerdureError } from "../errors.js";
import type { Store } from "../store/store.js";

/**
 * Names a conversation that is not open here: one entry, and the snapshot that lists read. Durable on return. Calls that
 * a crash left open stay open, so that the next resume still tells what became of them.
 *
 * @throws {PerdureError} STATE_LOCKED when it is open elsewhere, STATE_NOT_FOUND; the store's errors
 */
export async function renameState(store: Store, id: string, name: string, clock: Clock = systemClock): Promise<void> {
  await store.lock?.(id);
  try {
    const record = await store.read(id);
    if (record === undefined) {
      throw new PerdureError({
        code: "STATE_NOT_FOUND",
        problem: `there is no conversation ${id}`,
        fix: "list the conversations and pick one of them",
      });
    }
    const restored = restore(id, record);
    // Steps that cannot be replayed must be left out before a snapshot covers them.
    const closes = restored.closing.some((body) => body.kind === "notice" && body.skip !== undefined);
    const state = new State(undefined, { id, clock }, closes ? restored : { ...restored, closing: [] });
    state.rename(name);
    await store.write(id, state.history.slice(state.savedLength), state.snapshot());
  } finally {
    await store.unlock?.(id);
  }
}
