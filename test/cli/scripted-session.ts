import type { EntryBody, HistoryEntry } from "../../src/agent/entries.js";
import type { PermissionAnswer, Session, SessionEvent, SessionInfo } from "../../src/session/session.js";

export type ScriptedTurn = (session: ScriptedSession) => Promise<void> | void;

/** A conversation whose turns a test writes: each `send` or cut-off turn plays the next one. */
export class ScriptedSession implements Session {
  readonly history: HistoryEntry[] = [];
  readonly tools = [];
  /** What was asked of it, in order. */
  readonly done: string[] = [];
  readonly answers: PermissionAnswer[] = [];
  cutOff = false;
  sendError: unknown;
  closeError: unknown;
  readonly #turns: ScriptedTurn[];
  readonly #listeners = new Set<(event: SessionEvent) => void>();
  #work: Promise<void> | undefined;

  constructor(...turns: ScriptedTurn[]) {
    this.#turns = turns;
  }

  get info(): SessionInfo {
    return {
      id: "k7f2",
      name: undefined,
      task: undefined,
      model: "fake/model",
      cwd: "/work",
      saved: this.history.length > 0,
      createdAt: undefined,
      updatedAt: undefined,
      messageCount: 0,
      usage: { requests: 0 },
      busy: this.#work !== undefined,
    };
  }

  on(listener: (event: SessionEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async takeUpCalls(): Promise<boolean> {
    this.done.push("take up calls");
    return false;
  }

  calls() {
    return [];
  }

  emit(event: SessionEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  entry(body: EntryBody): void {
    const entry = { seq: this.history.length, at: "2026-01-01T00:00:00.000Z", turn: 1, ...body } as HistoryEntry;
    this.history.push(entry);
    this.emit({ type: "entry", entry });
  }

  /** A whole reply, streamed in two pieces. */
  reply(text: string, calls: Extract<EntryBody, { kind: "reply" }>["calls"] = []): void {
    const middle = Math.floor(text.length / 2);
    for (const piece of [text.slice(0, middle), text.slice(middle)]) {
      if (piece !== "") this.emit({ type: "text", text: piece });
    }
    const usage = { inputTokens: 10, outputTokens: 5 };
    this.entry({ kind: "reply", text, calls, model: "fake/model", usage, finish: "stop" });
    this.emit({ type: "reply", text, calls, usage, cutOff: undefined });
  }

  result(callId: string, text: string, isError = false): void {
    this.entry({ kind: "result", callId, name: "bash", text, isError, outcome: isError ? "refused" : "ok" });
  }

  async send(text: string): Promise<void> {
    if (this.sendError !== undefined) throw this.sendError;
    this.done.push(`send ${text}`);
    this.entry({ kind: "user", text });
    this.#start();
  }

  async continueCutOff(): Promise<boolean> {
    this.done.push("continue");
    if (!this.cutOff) return false;
    this.cutOff = false;
    this.entry({ kind: "continued" });
    this.#start();
    return true;
  }

  /** The end of a turn, as a session tells it. */
  end(reason: string): void {
    this.emit({ type: "run_end", reason });
    this.emit({ type: "idle", reason });
  }

  #start(): void {
    const turn = this.#turns.shift();
    if (turn === undefined) throw new Error("no turn is written for this");
    this.#work = (async () => {
      this.emit({ type: "busy" });
      // The message is durable before the turn does anything.
      await Promise.resolve();
      await turn(this);
      this.#work = undefined;
    })();
  }

  async idle(): Promise<void> {
    await this.#work;
  }

  async close(): Promise<void> {
    this.done.push("close");
    if (this.closeError !== undefined) throw this.closeError;
  }

  answer(_askId: string, answer: PermissionAnswer): void {
    this.answers.push(answer);
  }

  killAll(): void {
    this.done.push("killAll");
  }

  retry = this.#unwanted("retry");
  shell = this.#unwanted("shell");
  interrupt = this.#unwanted("interrupt");
  shutdown = this.#unwanted("shutdown");
  rename = this.#unwanted("rename");
  setModel = this.#unwanted("setModel");

  #unwanted(name: string): () => Promise<never> {
    return () => Promise.reject(new Error(`print mode calls ${name}`));
  }
}
