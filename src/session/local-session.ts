import { Agent } from "../agent/agent.js";
import { STOPPED } from "../agent/entries.js";
import type { AgentEvent } from "../agent/events.js";
import { SignalAbort, UserInterrupt } from "../agent/interrupt.js";
import { permissionPolicy } from "../agent/permission-policy.js";
import type { State } from "../agent/state.js";
import { PerdureError } from "../errors.js";
import { redactKeys } from "../model/default-models.js";
import { callRows } from "./call-rows.js";
import { eventNotice } from "./event-notices.js";
import { LazyModel } from "./lazy-model.js";
import { type ProblemParts, problemParts } from "./problem-parts.js";
import { Questions } from "./questions.js";
import { RecoveringStore } from "./recovering-store.js";
import { SaveStatus } from "./save-status.js";
import type { CallRow, PermissionAnswer, Session, SessionEvent, SessionInfo, ShutdownReason } from "./session.js";
import type { SessionParts } from "./session-parts.js";
import type { ShellWork } from "./shell-command.js";
import { toolLines } from "./tool-lines.js";
import { openToolbox, type Toolbox } from "./toolbox.js";

/** A conversation whose agent works in this process. */
export class LocalSession implements Session {
  readonly #parts: SessionParts;
  readonly #state: State;
  readonly #store: RecoveringStore;
  readonly #saveStatus: SaveStatus;
  readonly #listeners = new Set<(event: SessionEvent) => void>();
  readonly #questions = new Questions((event) => this.#emit(event));
  #cwd: string;
  #model: LazyModel;
  /** Saves without tools: the person's message is durable before anything heavy is loaded. */
  #agent: Agent;
  #toolbox: Promise<Toolbox> | undefined;
  #runner: Toolbox["runner"] | undefined;
  #work: Promise<void> | undefined;
  #controller: AbortController | undefined;
  #shutdown: Promise<void> | undefined;
  #saving: Promise<unknown> = Promise.resolve();
  #closed = false;
  #early: SessionEvent[] = [];
  /** A command of the person's that an earlier process left open. */
  #openShell: State["openShell"];
  /** For what runs now, when it is no turn: that it would have answered a message. */
  #messageWaits = false;

  constructor(parts: SessionParts, state: State, model: string, cwd: string) {
    this.#parts = parts;
    this.#state = state;
    this.#openShell = state.openShell;
    this.#cwd = cwd;
    this.#store = new RecoveringStore({
      store: parts.store,
      state,
      recovered: ({ from, id, problem }) =>
        this.#emit({ type: "recovered", from, id, text: recoveredText(from, id, problem) }),
      snapshotFailed: (problem) => this.#emit({ type: "notice", text: snapshotFailedText(problem) }),
    });
    this.#saveStatus = new SaveStatus({
      state,
      emit: (event) => this.#emit(event),
      retry: () => this.#save().catch((error: unknown) => this.#report(error)),
    });
    this.#model = new LazyModel(model, parts.openModel);
    this.#agent = this.#makeAgent(undefined);
  }

  get info(): SessionInfo {
    const state = this.#state;
    return {
      id: this.#store.id,
      name: state.name,
      task: state.task,
      model: this.#model.name,
      cwd: this.#cwd,
      saved: state.savedLength > 0,
      unsaved: this.#saveStatus.unsaved,
      createdAt: state.createdAt,
      updatedAt: state.updatedAt,
      messageCount: state.messageCount,
      usage: state.usage,
      busy: this.#work !== undefined,
    };
  }

  get history() {
    return this.#state.history;
  }

  get tools() {
    return toolLines(this.#parts.permissions);
  }

  on(listener: (event: SessionEvent) => void): () => void {
    this.#listeners.add(listener);
    for (const event of this.#early.splice(0)) listener(event);
    return () => this.#listeners.delete(listener);
  }

  async send(text: string): Promise<void> {
    this.#refuseClosed();
    if (this.#state.history.length === 0) this.#recordStart();
    else this.#recordFolder();
    this.#state.addUserMessage(text);
    await this.#save();
    this.#startTurn();
  }

  async retry(): Promise<void> {
    this.#refuseClosed();
    if (this.#work !== undefined) throw busy("a turn is running", "stop it with Ctrl+C first");
    if (this.#state.history.length === 0 || this.#state.isAnswered() || this.#state.isFinished()) {
      throw new PerdureError({
        code: "RETRY_NOTHING",
        problem: "there is nothing to ask again: the last turn is complete",
        fix: "send a message",
      });
    }
    this.#recordFolder();
    this.#startTurn();
  }

  async continueCutOff(): Promise<boolean> {
    this.#refuseClosed();
    const cutOff = this.#state.cutOffTurn;
    if (this.#work !== undefined || cutOff === undefined || cutOff.continued) return false;
    this.#recordFolder();
    this.#state.record({ kind: "continued" });
    await this.#save();
    // It would go on by itself again and again, each time it is resumed.
    if (this.#saveStatus.unsaved !== undefined) return false;
    this.#startTurn();
    return true;
  }

  async takeUpCalls(): Promise<boolean> {
    this.#refuseClosed();
    const start = this.#openShell;
    this.#openShell = undefined;
    if (this.#work !== undefined || (start === undefined && this.#state.openCalls.length === 0)) return false;
    let isDone = false;
    this.#messageWaits = false;
    await this.#run(async (signal) => {
      const toolbox = await this.#openToolbox();
      if (this.#state.openCalls.length > 0) {
        await this.#makeAgent({ ...toolbox, tools: toolbox.everyTool }).recover(this.#state, { signal });
      }
      if (start !== undefined) {
        const { takeUpShellCommand } = await import("./shell-command.js");
        await takeUpShellCommand(this.#shellWork(toolbox, signal), start);
      }
      isDone = !signal.aborted;
      return STOPPED.answered;
    });
    if (isDone && this.#messageWaits) this.#startTurn();
    return true;
  }

  calls(): CallRow[] {
    return callRows(this.#state.history, Date.now());
  }

  async shell(command: string): Promise<void> {
    this.#refuseClosed();
    if (this.#work !== undefined) throw busy("a turn is running", "wait until it ends or stop it with Ctrl+C");
    if (this.#state.history.length === 0) this.#recordStart();
    await this.#run(async (signal) => {
      const { runShellCommand } = await import("./shell-command.js");
      const toolbox = await this.#openToolbox();
      await runShellCommand(this.#shellWork(toolbox, signal), command);
      return "shell";
    });
  }

  #shellWork(toolbox: Toolbox, signal: AbortSignal): ShellWork {
    const [state, cwd, env] = [this.#state, this.#cwd, this.#parts.env];
    return { state, toolbox, cwd, env, signal, save: () => this.#save(), emit: (event) => this.#emit(event) };
  }

  async interrupt(): Promise<void> {
    this.#controller?.abort(new UserInterrupt());
    await this.idle();
  }

  shutdown(reason: ShutdownReason, withinMs: number): Promise<void> {
    this.#shutdown ??= this.#end(reason, withinMs);
    return this.#shutdown;
  }

  answer(askId: string, answer: PermissionAnswer): void {
    this.#questions.answer(askId, answer);
  }

  async rename(name: string): Promise<void> {
    this.#refuseClosed();
    this.#state.rename(name);
    if (this.#state.savedLength > 0) await this.#save();
  }

  async setModel(name: string): Promise<void> {
    this.#refuseClosed();
    if (this.#work !== undefined) throw busy("a turn is running", "change the model when it has ended");
    const next = new LazyModel(name, this.#parts.openModel);
    const opened = await next.ready();
    const from = this.#model.name;
    this.#model = new LazyModel(opened.name, async () => opened);
    this.#agent = this.#makeAgent(this.#toolbox === undefined ? undefined : await this.#toolbox);
    if (this.#state.history.length === 0) return;
    this.#state.record({ kind: "model", from, to: opened.name });
    await this.#save();
  }

  async idle(): Promise<void> {
    while (this.#work !== undefined) await this.#work;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.idle();
    await this.#saving;
    this.#saveStatus.stop();
    try {
      if (this.#saveStatus.unsaved !== undefined) await this.#save();
    } finally {
      if (this.#toolbox !== undefined) await (await this.#toolbox).runner.endAll();
      await this.#store.unlock();
    }
    this.#saveStatus.throwUnsaved();
  }

  #save(): Promise<void> {
    const saving = this.#agent.save(this.#state);
    // Leaving waits for it; whoever asked for the save is told how it went.
    this.#saving = Promise.allSettled([this.#saving, saving]);
    return saving;
  }

  #recordStart(): void {
    this.#state.record({ kind: "folder", cwd: this.#cwd });
    if (this.#parts.name !== undefined) this.#state.rename(this.#parts.name);
  }

  /** A resumed conversation works in another folder from its next message on: permissions given in the old one do not hold. */
  #recordFolder(): void {
    if (this.#state.cwd !== this.#cwd) this.#state.record({ kind: "folder", cwd: this.#cwd });
  }

  #startTurn(): void {
    // A running turn answers this message too; a conversation that is being left has it saved for the next resume.
    this.#messageWaits = this.#work !== undefined;
    if (this.#work !== undefined || this.#closed) return;
    void this.#run(async (signal) => {
      do {
        const toolbox = await this.#openToolbox();
        this.#agent = this.#makeAgent(toolbox);
        await this.#agent.run(this.#state, { signal });
        // A message that came after the last check and before the end of the run.
      } while (!signal.aborted && this.#state.stoppedBy === "answered" && !this.#state.isAnswered());
      return this.#state.stoppedBy ?? "answered";
    });
  }

  /** One thing at a time: a turn or a command. Reports its failure as an event; never rejects. */
  #run(work: (signal: AbortSignal) => Promise<string>): Promise<void> {
    const controller = new AbortController();
    this.#controller = controller;
    const running = Promise.resolve().then(async () => {
      this.#emit({ type: "busy" });
      let reason = "error";
      try {
        reason = await work(controller.signal);
      } catch (error) {
        if (controller.signal.aborted && error === controller.signal.reason)
          reason = this.#state.stoppedBy ?? "interrupted";
        else this.#report(error);
      }
      this.#work = undefined;
      this.#controller = undefined;
      this.#emit({ type: "idle", reason });
    });
    this.#work = running;
    return running;
  }

  async #end(reason: ShutdownReason, withinMs: number): Promise<void> {
    this.#closed = true;
    this.#saveStatus.stop();
    const leavesCalls = reason === "SIGHUP" && this.#parts.hangup !== "end";
    this.#controller?.abort(new SignalAbort(reason, { leavesCalls }));
    const ended = (async () => {
      // Tools that ignore their signal must not hold the run: their processes are ended beside it.
      const toolbox = await this.#toolbox;
      const graceMs = Math.min(500, withinMs / 4);
      const runs = leavesCalls ? toolbox?.runner.leaveAll(graceMs) : toolbox?.runner.endAll(graceMs);
      await Promise.all([this.idle(), this.#saving, runs]);
      if (this.#saveStatus.unsaved !== undefined) await this.#save();
    })();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    try {
      await Promise.race([ended, late]);
    } finally {
      clearTimeout(timer);
      await this.#store.unlock();
    }
    this.#saveStatus.throwUnsaved();
  }

  killAll(): void {
    this.#runner?.killAll();
  }

  #openToolbox(): Promise<Toolbox> {
    this.#toolbox ??= openToolbox(this.#parts, this.#state.id, (callId) => this.#store.callPath(callId)).then(
      (toolbox) => {
        this.#runner = toolbox.runner;
        return toolbox;
      },
    );
    return this.#toolbox;
  }

  #makeAgent(toolbox: Toolbox | undefined): Agent {
    const { permissions } = this.#parts;
    return new Agent({
      name: "chat",
      model: this.#model,
      system: this.#parts.system(
        this.#cwd,
        this.tools.map((tool) => tool.name),
      ),
      tools: toolbox?.tools ?? [],
      store: this.#store,
      onSaveFailed: "continue",
      permissions: [
        permissionPolicy({
          mode: permissions.mode,
          allow: permissions.allow,
          deny: permissions.deny,
          ask: (request) => this.#questions.ask(request),
        }),
      ],
      onEvent: (event: AgentEvent) => {
        if (event.type !== "draft_failed") this.#emit(event);
        this.#saveStatus.see(event);
        const text = eventNotice(event);
        if (text !== undefined) this.#emit({ type: "notice", text });
      },
      context: {
        cwd: this.#cwd,
        outputPath: (callId) => this.#store.callPath(callId),
        ...(toolbox === undefined ? {} : { boot: toolbox.boot }),
      },
    });
  }

  #report(error: unknown): void {
    const { problem, fix, code } = problemParts(error);
    this.#emit({ type: "error", problem: redactKeys(problem, this.#parts.env), fix, code });
  }

  /** What happened while opening: for the first listener, when there is one. */
  opened(notices: readonly string[]): void {
    this.#early = notices.map((text) => ({ type: "notice", text }));
  }

  #emit(event: SessionEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #refuseClosed(): void {
    if (this.#closed) throw busy(`conversation ${this.#state.id} is closed`, "resume it again");
  }
}

function recoveredText(from: string, id: string, problem: string): string {
  return `${problem}; it is left as it is, and this conversation goes on, saved whole, as ${id} ("recovered ${from}")`;
}

function snapshotFailedText({ problem, fix }: ProblemParts): string {
  const what = `the messages are saved, but not the summary that lists show: ${problem}`;
  return fix === undefined ? what : `${what} (${fix})`;
}

function busy(problem: string, fix: string): PerdureError {
  return new PerdureError({ code: "SESSION_BUSY", problem, fix });
}
