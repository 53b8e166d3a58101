import { type FSWatcher, watch } from "node:fs";
import path from "node:path";
import type { Writable } from "node:stream";
import { findState } from "../session/find-state.js";
import { readDraft } from "../store/draft-file.js";
import type { FileStore } from "../store/file-store.js";
import { statePaths } from "../store/layout.js";
import { LogTail } from "../store/log-tail.js";
import { nodeDisk } from "../store/node-disk.js";
import type { Draft, Entry } from "../store/store.js";
import { printable, printableLine } from "../text/printable.js";
import { exitCodeOfSignal } from "./exit-code.js";
import { jsonLine, Output } from "./output.js";
import { savedStates } from "./row.js";
import { entryLines, readRecord, showRecord } from "./show.js";

export interface FollowOptions {
  readonly store: FileStore;
  readonly id: string;
  /** One entry a line. */
  readonly json: boolean;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Where nothing tells of changes (a network drive), and where the telling is late. */
const POLL_MS = 500;

/**
 * `chat show ID --follow`: the conversation, and then what another process adds to it, until Ctrl+C, until nobody reads
 * any more or until the conversation is deleted. It takes no lock and writes nothing.
 *
 * @returns 128 + n when signal n ended it, else 0
 */
export async function runFollow({ store, id, json, stdout, stderr }: FollowOptions): Promise<number> {
  const row = findState(await savedStates(store), id);
  const record = await readRecord(store, row.id);
  const [out, err] = [new Output(stdout), new Output(stderr)];
  const paths = statePaths(store.key, row.id);
  const ending = new Ending(stdout);
  const wake = new Wake(paths.folder);
  try {
    if (json) for (const entry of record.entries) out.line(jsonLine(entry));
    else showRecord(row, record, out, err);
    const tail = new LogTail(nodeDisk, paths.log, (record.entries.at(-1)?.seq ?? -1) + 1);
    const live = new LiveText(out, record.entries.findLast(endsDraft)?.seq ?? 0);
    while (!ending.hasCome) {
      // The draft first: a reply that is saved meanwhile is then in the log.
      const { draft } = json ? {} : await readDraft(nodeDisk, paths.draft);
      const entries = await tail.next();
      if (entries === undefined) {
        live.end();
        err.line(`chat: the conversation ${printableLine(row.id, 128)} was deleted; nothing more will come`);
        break;
      }
      for (const entry of entries) {
        if (json) out.line(jsonLine(entry));
        else live.entry(entry);
      }
      live.show(draft);
      await wake.wait(ending.signal);
    }
    live.end();
    await Promise.all([out.flush(), err.flush()]);
    return out.failure === undefined ? (ending.exitCode ?? 0) : 1;
  } finally {
    wake.close();
    ending.dispose();
  }
}

/** The text of a reply while it streams, and entries after it: what was shown of the reply already is not shown again. */
class LiveText {
  private requestSeq = -1;
  private shown = "";

  /** `seqLast`: of the last entry that makes drafts of earlier requests out of date. */
  constructor(
    private readonly out: Output,
    private seqLast: number,
  ) {}

  show(draft: Draft | undefined): void {
    if (draft === undefined || draft.requestSeq < this.seqLast) return;
    if (draft.requestSeq !== this.requestSeq) {
      this.end();
      this.requestSeq = draft.requestSeq;
      this.out.write("\n");
    }
    const text = printable(draft.text);
    if (!text.startsWith(this.shown)) return;
    this.out.write(text.slice(this.shown.length));
    this.shown = text;
  }

  entry(entry: Entry): void {
    let lines = entryLines(entry);
    if (entry.kind === "reply" && this.shown !== "") {
      const text = typeof entry.text === "string" ? printable(entry.text) : "";
      if (text.startsWith(this.shown)) {
        this.out.write(text.slice(this.shown.length));
        lines = entryLines({ ...entry, text: "" });
      }
    }
    if (endsDraft(entry)) this.seqLast = entry.seq;
    if (lines.length > 0 || entry.kind === "reply") this.end();
    for (const line of lines) this.out.line(line);
  }

  /** The line that streams is ended. */
  end(): void {
    if (this.shown !== "") this.out.write("\n");
    this.shown = "";
  }
}

function endsDraft({ kind }: Entry): boolean {
  return kind === "request" || kind === "reply" || kind === "run_end";
}

/** What ends the following: a signal, or a reader that went away. */
class Ending {
  private readonly controller = new AbortController();
  private readonly handlers: Array<[NodeJS.Signals, () => void]> = [];
  private readonly onClosed = () => this.controller.abort();
  exitCode: number | undefined;

  constructor(private readonly stdout: Writable) {
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      const handler = () => {
        this.exitCode = exitCodeOfSignal(name);
        this.controller.abort();
      };
      this.handlers.push([name, handler]);
      process.on(name, handler);
    }
    stdout.on("error", this.onClosed);
    stdout.on("close", this.onClosed);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get hasCome(): boolean {
    return this.controller.signal.aborted;
  }

  dispose(): void {
    for (const [name, handler] of this.handlers) process.removeListener(name, handler);
    this.stdout.removeListener("close", this.onClosed);
  }
}

/** Waits until something in a folder has changed, and never longer than a moment. */
class Wake {
  private readonly watcher: FSWatcher | undefined;
  private changed = false;
  private wake: (() => void) | undefined;

  constructor(folder: string) {
    try {
      this.watcher = watch(path.resolve(folder), () => this.onChange());
      // Gone with its folder, or no more watches to be had: looking now and then is enough.
      this.watcher.on("error", () => this.watcher?.close());
    } catch {
      // The same.
    }
  }

  async wait(signal: AbortSignal): Promise<void> {
    if (!this.changed && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_MS);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
        signal.addEventListener("abort", this.wake, { once: true });
      });
      if (this.wake !== undefined) signal.removeEventListener("abort", this.wake);
    }
    this.changed = false;
    this.wake = undefined;
  }

  close(): void {
    this.watcher?.close();
  }

  private onChange(): void {
    this.changed = true;
    this.wake?.();
  }
}
