import { Agent } from "../agent/agent.js";
import type { AgentEvent } from "../agent/events.js";
import { SignalAbort, UserInterrupt } from "../agent/interrupt.js";
import { permissionPolicy } from "../agent/permission-policy.js";
import type { State } from "../agent/state.js";
import { codeOf, PerdureError, problemOf } from "../errors.js";
import { redactKeys } from "../model/default-models.js";
import { LazyModel } from "./lazy-model.js";
import { Questions } from "./questions.js";
import type { PermissionAnswer, Session, SessionEvent, SessionInfo, ShutdownReason } from "./session.js";
import type { SessionParts } from "./session-parts.js";
import { toolLines } from "./tool-lines.js";
import { openToolbox, type Toolbox } from "./toolbox.js";

/** A conversation whose agent works in this process. */
export class LocalSession implements Session {
  readonly #parts: SessionParts;
  readonly #state: State;
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
  /** A save failed: what is only in memory is written on leaving, if the disk lets it. */
  #dirty = false;
  #saving: Promise<unknown> = Promise.resolve();
  #closed = false;
  #early: SessionEvent[] = [];

  constructor(parts: SessionParts, state: State, model: string, cwd: string) {
    this.#parts = parts;
    this.#state = state;
    this.#cwd = cwd;
    this.#model = new LazyModel(model, parts.openModel);
    this.#agent = this.#makeAgent(undefined);
  }

  get info(): SessionInfo {
    const state = this.#state;
    return {
      id: state.id,
      name: state.name,
      task: state.task,
      model: this.#model.name,
      cwd: this.#cwd,
      saved: state.savedLength > 0,
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
    this.#startTurn();
    return true;
  }

  async shell(command: string): Promise<void> {
    this.#refuseClosed();
    if (this.#work !== undefined) throw busy("a turn is running", "wait until it ends or stop it with Ctrl+C");
    if (this.#state.history.length === 0) this.#recordStart();
    await this.#run(async (signal) => {
      const { runShellCommand } = await import("./shell-command.js");
      const toolbox = await this.#openToolbox();
      const ran = await runShellCommand({
        command,
        callId: `shell_${this.#state.history.length}`,
        cwd: this.#cwd,
        toolbox,
        outputPath: this.#parts.store.callPath(this.#state.id, `shell_${this.#state.history.length}`),
        signal,
        onOutput: (chunk) => this.#emit({ type: "shell_output", chunk: redactKeys(chunk, this.#parts.env) }),
      });
      this.#state.addShell(command, redactKeys(ran.output, this.#parts.env), ran.exitCode);
      this.#emit({ type: "shell_end", exitCode: ran.exitCode });
      await this.#save();
      return "shell";
    });
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
    try {
      if (this.#dirty) await this.#save();
    } finally {
      if (this.#toolbox !== undefined) await (await this.#toolbox).runner.endAll();
      await this.#parts.store.unlock(this.#state.id);
    }
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
    this.#controller?.abort(new SignalAbort(reason));
    const ended = (async () => {
      // Tools that ignore their signal must not hold the run: their processes are ended beside it.
      const toolbox = await this.#toolbox;
      await Promise.all([this.idle(), this.#saving, toolbox?.runner.endAll(Math.min(500, withinMs / 4))]);
      if (this.#dirty) await this.#save();
    })();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    try {
      await Promise.race([ended, late]);
    } finally {
      clearTimeout(timer);
      await this.#parts.store.unlock(this.#state.id);
    }
  }

  killAll(): void {
    this.#runner?.killAll();
  }

  #openToolbox(): Promise<Toolbox> {
    this.#toolbox ??= openToolbox(this.#parts, this.#state.id).then((toolbox) => {
      this.#runner = toolbox.runner;
      return toolbox;
    });
    return this.#toolbox;
  }

  #makeAgent(toolbox: Toolbox | undefined): Agent {
    const { store, permissions } = this.#parts;
    return new Agent({
      name: "chat",
      model: this.#model,
      system: this.#parts.system(
        this.#cwd,
        this.tools.map((tool) => tool.name),
      ),
      tools: toolbox?.tools ?? [],
      store,
      permissions: [
        permissionPolicy({
          mode: permissions.mode,
          allow: permissions.allow,
          deny: permissions.deny,
          ask: (request) => this.#questions.ask(request),
        }),
      ],
      onEvent: (event: AgentEvent) => {
        if (event.type === "saved" || event.type === "save_failed") this.#dirty = event.type === "save_failed";
        this.#emit(event);
        if (event.type === "trimmed") this.#emit({ type: "notice", text: trimmedNotice(event) });
      },
      context: { cwd: this.#cwd, outputPath: (callId) => store.callPath(this.#state.id, callId) },
    });
  }

  #report(error: unknown): void {
    this.#emit({
      type: "error",
      problem: redactKeys(problemOf(error), this.#parts.env),
      fix: error instanceof Error && "fix" in error && typeof error.fix === "string" ? error.fix : undefined,
      code: codeOf(error),
    });
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

function busy(problem: string, fix: string): PerdureError {
  return new PerdureError({ code: "SESSION_BUSY", problem, fix });
}

function trimmedNotice({ bytesMax, omittedBytes }: Extract<AgentEvent, { type: "trimmed" }>): string {
  const kib = (bytes: number) => `${Math.max(1, Math.round(bytes / 1024))} KiB`;
  return `the conversation has become too large for the model: it is now sent at most ${kib(bytesMax)} of each message and result (${kib(omittedBytes)} less); the history keeps everything`;
}
