import * as readline from "node:readline";
import { hasCode } from "../errors.js";
import { leavingLine } from "../session/leaving.js";
import type { Session, SessionEvent, Sessions } from "../session/session.js";
import { printableLine } from "../text/printable.js";
import { type CommandContext, runCommand } from "./commands.js";
import { type Display, errorLines, line } from "./display.js";
import { parseInput } from "./input.js";
import { refuseWhileUnsaved } from "./unsaved.js";
import { TurnView } from "./view.js";

export interface LinesOptions {
  readonly session: Session;
  readonly sessions: Sessions;
  readonly input: NodeJS.ReadableStream;
  /** Gets the answers, and what commands show. */
  readonly output: NodeJS.WritableStream;
  /** Gets everything else: what tools do, notices, errors. */
  readonly errorOutput: NodeJS.WritableStream;
  readonly version: string;
  /** The command that goes on with a conversation, for the last line. */
  resumeCommand(id: string): string;
  readonly firstMessage?: string;
  readonly resumed?: boolean;
  readonly wait?: boolean;
  /** How wide lines of lists may be. */
  readonly columns?: number;
}

const REFUSED = "this chat has no terminal, so nobody can be asked; start it with --yes or --allow to let tools run";

/**
 * A conversation without a terminal: each line of the input is a message, answered before the next one is read. Resolves
 * with the exit code when the input has ended and the last turn is saved; 1 when it could not be. Nobody is there to
 * answer a question: what would ask is refused. A reader of the output that goes away does not stop a turn.
 */
export async function runLines(options: LinesOptions): Promise<number> {
  const chat = new LineChat(options);
  return await chat.run();
}

class LineChat {
  readonly #options: LinesOptions;
  readonly #output: Sink;
  readonly #errorOutput: Sink;
  readonly #columns: number;
  #session: Session;
  #view = new TurnView(() => this.#columns);
  #unsubscribe: () => void = () => {};
  #started: Promise<unknown> | undefined;
  #quit = false;
  #failed = false;
  #outputFailed = false;

  constructor(options: LinesOptions) {
    this.#options = options;
    this.#errorOutput = new Sink(options.errorOutput, () => {
      this.#outputFailed = true;
    });
    this.#output = new Sink(options.output, (error) => {
      this.#outputFailed = true;
      this.#errorOutput.show(errorLines(error));
    });
    this.#columns = options.columns ?? 120;
    this.#session = options.session;
    this.#watch();
  }

  async run(): Promise<number> {
    const { input, firstMessage, resumed, wait } = this.#options;
    if (resumed === true) await this.#try(async () => void (await this.#session.takeUpCalls()));
    if (resumed === true && wait !== true) await this.#try(async () => void (await this.#session.continueCutOff()));
    await this.#session.idle();
    if (firstMessage !== undefined) await this.#say(firstMessage);
    // Reading begins at once; lines wait in the iterator while a turn runs.
    const rows = readline.createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY, terminal: false });
    for await (const row of rows) {
      await this.#entered(row);
      if (this.#quit) break;
    }
    rows.close();
    try {
      await this.#session.close();
    } catch (error) {
      this.#failed = true;
      this.#errorOutput.show(errorLines(error));
    }
    this.#unsubscribe();
    const last = leavingLine(this.#session.info, this.#options.resumeCommand);
    if (last !== undefined) this.#errorOutput.show([line(printableLine(last))]);
    return this.#failed || this.#outputFailed ? 1 : 0;
  }

  async #entered(row: string): Promise<void> {
    const input = parseInput(row);
    if (input.kind === "message") await this.#say(input.text);
    else if (input.kind === "shell") await this.#turn(() => this.#session.shell(input.command));
    else if (input.kind === "command") {
      await this.#turn(() => runCommand(this.#context(), input.name, input.argument));
    }
  }

  async #say(text: string): Promise<void> {
    await this.#turn(() => this.#session.send(text));
  }

  async #turn(work: () => Promise<void>): Promise<void> {
    this.#started = undefined;
    await this.#try(work);
    await this.#try(async () => void (await this.#started));
    await this.#session.idle();
    this.#output.endLine();
  }

  /** An error is told and the next line comes. */
  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#errorOutput.show(errorLines(error));
    }
  }

  #watch(): void {
    this.#unsubscribe();
    this.#view = new TurnView(() => this.#columns);
    this.#unsubscribe = this.#session.on((event) => this.#happened(event));
  }

  #happened(event: SessionEvent): void {
    if (event.type === "ask") {
      this.#errorOutput.show([line(`not allowed: ${event.call.name} would have to ask, and there is no terminal`)]);
      this.#session.answer(event.askId, { kind: "no", reason: REFUSED });
      return;
    }
    if (event.type === "save_failed") this.#failed = true;
    // A later save holds all that an earlier one could not write.
    if (event.type === "saved") this.#failed = false;
    for (const item of this.#view.show(event)) {
      if (item.kind === "stream") this.#output.show([item]);
      else if (item.kind === "line") {
        this.#output.endLine();
        this.#errorOutput.show([item]);
      }
    }
  }

  #context(): CommandContext {
    return {
      sessions: this.#options.sessions,
      session: this.#session,
      columns: this.#columns,
      version: this.#options.version,
      now: () => new Date(),
      show: (items) => this.#output.show(items),
      ask: async (intro, prompt) => {
        this.#errorOutput.show([...intro, line(`${prompt.trimEnd()} (no terminal to ask: the answer is no)`)]);
        return undefined;
      },
      open: async (next) => {
        const before = this.#session;
        await refuseWhileUnsaved(before, next);
        this.#session = next;
        this.#watch();
        await before.close();
        await next.takeUpCalls();
      },
      start: (turn) => {
        this.#started = turn;
      },
      quit: () => {
        this.#quit = true;
      },
    };
  }
}

/** A stream that plain lines go to; whatever was reading it may be gone. */
class Sink {
  readonly #stream: NodeJS.WritableStream;
  #gone = false;
  #inLine = false;

  /** @param failed called for anything but a reader that went away */
  constructor(stream: NodeJS.WritableStream, failed: (error: unknown) => void) {
    this.#stream = stream;
    stream.on("error", (error: unknown) => {
      if (this.#gone) return;
      this.#gone = true;
      if (!hasCode(error, "EPIPE", "EIO", "ERR_STREAM_DESTROYED")) failed(error);
    });
  }

  show(items: readonly Display[]): void {
    for (const item of items) {
      if (item.kind === "stream") this.#write(item.text);
      else if (item.kind === "line") {
        this.endLine();
        this.#write(`${item.spans.map((span) => span.text).join("")}\n`);
      }
    }
  }

  endLine(): void {
    if (this.#inLine) this.#write("\n");
  }

  #write(text: string): void {
    if (text === "" || this.#gone) return;
    this.#inLine = !text.endsWith("\n");
    this.#stream.write(text);
  }
}
