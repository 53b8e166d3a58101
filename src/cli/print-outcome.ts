import type { HistoryEntry } from "../agent/entries.js";
import { codeOf, hasCode, problemOf } from "../errors.js";
import type { Usage } from "../model/model.js";
import type { SessionEvent } from "../session/session.js";
import { exitCodeOfCode, exitCodeOfSignal } from "./exit-code.js";

/**
 * ok: answered. error: a step or a save failed. interrupted: Ctrl+C. aborted: a signal or an exception. denied: a
 * refused call ended the turn. limit: it was too long. Anything else is the reason a loop of one's own gave.
 */
export type PrintStatus = "ok" | "error" | "interrupted" | "aborted" | "denied" | "limit" | (string & {});

export interface PrintFailure {
  readonly problem: string;
  readonly fix: string | undefined;
  readonly code: string | undefined;
}

export type PrintUsage = Usage & { readonly requests: number };

/** What became of the turns of one start of print mode, from the events of its conversation. */
export class PrintOutcome {
  #text = "";
  #reason = "answered";
  #failure: PrintFailure | undefined;
  #unsaved: PrintFailure | undefined;
  #usage: { requests: number; inputTokens?: number; outputTokens?: number; cachedInputTokens?: number } = {
    requests: 0,
  };

  /** The answer: the last reply of the last turn, whole or as far as it came. */
  get text(): string {
    return this.#text;
  }

  /** Tokens that no request said anything about are left out. */
  get usage(): PrintUsage {
    return this.#usage;
  }

  get failure(): PrintFailure | undefined {
    return this.#failure ?? this.#unsaved;
  }

  /** Also when it could not be saved. */
  get isAnswered(): boolean {
    return this.#failure === undefined && (this.#reason === "answered" || this.#reason === "finish");
  }

  get status(): PrintStatus {
    if (this.#reason.startsWith("aborted")) return "aborted";
    if (this.#reason === "interrupted") return "interrupted";
    if (this.failure !== undefined) return "error";
    return this.#reason === "answered" || this.#reason === "finish" ? "ok" : this.#reason;
  }

  get exitCode(): number {
    if (this.status === "ok") return 0;
    if (this.status === "interrupted") return 130;
    if (this.status === "aborted") return exitCodeOfSignal(this.#reason.replace(/^aborted:/, "")) ?? 1;
    return exitCodeOfCode(this.failure?.code);
  }

  see(event: SessionEvent): void {
    switch (event.type) {
      case "entry":
        this.#entry(event.entry);
        return;
      case "error":
        this.#failure = event;
        return;
      case "save_failed":
        this.#unsaved = failureOf(event.error);
        return;
      case "saved":
        this.#unsaved = undefined;
        return;
      case "run_end":
      case "idle":
        this.#reason = event.reason;
        return;
      default:
        return;
    }
  }

  fail(error: unknown): void {
    // An answer that could not be saved is an answer.
    if (hasCode(error, "NOT_SAVED")) this.#unsaved ??= failureOf(error);
    else this.#failure = failureOf(error);
  }

  #entry(entry: HistoryEntry): void {
    if (entry.kind === "user" || entry.kind === "continued") this.#text = "";
    if (entry.kind === "finish")
      this.#text = typeof entry.answer === "string" ? entry.answer : JSON.stringify(entry.answer);
    if (entry.kind === "reply") this.#text = entry.text;
    if (entry.kind !== "reply" && entry.kind !== "compaction" && entry.kind !== "ask") return;
    this.#usage.requests += 1;
    for (const tokens of ["inputTokens", "outputTokens", "cachedInputTokens"] as const) {
      const said = entry.usage[tokens];
      if (said !== undefined) this.#usage[tokens] = (this.#usage[tokens] ?? 0) + said;
    }
  }
}

export function failureOf(error: unknown): PrintFailure {
  const fix = error instanceof Error && "fix" in error && typeof error.fix === "string" ? error.fix : undefined;
  // By shape: the error may come from another bundle, whose class is its own.
  const problem = error instanceof Error && "problem" in error ? String(error.problem) : problemOf(error);
  return { problem, fix, code: codeOf(error) };
}
