import type { Writable } from "node:stream";
import type { SavedState, Store } from "../store/store.js";
import { printableLine } from "../text/printable.js";
import { jsonLine, Output } from "./output.js";
import { dateTime, messageCount, rowJson, rowTitle, savedStates } from "./row.js";

export interface ListOptions {
  readonly store: Store;
  readonly json: boolean;
  readonly stdout: Writable & { readonly columns?: number | undefined };
  readonly stderr: Writable;
}

/** `chat list`: one line a conversation, most recently updated first. Writes nothing to any of them. */
export async function runList({ store, json, stdout, stderr }: ListOptions): Promise<number> {
  const rows = await savedStates(store);
  const out = new Output(stdout);
  if (json) {
    const lines = rows.map((row) => `  ${jsonLine(rowJson(row))}`);
    out.line(lines.length === 0 ? "[]" : `[\n${lines.join(",\n")}\n]`);
  } else if (rows.length === 0) {
    new Output(stderr).line("no conversation yet; start one: chat");
  } else {
    for (const line of tableOf(rows, stdout.columns)) out.line(line);
  }
  const damaged = rows.filter((row) => row.problem !== undefined).length;
  if (damaged > 0) {
    const what = damaged === 1 ? "1 conversation cannot be read" : `${damaged} conversations cannot be read`;
    new Output(stderr).line(`${what}; what is on disk stays as it is`);
  }
  await out.flush();
  return out.failure === undefined ? 0 : 1;
}

function tableOf(rows: readonly SavedState[], columns: number | undefined): string[] {
  const cells = rows.map((row) => ({
    id: printableLine(row.id, 128),
    updated: dateTime(row.updatedAt),
    messages: String(messageCount(row) ?? "-"),
    row,
  }));
  const idWidth = Math.max(2, ...cells.map((cell) => cell.id.length));
  const titleWidth = columns === undefined ? 200 : Math.max(20, columns - idWidth - 30);
  return [
    `${"ID".padEnd(idWidth)}  ${"UPDATED".padEnd(16)}  MESSAGES  TITLE`,
    ...cells.map(
      ({ id, updated, messages, row }) =>
        `${id.padEnd(idWidth)}  ${updated.padEnd(16)}  ${messages.padStart(8)}  ${rowTitle(row, titleWidth)}`,
    ),
  ];
}
