import type { JsonObject } from "../json.js";
import type { AgentSummary, HistoryEntry, PermissionRule } from "./entries.js";

export interface UsageTotals {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  /** Requests that brought a reply, whole or cut off. */
  requests: number;
}

/** All that a history tells beside the context, kept up to date entry by entry. */
export class Facts {
  turn = 0;
  /** Messages of the person. */
  messageCount = 0;
  usage: UsageTotals = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, requests: 0 };
  /** Each top-level key of `data` as it was last recorded, in JSON. */
  readonly data = new Map<string, string>();
  task: string | undefined;
  name: string | undefined;
  model: string | undefined;
  cwd: string | undefined;
  agent: AgentSummary | undefined;
  stoppedBy: string | undefined;
  finish: { readonly answer: HistoryEntry<"finish">["answer"] } | undefined;
  finished = false;
  updatedAt: string | undefined;
  readonly permissions: PermissionRule[] = [];
  /** Where runs began and ended, for telling whether the last turn was cut off. */
  lastUser = -1;
  lastRunStart: { readonly seq: number; readonly turn: number } | undefined;
  lastRunEnd: { readonly seq: number; readonly reason: string } | undefined;
  continuedTurn: number | undefined;
  /** A command of the person's that was started and has no output yet. */
  openShell: HistoryEntry<"shell_started"> | undefined;

  apply(entry: HistoryEntry): void {
    if (entry.kind === "missing") return;
    if (typeof entry.turn === "number" && entry.turn > this.turn) this.turn = entry.turn;
    this.updatedAt = entry.at;
    switch (entry.kind) {
      case "user":
        this.task ??= entry.text;
        this.messageCount += 1;
        this.lastUser = entry.seq;
        return;
      case "request":
        this.model = entry.model;
        return;
      case "reply":
      case "ask":
      case "compaction":
        this.#count(entry.usage);
        return;
      case "shell_started":
        this.openShell = entry;
        return;
      case "shell":
        this.openShell = undefined;
        return;
      case "data":
        for (const key of entry.removed) this.data.delete(key);
        for (const [key, value] of Object.entries(entry.set)) this.data.set(key, JSON.stringify(value));
        return;
      case "permission":
        this.permissions.push(entry.rule);
        return;
      case "model":
        this.model = entry.to;
        return;
      case "renamed":
        this.name = entry.name === "" ? undefined : entry.name;
        return;
      case "folder":
        this.cwd = entry.cwd;
        return;
      case "continued":
        this.continuedTurn = entry.turn;
        return;
      case "finish":
        this.finish = { answer: entry.answer };
        this.finished = true;
        this.stoppedBy = "finish";
        return;
      case "run_start":
        this.agent = entry.agent;
        this.lastRunStart = { seq: entry.seq, turn: entry.turn };
        this.stoppedBy = undefined;
        return;
      case "run_end":
        this.lastRunEnd = { seq: entry.seq, reason: entry.reason };
        this.stoppedBy = entry.reason;
        return;
      default:
        return;
    }
  }

  #count(usage: unknown): void {
    const tokens = (key: string) => {
      const value = isObject(usage) ? usage[key] : undefined;
      return typeof value === "number" && Number.isFinite(value) ? value : 0;
    };
    this.usage = {
      inputTokens: this.usage.inputTokens + tokens("inputTokens"),
      outputTokens: this.usage.outputTokens + tokens("outputTokens"),
      cachedInputTokens: this.usage.cachedInputTokens + tokens("cachedInputTokens"),
      requests: this.usage.requests + 1,
    };
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
