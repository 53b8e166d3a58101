import type { Writable } from "node:stream";
import { findState } from "../session/find-state.js";
import type { SavedState, Store } from "../store/store.js";
import { printableLine } from "../text/printable.js";
import { errorText } from "./error-text.js";
import { exitCodeOf } from "./exit-code.js";
import { Output } from "./output.js";
import { rowTitle, savedStates } from "./row.js";
import { shellWord, usageError } from "./usage-error.js";

export interface DeleteOptions {
  readonly store: Store;
  readonly ids: readonly string[];
  /** `--yes`: nobody is asked. */
  readonly yes: boolean;
  /** Undefined without a terminal: then only `yes` deletes. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
  /** Commands of a conversation that still run; asked about, and ended with it. */
  readonly running?: { list(id: string): Promise<string[]>; end(id: string): Promise<void> };
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/**
 * `chat delete`: each conversation is reported, and one that cannot be deleted keeps none of the others. Damaged ones can
 * be deleted.
 *
 * @returns the exit code: 1 when one failed for good, 75 when one is open elsewhere
 */
export async function runDelete(options: DeleteOptions): Promise<number> {
  const { store, ids, yes, ask } = options;
  const out = new Output(options.stdout);
  const err = new Output(options.stderr);
  const failures: unknown[] = [];
  const failed = (error: unknown): void => {
    failures.push(error);
    err.line(errorText(error));
  };
  if (!yes && ask === undefined) {
    throw usageError(
      "delete asks first, and there is no terminal to ask on",
      "say that you mean it with --yes",
      `chat delete ${ids.map(shellWord).join(" ")} --yes`,
    );
  }
  const rows = found(await savedStates(store), ids, failed);
  if (rows.length > 0 && (yes || (await ask?.(await questionFor(rows, options))) === true)) {
    for (const row of rows) {
      try {
        await deleteState(options, row.id);
        out.line(`deleted ${shown(row)}`);
      } catch (error) {
        failed(error);
      }
    }
  } else if (rows.length > 0) {
    err.line("nothing was deleted");
  }
  await out.flush();
  const codes = failures.map(exitCodeOf);
  return codes.find((code) => code !== 75) ?? codes[0] ?? 0;
}

function found(rows: SavedState[], refs: readonly string[], failed: (error: unknown) => void): SavedState[] {
  const wanted = new Set<SavedState>();
  for (const ref of refs) {
    try {
      wanted.add(findState(rows, ref, { damaged: "allow" }));
    } catch (error) {
      failed(error);
    }
  }
  return [...wanted];
}

function shown(row: SavedState): string {
  return `${printableLine(row.id, 128)}  ${rowTitle(row, 60)}`;
}

async function questionFor(rows: readonly SavedState[], { running }: DeleteOptions): Promise<string> {
  const commands = (await Promise.all(rows.map((row) => running?.list(row.id) ?? []))).flat();
  const ended = commands.map((command) => `  this still runs and will be ended: ${printableLine(command, 200)}`);
  const [row] = rows;
  if (row !== undefined && rows.length === 1) {
    return [...ended, `Delete ${shown(row)} (${row.historyLength} entries)?`].join("\n");
  }
  return [...ended, `Delete ${rows.length} conversations?`, ...rows.map((each) => `  ${shown(each)}`)].join("\n");
}

/** The store takes the lock for it: STATE_LOCKED when it is open elsewhere. */
async function deleteState({ store, running }: DeleteOptions, id: string): Promise<void> {
  if (store.delete === undefined) throw usageError("this store deletes nothing", "delete it where it is saved");
  if (running !== undefined) {
    await store.lock?.(id);
    await running.end(id);
  }
  try {
    await store.delete(id);
  } finally {
    await store.unlock?.(id);
  }
}
