import type { Writable } from "node:stream";
import { findState } from "../session/find-state.js";
import { renameState } from "../session/rename-state.js";
import type { Store } from "../store/store.js";
import { printableLine } from "../text/printable.js";
import { Output } from "./output.js";
import { savedStates } from "./row.js";
import { usageError } from "./usage-error.js";

export const NAME_LENGTH_MAX = 200;

/** A name as it is kept: on one line, without white space around it. */
export function nameFrom(text: string): string {
  const name = text.trim().replace(/\s+/g, " ");
  if (name === "") throw usageError("the name is empty", "give one", 'chat rename k7f2 "the parser"');
  if (name.length > NAME_LENGTH_MAX) {
    throw usageError(`the name has ${name.length} characters, at most ${NAME_LENGTH_MAX}`, "give a shorter one");
  }
  return name;
}

/** `chat rename`: durable on return. STATE_LOCKED when the conversation is open elsewhere. */
export async function runRename(options: {
  readonly store: Store;
  readonly id: string;
  readonly text: string;
  readonly stdout: Writable;
}): Promise<number> {
  const { store, id, text, stdout } = options;
  const name = nameFrom(text);
  const row = findState(await savedStates(store), id);
  await renameState(store, row.id, name);
  const out = new Output(stdout);
  out.line(`renamed ${printableLine(row.id, 128)} to ${JSON.stringify(printableLine(name))}`);
  await out.flush();
  return 0;
}
