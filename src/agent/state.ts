import type { JsonObject, JsonValue } from "../json.js";
import type { ModelCall, ModelMessage } from "../model/model.js";
import type { Damage, SavedRecord, Snapshot } from "../store/store.js";
import { cleanJson, cleanObject, cleanText } from "./clean.js";
import { type Clock, systemClock } from "./clock.js";
import { type CutOffTurn, findCutOffTurn } from "./cut-off-turn.js";
import { changedData } from "./data-changes.js";
import type { AgentSummary, EntryBody, HistoryEntry, PermissionRule } from "./entries.js";
import { Facts, type UsageTotals } from "./facts.js";
import { ContextFold } from "./fold.js";
import { toJsonAnswer } from "./json-check.js";
import { type RestoreOptions, restore } from "./restore.js";
import { dataOf, snapshotOf } from "./snapshot.js";
import { finishedError } from "./state-errors.js";
import { checkStateId, randomStateId } from "./state-id.js";

export interface StateOptions {
  /** `[A-Za-z0-9_-]{1,128}`; random when not given. */
  readonly id?: string;
  readonly data?: JsonObject;
  readonly clock?: Clock;
}

/**
 * One conversation: its history, and everything that follows from it. It touches no file and no network; an Agent works
 * on it, and a store keeps it.
 */
export class State {
  readonly id: string;
  readonly createdAt: string;
  /** What could not be read when it was loaded, by file. Empty for a State that was not loaded. */
  readonly damage: readonly Damage[];
  /**
   * Values of your own, saved with the conversation: JSON values only, checked before every save. What is in it is yours
   * to change at any time.
   */
  data: JsonObject;

  readonly #clock: Clock;
  readonly #history: HistoryEntry[];
  readonly #facts: Facts;
  readonly #fold: ContextFold;
  readonly #listeners = new Set<(entry: HistoryEntry) => void>();
  readonly #isLoaded: boolean;
  readonly #openCallIds: ReadonlySet<string>;
  #savedLength: number;
  #stoppedBy: string | undefined;
  #turnIsOpen = false;
  #isRunning = false;

  /**
   * @param task the first message, if there is one already
   * @throws {PerdureError} STATE_ID_INVALID
   */
  constructor(task?: string, options: StateOptions = {}, restored?: ReturnType<typeof restore>) {
    if (options.id !== undefined) checkStateId(options.id);
    this.id = options.id ?? randomStateId();
    this.#clock = options.clock ?? systemClock;
    this.#history = restored?.history ?? [];
    this.#facts = restored?.facts ?? new Facts();
    this.#fold = restored?.fold ?? new ContextFold(this.#history);
    this.#savedLength = restored?.savedLength ?? 0;
    this.#isLoaded = restored !== undefined;
    this.#openCallIds = new Set(restored?.openCallIds);
    this.#stoppedBy = this.#facts.stoppedBy;
    this.damage = restored?.damage ?? [];
    this.createdAt = restored?.createdAt ?? this.#now();
    this.data = restored === undefined ? (options.data ?? {}) : dataOf(this.#facts);
    if (task !== undefined) this.addUserMessage(task);
    for (const body of restored?.closing ?? []) this.record(body);
  }

  /**
   * The State that a store's record holds, ready to go on: calls without a result are closed, a running request is
   * dropped, what could not be read or replayed is told in a notice. What that adds is saved with the next save. With
   * `openCalls: "keep"` calls stay open, for an agent that can find out what became of them ({@link openCalls}).
   */
  static fromRecord(id: string, record: SavedRecord, options: { clock?: Clock } & RestoreOptions = {}): State {
    const { openCalls, ...rest } = options;
    return new State(undefined, { ...rest, id }, restore(id, record, openCalls === undefined ? {} : { openCalls }));
  }

  /** The person's first message. */
  get task(): string | undefined {
    return this.#facts.task;
  }
  get name(): string | undefined {
    return this.#facts.name;
  }
  /** Append-only; an entry's index is its `seq`. Entries lost to damage have the kind `missing`. */
  get history(): readonly HistoryEntry[] {
    return this.#history;
  }
  /** What the model sees next: the fold of the history, always valid. */
  get context(): readonly ModelMessage[] {
    return this.#fold.context;
  }
  /** Calls of the last reply that have no result yet, in their order. */
  get pendingCalls(): readonly ModelCall[] {
    return this.#fold.pendingCalls;
  }
  /** Pending calls of an earlier process: nobody has found out yet what became of them. They are never just run. */
  get openCalls(): readonly ModelCall[] {
    return this.#openCallIds.size === 0 ? [] : this.pendingCalls.filter((call) => this.#openCallIds.has(call.id));
  }
  /** A command of the person's that was started and has no output yet. */
  get openShell(): HistoryEntry<"shell_started"> | undefined {
    return this.#facts.openShell;
  }
  get usage(): Readonly<UsageTotals> {
    return this.#facts.usage;
  }
  /** How many of the person's messages began a turn. */
  get turn(): number {
    return this.#facts.turn;
  }
  /** How many messages the person sent. */
  get messageCount(): number {
    return this.#facts.messageCount;
  }
  /** Why the last run stopped; undefined while one is under way and before the first. */
  get stoppedBy(): string | undefined {
    return this.#stoppedBy;
  }
  get finished(): boolean {
    return this.#facts.finished;
  }
  /** What {@link finish} was given, or the model's last whole answer to the last message. */
  get answer(): JsonValue | undefined {
    return this.#facts.finish?.answer ?? this.#fold.answer;
  }
  /** The agent that ran it last. */
  get agent(): AgentSummary | undefined {
    return this.#facts.agent;
  }
  /** ISO 8601 in UTC: when the last entry was recorded. */
  get updatedAt(): string {
    return this.#facts.updatedAt ?? this.createdAt;
  }
  /** Rules the person gave in this conversation. */
  get permissions(): readonly PermissionRule[] {
    return this.#facts.permissions;
  }
  /** The last recorded working folder. */
  get cwd(): string | undefined {
    return this.#facts.cwd;
  }
  /** The model that was asked or chosen last. */
  get model(): string | undefined {
    return this.#facts.model;
  }
  /** How many entries the store has acknowledged. */
  get savedLength(): number {
    return this.#savedLength;
  }
  /** Whether it was loaded from a record rather than made new. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }
  /** Whether an Agent is running it now. */
  get isRunning(): boolean {
    return this.#isRunning;
  }
  /** The last turn, when SIGTERM, SIGHUP, an exception or a kill cut it off; not after Ctrl+C, nor while a run is under way. */
  get cutOffTurn(): CutOffTurn | undefined {
    return this.#isRunning ? undefined : findCutOffTurn(this.#facts, this.isAnswered());
  }

  /** While a request runs or calls are pending, the message waits for its place right after them. */
  addUserMessage(text: string): HistoryEntry {
    return this.record({ kind: "user", text });
  }

  /** A message from the program; the model sees it as `[notice] …` and answers it. */
  addNotice(text: string): HistoryEntry {
    return this.record({ kind: "notice", text });
  }

  /** A command the person ran, with its output. It wants no answer by itself. */
  addShell(
    command: string,
    output: string,
    exitCode: number | null,
    more: Pick<Extract<EntryBody, { kind: "shell" }>, "callId" | "outcome" | "durationMs"> = {},
  ): HistoryEntry {
    return this.record({ kind: "shell", command, output, exitCode, ...more });
  }

  /** Refuses a pending call: the model gets the reason. */
  deny(call: ModelCall, reason: string): HistoryEntry {
    const text = `(refused: ${reason})`;
    return this.record({ kind: "result", callId: call.id, name: call.name, text, isError: true, outcome: "refused" });
  }

  /**
   * Ends the conversation for good; running it again throws STATE_FINISHED.
   *
   * @throws {PerdureError} ANSWER_NOT_JSON
   */
  finish(answer?: unknown): HistoryEntry {
    if (this.finished) throw finishedError(this.id);
    return this.record({ kind: "finish", answer: answer === undefined ? null : toJsonAnswer(answer) });
  }

  rename(name: string): HistoryEntry {
    return this.record({ kind: "renamed", name });
  }

  /** The model's last word is a whole answer, and no message came after it. */
  isAnswered(): boolean {
    return this.#fold.isAnswered;
  }
  wantsTools(): boolean {
    return this.pendingCalls.length > 0;
  }
  isFinished(): boolean {
    return this.finished;
  }
  /** Whether a pending call's start was recorded, so that it may have run. */
  isStarted(callId: string): boolean {
    return this.#fold.isStarted(callId);
  }

  /** Adds one entry to the history. In memory: `agent.save(state)` makes it durable. */
  record(body: EntryBody): HistoryEntry {
    const opensTurn = body.kind === "user" && !this.#turnIsOpen;
    if (opensTurn) this.#turnIsOpen = true;
    const head = { seq: this.#history.length, at: this.#now(), turn: this.#facts.turn + (opensTurn ? 1 : 0) };
    const entry = { ...head, ...cleaned(body) } as HistoryEntry;
    this.#history.push(entry);
    this.#facts.apply(entry);
    this.#fold.advance();
    if (entry.kind === "run_start") this.#turnIsOpen = true;
    if (entry.kind === "run_end") this.#turnIsOpen = false;
    if (entry.kind === "run_start" || entry.kind === "run_end" || entry.kind === "finish") {
      this.#stoppedBy = this.#facts.stoppedBy;
    }
    for (const listener of this.#listeners) listener(entry);
    return entry;
  }

  /** For loops: why the steps end here. The run records it. */
  stopBy(reason: string | undefined): void {
    this.#stoppedBy = reason;
  }

  /** Calls the listener with every entry from now on. Returns what ends that. */
  onEntry(listener: (entry: HistoryEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * For agents: records what changed in `data` since it was recorded last.
   *
   * @throws {PerdureError} STATE_DATA_NOT_JSON
   */
  recordData(): void {
    const change = changedData(this.data, this.#facts.data);
    if (change !== undefined) this.record(change);
  }

  /** For agents: the snapshot of this moment. */
  snapshot(): Snapshot {
    return snapshotOf(this.#facts, this.createdAt, this.#history.length);
  }

  /** For agents: the store acknowledged so many entries. */
  markSaved(length: number): void {
    this.#savedLength = length;
  }

  /** For agents: a run begins or has ended. */
  markRunning(isRunning: boolean): void {
    this.#isRunning = isRunning;
  }

  /** For compaction: the messages with the history positions a summary may keep from. */
  get contextPositions(): ContextFold["positions"] {
    return this.#fold.positions;
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

/** The person's own values stay as they are; what a model, a tool or a terminal gave is made well-formed. */
function cleaned(body: EntryBody): EntryBody {
  switch (body.kind) {
    case "data":
    case "finish":
      return body;
    case "reply":
      return { ...body, text: cleanText(body.text), calls: body.calls.map(cleanCall) };
    case "ask":
      return { ...body, prompt: cleanText(body.prompt) };
    default:
      return cleanJson(body as unknown as JsonValue) as unknown as EntryBody;
  }
}

function cleanCall(call: ModelCall): ModelCall {
  const provider = call.provider === undefined ? {} : { provider: cleanObject(call.provider) };
  return { id: cleanText(call.id), name: cleanText(call.name), input: cleanJson(call.input), ...provider };
}
