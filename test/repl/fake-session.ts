import type { HistoryEntry } from "../../src/agent/entries.js";
import { PerdureError } from "../../src/errors.js";
import type { JsonValue } from "../../src/json.js";
import type {
  CallRow,
  PermissionAnswer,
  Session,
  SessionEvent,
  SessionInfo,
  Sessions,
  ShutdownReason,
  Unsaved,
} from "../../src/session/session.js";
import type { SavedState } from "../../src/store/store.js";

export type Turn = (session: FakeSession, text: string, signal: AbortSignal) => Promise<void>;

let idNext = 1;

/** A conversation in memory whose turns a test writes. */
export class FakeSession implements Session {
  readonly history: HistoryEntry[] = [];
  readonly tools = [
    { name: "bash", description: "Runs a command in the shell", runs: "asks first" },
    { name: "read", description: "Reads a file", runs: "runs without asking in the working folder" },
  ];
  /** What the REPL did, in order: `send hello`, `interrupt`, `close`. */
  readonly done: string[] = [];
  readonly sent: string[] = [];
  readonly id: string;
  name: string | undefined;
  model = "offline/echo";
  cutOff = false;
  callRows: CallRow[] = [];
  closed = false;
  turn: Turn;
  sendError: unknown;
  closeError: unknown;
  unsaved: Unsaved | undefined;
  #listeners = new Set<(event: SessionEvent) => void>();
  #answers = new Map<string, (answer: PermissionAnswer) => void>();
  #running: Promise<void> | undefined;
  #abort: AbortController | undefined;
  #asks = 0;

  constructor(options: { id?: string; turn?: Turn } = {}) {
    this.id = options.id ?? `fake${idNext++}`;
    this.turn = options.turn ?? echo;
  }

  get info(): SessionInfo {
    const first = this.history.find((entry) => entry.kind === "user");
    return {
      id: this.id,
      name: this.name,
      task: first?.kind === "user" ? first.text : undefined,
      model: this.model,
      cwd: "/work/project",
      saved: this.history.length > 0,
      unsaved: this.unsaved,
      createdAt: "2026-01-01T10:00:00.000Z",
      updatedAt: "2026-01-01T10:00:00.000Z",
      messageCount: this.history.length,
      usage: { requests: this.sent.length, inputTokens: 1200, outputTokens: 30 },
      busy: this.#running !== undefined,
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

  calls(): CallRow[] {
    return this.callRows;
  }

  emit(event: SessionEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }

  add(body: { kind: HistoryEntry["kind"]; [field: string]: JsonValue | undefined }): void {
    const entry = { seq: this.history.length, at: "2026-01-01T10:00:00.000Z", turn: 1, ...body };
    this.history.push(entry as HistoryEntry);
  }

  async send(text: string): Promise<void> {
    if (this.sendError !== undefined) throw this.sendError;
    this.done.push(`send ${text}`);
    this.sent.push(text);
    this.add({ kind: "user", text });
    if (this.#running === undefined) this.begin(text, this.turn);
  }

  begin(text: string, turn: Turn): void {
    const abort = new AbortController();
    this.#abort = abort;
    const run = async () => {
      this.emit({ type: "busy" });
      try {
        await turn(this, text, abort.signal);
        this.emit({ type: "run_end", reason: abort.signal.aborted ? "interrupted" : "answered" });
      } catch (error) {
        if (!abort.signal.aborted) throw error;
        this.emit({ type: "run_end", reason: "interrupted" });
      }
    };
    this.#running = run().finally(() => {
      this.#running = undefined;
      this.emit({ type: "idle", reason: "answered" });
    });
  }

  /** Asks the person, as a tool call would. */
  async ask(command: string, always = "every bash command"): Promise<PermissionAnswer> {
    this.#asks += 1;
    const askId = `ask${this.#asks}`;
    const answered = new Promise<PermissionAnswer>((resolve) => this.#answers.set(askId, resolve));
    this.emit({
      type: "ask",
      askId,
      call: { id: askId, name: "bash", input: { command } },
      access: { action: "run", inside: false, subject: command },
      always,
    });
    return answered;
  }

  /** Streams a reply in pieces. */
  reply(...pieces: string[]): void {
    for (const text of pieces) this.emit({ type: "text", text });
    this.endReply(pieces.join(""));
  }

  endReply(text: string, cutOff?: string): void {
    this.emit({ type: "reply", text, calls: [], usage: {}, cutOff });
    this.add({ kind: "reply", text, calls: [], model: this.model, usage: {}, finish: "stop" });
  }

  async retry(): Promise<void> {
    this.done.push("retry");
    throw new PerdureError({ code: "RETRY_NOTHING", problem: "the last turn is complete", fix: "send a message" });
  }

  async continueCutOff(): Promise<boolean> {
    this.done.push("continueCutOff");
    if (!this.cutOff) return false;
    this.cutOff = false;
    this.begin("", async (session) => session.reply("continued"));
    return true;
  }

  async shell(command: string): Promise<void> {
    this.done.push(`shell ${command}`);
    this.begin("", async () => {
      this.emit({ type: "shell_output", chunk: `output of ${command}\n` });
      this.emit({ type: "shell_end", exitCode: 3 });
    });
    await this.idle();
  }

  async interrupt(): Promise<void> {
    this.done.push("interrupt");
    this.#abort?.abort();
    await this.#running;
  }

  async shutdown(reason: ShutdownReason, _withinMs: number): Promise<void> {
    this.done.push(`shutdown ${reason}`);
    this.#abort?.abort();
  }

  answer(askId: string, answer: PermissionAnswer): void {
    this.done.push(`answer ${JSON.stringify(answer)}`);
    this.#answers.get(askId)?.(answer);
    this.#answers.delete(askId);
  }

  async rename(name: string): Promise<void> {
    this.done.push(`rename ${name}`);
    this.name = name;
  }

  async setModel(name: string): Promise<void> {
    this.model = name;
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  killAll(): void {
    this.done.push("killAll");
  }

  async close(): Promise<void> {
    this.done.push("close");
    if (this.closeError !== undefined) throw this.closeError;
    this.closed = true;
  }
}

export const echo: Turn = async (session, text) => {
  session.reply("you said: ", text);
};

export class FakeSessions implements Sessions {
  readonly deleted: string[] = [];
  readonly opened: FakeSession[] = [];
  readonly rows: SavedState[];
  lockedId: string | undefined;
  turn: Turn = echo;

  constructor(rows: SavedState[] = []) {
    this.rows = rows;
  }

  async create(): Promise<Session> {
    return this.#open(new FakeSession({ turn: this.turn }));
  }

  async resume(ref: string | undefined): Promise<Session> {
    const saved = await this.find(ref ?? this.rows[0]?.id ?? "");
    if (saved.id === this.lockedId) throw locked(saved.id);
    const session = new FakeSession({ id: saved.id, turn: this.turn });
    session.name = saved.name;
    session.add({ kind: "user", text: saved.task });
    session.add({ kind: "reply", text: "an old answer", calls: [], model: "m", usage: {}, finish: "stop" });
    return this.#open(session);
  }

  #open(session: FakeSession): FakeSession {
    this.opened.push(session);
    return session;
  }

  async list(): Promise<SavedState[]> {
    return this.rows;
  }

  running: string[] = [];

  async runningIn(): Promise<string[]> {
    return this.running;
  }

  async delete(ref: string): Promise<SavedState> {
    const saved = await this.find(ref);
    if (saved.id === this.lockedId) throw locked(saved.id);
    this.deleted.push(saved.id);
    this.rows.splice(this.rows.indexOf(saved), 1);
    return saved;
  }

  async find(ref: string): Promise<SavedState> {
    const saved = this.rows.find((row) => row.id.startsWith(ref) || row.name === ref);
    if (saved === undefined) {
      throw new PerdureError({ code: "STATE_NOT_FOUND", problem: `no conversation "${ref}"`, fix: ":list shows all" });
    }
    return saved;
  }
}

function locked(id: string): PerdureError {
  return new PerdureError({
    code: "STATE_LOCKED",
    problem: `conversation ${id} is open in another terminal (pid 42)`,
    fix: "close it there",
  });
}

export function savedState(id: string, task: string, more: Partial<SavedState> = {}): SavedState {
  return {
    id,
    task,
    name: undefined,
    createdAt: "2026-01-01T10:00:00.000Z",
    updatedAt: "2026-01-01T10:00:00.000Z",
    stoppedBy: "answered",
    historyLength: 4,
    snapshot: undefined,
    ...more,
  };
}
