import type { JsonValue } from "../json.js";
import type { Entry, Snapshot } from "./store.js";

/**
 * What a row of the list shows, from the entries themselves: for a log without a usable snapshot, and for the entries that
 * came after one. It reads the few kinds of entry that bear on a row, as docs/format/entries.md has them, so that a list
 * says of a conversation what it is when it is loaded.
 */
export class RowFacts {
  private task: string | undefined;
  private createdAt: string | undefined;
  private readonly fields = new Map<string, JsonValue | undefined>();
  private messageCount: number;
  private turn: number;

  constructor(private readonly snapshot: Snapshot | undefined) {
    this.task = snapshot?.task === "" ? undefined : snapshot?.task;
    this.messageCount = toCount(snapshot?.messageCount);
    this.turn = toCount(snapshot?.turn);
  }

  /** In order, from the first one that the snapshot does not cover. */
  readonly add = (entry: Entry): void => {
    this.createdAt ??= entry.at;
    this.fields.set("updatedAt", entry.at);
    if (entry.turn > this.turn) this.turn = entry.turn;
    switch (entry.kind) {
      case "user":
        if (typeof entry.text !== "string") return;
        this.messageCount++;
        this.task ??= entry.text.slice(0, TASK_LENGTH_MAX);
        return;
      case "renamed":
        if (typeof entry.name === "string") this.fields.set("name", entry.name === "" ? undefined : entry.name);
        return;
      case "folder":
        if (typeof entry.cwd === "string") this.fields.set("cwd", entry.cwd);
        return;
      case "request":
        if (typeof entry.model === "string") this.fields.set("model", entry.model);
        return;
      case "model":
        if (typeof entry.to === "string") this.fields.set("model", entry.to);
        return;
      case "run_start":
        this.fields.set("stoppedBy", undefined);
        return;
      case "run_end":
        if (typeof entry.reason === "string") this.fields.set("stoppedBy", entry.reason);
        return;
      case "finish":
        this.fields.set("stoppedBy", "finish");
        this.fields.set("finished", true);
        return;
      default:
        return;
    }
  };

  /** `createdAt`: what the log's header says. Undefined when neither a snapshot nor an entry says anything. */
  toSnapshot(createdAt: string | undefined, historyLength: number): Snapshot | undefined {
    const { snapshot } = this;
    if (snapshot === undefined && this.createdAt === undefined) return undefined;
    const fields: Record<string, JsonValue | undefined> = { ...snapshot, ...Object.fromEntries(this.fields) };
    for (const [field, value] of this.fields) if (value === undefined) delete fields[field];
    return {
      ...fields,
      task: this.task ?? "",
      createdAt: snapshot?.createdAt ?? createdAt ?? this.createdAt ?? "",
      historyLength,
      messageCount: this.messageCount,
      turn: this.turn,
    };
  }
}

const TASK_LENGTH_MAX = 1000;

function toCount(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
