import { problemOf } from "../errors.js";
import { leavingLine } from "../session/leaving.js";
import type { Session, SessionEvent } from "../session/session.js";
import { printable } from "../text/printable.js";
import { BusyStatus } from "./busy-status.js";
import { type CommandContext, runCommand } from "./commands.js";
import { completeLine } from "./complete.js";
import { type Display, errorLines, GAP, line, lines, problemLines, spans } from "./display.js";
import { releaseHungUpTerminal } from "./hung-up.js";
import { parseInput } from "./input.js";
import { InputHistory } from "./input-history.js";
import { permissionQuestion } from "./permission-question.js";
import { Questions } from "./questions.js";
import type { Ask } from "./render-ask.js";
import { historyLines } from "./render-history.js";
import { resumedLines } from "./render-state.js";
import type { Repl, ReplEnd, ReplOptions } from "./repl.js";
import { wantsColor } from "./style.js";
import { Terminal } from "./terminal.js";
import { refuseWhileUnsaved } from "./unsaved.js";
import { TurnView } from "./view.js";

const EXCHANGES_ON_RESUME = 3;
const PROMPT = "> ";
const PROMPT_NOT_SAVED = "[not saved] > ";
const SHUTDOWN_MS = 2000;

/** The line mode: puts terminal, questions, commands and what happens in the conversation together. */
export class LineRepl implements Repl {
  readonly done: Promise<ReplEnd>;
  readonly #options: ReplOptions;
  readonly #terminal: Terminal;
  readonly #questions: Questions;
  readonly #inputHistory: InputHistory;
  readonly #busy = new BusyStatus(
    () => this.#view.activity,
    () => this.#updateStatus(),
  );
  #session: Session;
  #view: TurnView;
  #unsubscribe: () => void = () => {};
  #resolveDone: (end: ReplEnd) => void = () => {};
  /** What was entered is done in order; only answers and Ctrl+C go past it. */
  #work: Promise<void> = Promise.resolve();
  #interruptedOnce = false;
  #continuing = false;
  #leaving = false;
  #questionCount = 0;
  #shellWork: Promise<void> | undefined;

  constructor(options: ReplOptions) {
    this.#options = options;
    this.#session = options.session;
    this.done = new Promise((resolve) => {
      this.#resolveDone = resolve;
    });
    this.#terminal = new Terminal({
      input: options.input,
      output: options.output,
      colors: wantsColor(options.output.isTTY === true, process.env),
      prompt: PROMPT,
      handlers: {
        entered: (text) => this.#entered(text),
        interrupt: () => this.#interrupt(),
        endOfInput: () => void this.#leave(0),
        typed: () => {
          this.#interruptedOnce = false;
        },
        complete: (text) => completeLine(text, options.sessions),
        gone: (reason) => this.terminalGone(reason),
      },
    });
    this.#questions = new Questions(this.#terminal, () => !this.#isBusy);
    this.#inputHistory = new InputHistory(options.historyPath, (error) => void this.#inputNotKept(error));
    this.#view = this.#newView();
    this.#terminal.show(options.banner.flatMap((text) => lines(text, "dim")));
    if (options.resumed === true) this.#showWhereWeAre();
    this.#watch();
    this.#terminal.show([GAP]);
    this.#setBusy(this.#session.info.busy);
    // The prompt stands and takes input; the rest comes after.
    setImmediate(() => {
      void this.#begin();
    });
  }

  get session(): Session {
    return this.#session;
  }

  notice(text: string): void {
    this.#show(lines(text, "dim"));
  }

  restore(): void {
    this.#busy.end();
    this.#terminal.restore();
    if (this.#options.input === process.stdin) releaseHungUpTerminal();
  }

  terminalGone(reason?: string): void {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#questions.cancel();
    this.#session.shutdown("SIGHUP", SHUTDOWN_MS).then(
      () => this.#end({ exitCode: 129, ...(reason === undefined ? {} : { reason }) }),
      (error: unknown) => this.#end({ exitCode: 129, reason: `not saved: ${problemOf(error)}` }),
    );
  }

  /** A disk that takes nothing is told of by the conversation: once is enough. */
  async #inputNotKept(error: unknown): Promise<void> {
    await this.#work;
    if (this.#session.info.unsaved !== undefined) return;
    this.#show(problemLines(`what you type is not kept for the next start: ${problemOf(error)}`, undefined));
  }

  async #begin(): Promise<void> {
    this.#terminal.addOlderHistory(await this.#inputHistory.load());
    try {
      if (this.#options.resumed === true) await this.#goOn();
      const { firstMessage } = this.#options;
      if (firstMessage === undefined || this.#leaving) return;
      await this.#session.idle();
      this.#show(lines(firstMessage).map((item, index) => withMark(item, index === 0 ? "> " : "  ")));
      this.#view.personSpoke();
      await this.#session.send(firstMessage);
    } catch (error) {
      this.#show(errorLines(error));
    }
  }

  /** What was open becomes what it became; then the turn that was cut off goes on. */
  async #goOn(): Promise<void> {
    await this.#session.takeUpCalls();
    if (this.#options.wait === true || this.#leaving) return;
    this.#continuing = true;
    try {
      await this.#session.continueCutOff();
    } finally {
      this.#continuing = false;
    }
  }

  #showWhereWeAre(): void {
    const { info, history } = this.#session;
    const { columns } = this.#terminal;
    this.#terminal.show([
      ...resumedLines(info, columns, new Date()),
      ...historyLines(history, { count: EXCHANGES_ON_RESUME, bounded: true, columns }),
      GAP,
    ]);
    this.#view.personSpoke();
  }

  #newView(): TurnView {
    return new TurnView(() => this.#terminal.columns);
  }

  /** From here on; what happened while the conversation was opened comes at once. */
  #watch(): void {
    this.#unsubscribe = this.#session.on((event) => this.#happened(event));
  }

  #happened(event: SessionEvent): void {
    if (event.type === "busy" && this.#continuing) {
      this.#continuing = false;
      this.#show([line("going on with the turn that was cut off (Ctrl+C stops it)", "dim")]);
    }
    this.#terminal.show(this.#view.show(event));
    if (event.type === "saving_failed") this.#terminal.setPrompt(PROMPT_NOT_SAVED);
    else if (event.type === "saving_works") this.#terminal.setPrompt(PROMPT);
    if (event.type === "busy" || event.type === "idle") this.#setBusy(event.type === "busy");
    else if (event.type === "ask") this.#ask(event);
    else if (event.type === "ask_withdrawn") this.#questions.withdraw(event.askId);
    else if (event.type === "call_started" || event.type === "call_result") this.#updateStatus();
  }

  get #isBusy(): boolean {
    return this.#busy.isBusy;
  }

  #setBusy(busy: boolean): void {
    this.#busy.set(busy);
    this.#terminal.setWaiting(!busy, this.#busy.text);
  }

  #updateStatus(): void {
    this.#terminal.setStatus(this.#busy.text);
  }

  #show(items: readonly Display[]): void {
    this.#terminal.show(items);
  }

  #entered(text: string): void {
    if (this.#leaving) return;
    if (this.#questions.isAsking) {
      this.#questions.entered(text);
      return;
    }
    const input = parseInput(text);
    if (input.kind === "nothing") return;
    this.#inputHistory.add(text);
    if (input.kind === "message" && this.#isBusy) {
      const when = this.#shellWork === undefined ? "the model gets it with its next step" : "sent after the command";
      this.#terminal.note(line(`(queued: ${when})`, "dim"));
    }
    if (!this.#isBusy) {
      this.#view.personSpoke();
      // The prompt comes back when the message is on disk, and answered.
      if (input.kind === "message") this.#terminal.setWaiting(false);
    }
    this.#inOrder(async () => {
      if (input.kind === "message") {
        // A command of the person's is no turn that could answer.
        await this.#shellWork;
        await this.#send(input.text);
      } else if (input.kind === "shell") this.#shell(input.command);
      else await runCommand(this.#context(), input.name, input.argument);
    });
  }

  async #send(text: string): Promise<void> {
    try {
      await this.#session.send(text);
    } finally {
      if (!this.#session.info.busy) this.#terminal.setWaiting(true);
    }
  }

  #inOrder(work: () => Promise<void>): void {
    this.#work = this.#work
      .then(() => (this.#leaving ? undefined : work()))
      .catch((error: unknown) => this.#show(errorLines(error)));
  }

  #shell(command: string): void {
    if (this.#session.info.busy) {
      this.#show(problemLines("!command has to wait until the turn has ended", "Ctrl+C stops the turn"));
      return;
    }
    this.#view.shellBegins();
    this.#shellWork = this.#session
      .shell(command)
      .catch((error: unknown) => this.#show(errorLines(error)))
      .finally(() => {
        this.#shellWork = undefined;
      });
  }

  #start(turn: Promise<unknown>): void {
    turn.catch((error: unknown) => this.#show(errorLines(error)));
  }

  #context(): CommandContext {
    return {
      sessions: this.#options.sessions,
      session: this.#session,
      columns: this.#terminal.columns,
      version: this.#options.version,
      now: () => new Date(),
      show: (items) => this.#show([...items, GAP]),
      ask: (intro, prompt) => this.#askPerson(intro, prompt),
      open: (next) => this.#open(next),
      start: (turn) => this.#start(turn),
      quit: () => void this.#leave(0),
    };
  }

  async #open(next: Session): Promise<void> {
    const before = this.#session;
    await refuseWhileUnsaved(before, next);
    try {
      await before.close();
    } catch (error) {
      this.#show(errorLines(error));
    }
    this.#unsubscribe();
    this.#session = next;
    this.#view = this.#newView();
    if (next.info.saved) {
      this.#showWhereWeAre();
    } else {
      this.#show([line("a new conversation", "dim")]);
    }
    this.#watch();
    this.#show([GAP]);
    this.#setBusy(next.info.busy);
    if (next.info.saved) this.#start(this.#goOn());
  }

  #askPerson(intro: readonly Display[], prompt: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#questionCount += 1;
      this.#questions.ask({
        id: `question ${this.#questionCount}`,
        intro: () => [...intro],
        prompt: () => prompt,
        answered: (text) => {
          resolve(text);
          return true;
        },
        cancelled: () => resolve(undefined),
      });
    });
  }

  #ask(ask: Ask): void {
    const session = this.#session;
    this.#questions.ask(
      permissionQuestion(ask, {
        columns: () => this.#terminal.columns,
        show: (items) => this.#show(items),
        answer: (answer) => {
          this.#view.personSpoke();
          session.answer(ask.askId, answer);
        },
        // On the way out the session closes its calls itself, and says why.
        isLeaving: () => this.#leaving,
      }),
    );
  }

  #interrupt(): void {
    if (this.#leaving) return;
    if (this.#questions.isAsking) {
      this.#questions.cancel();
      if (!this.#isBusy) return;
    }
    if (this.#isBusy) {
      if (this.#busy.isStopping) {
        this.#forceOut();
        return;
      }
      this.#busy.isStopping = true;
      this.#session
        .interrupt()
        .catch((error: unknown) => this.#show(errorLines(error)))
        .finally(() => {
          this.#busy.isStopping = false;
        });
      return;
    }
    if (this.#terminal.line !== "") {
      this.#terminal.clearLine();
      return;
    }
    if (this.#interruptedOnce) {
      void this.#leave(130);
      return;
    }
    this.#interruptedOnce = true;
    this.#show([line("press Ctrl+C again to leave", "dim")]);
  }

  /** Ctrl+C while a turn is being stopped and does not want to. */
  #forceOut(): void {
    this.#leaving = true;
    this.#session.shutdown("SIGINT", SHUTDOWN_MS).then(
      () => this.#end({ exitCode: 130 }),
      (error: unknown) => {
        this.#show(errorLines(error));
        this.#end({ exitCode: 130 });
      },
    );
  }

  async #leave(exitCode: number): Promise<void> {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#questions.cancel();
    try {
      // What was entered right before: its message has to be durable.
      await this.#work;
      if (this.#session.info.busy) await this.#session.interrupt();
      await this.#session.close();
      this.#end({ exitCode });
    } catch (error) {
      this.#show(errorLines(error));
      this.#end({ exitCode: 1, reason: problemOf(error) });
    }
  }

  #end(end: ReplEnd): void {
    this.#unsubscribe();
    this.restore();
    const last = leavingLine(this.#session.info, (id) => this.#options.resumeCommand(id));
    if (last !== undefined) this.#terminal.print(`${printable(last)}\n`);
    void this.#inputHistory.flush().then(() => this.#resolveDone(end));
  }
}

function withMark(item: Display, mark: string): Display {
  return item.kind === "line" ? spans(["cyan", mark], ...item.spans.map((span) => span.text)) : item;
}
