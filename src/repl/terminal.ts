import { StringDecoder } from "node:string_decoder";
import type { Display } from "./display.js";
import { type EditorKey, LineEditor } from "./line-editor.js";
import { createInputFilter, type InputFilter } from "./paste.js";
import { Screen } from "./screen.js";
import { createPaint } from "./style.js";

const MODES_ON = "\u001b[?2004h";
/** Every mode we or readline may have switched on, and colours. */
const MODES_OFF = "\u001b[?2004l\u001b[?25h\u001b[0m";
const SUSPEND_CHECK_MS = 100;

export interface Completion {
  /** Each begins with `word`. */
  readonly hits: readonly string[];
  readonly word: string;
}

export interface TerminalHandlers {
  entered(text: string): void;
  /** Ctrl+C. */
  interrupt(): void;
  /** Any other key. */
  typed(): void;
  /** Ctrl+D with nothing typed. */
  endOfInput(): void;
  /** What the last word of a line may become. */
  complete(line: string): Promise<Completion>;
  /** The terminal cannot be read or written any more. */
  gone(reason: string): void;
}

export interface TerminalOptions {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly colors: boolean;
  readonly prompt: string;
  readonly handlers: TerminalHandlers;
}

/** All reading from and writing to the terminal. Modes are on from the constructor to `restore`. */
export class Terminal {
  readonly #options: TerminalOptions;
  readonly #editor: LineEditor;
  readonly #screen: Screen;
  readonly #filter: InputFilter;
  readonly #paint: ReturnType<typeof createPaint>;
  readonly #decoder = new StringDecoder("utf8");
  #prompt: string;
  #pending = "";
  #restored = false;
  #gone = false;
  #suspended = false;
  #draft: { line: string; cursor: number } | undefined;

  constructor(options: TerminalOptions) {
    this.#options = options;
    const paint = createPaint(options.colors);
    this.#paint = paint;
    const write = (text: string) => this.#write(text);
    const columns = () => this.columns;
    this.#prompt = paint("cyan", options.prompt);
    this.#editor = new LineEditor({
      write,
      columns,
      beforeKey: (key) => this.#beforeKey(key),
      afterKey: () => this.#afterKey(),
      entered: (text) => this.#entered(text),
    });
    this.#editor.setPrompt(this.#prompt);
    this.#screen = new Screen({ write, columns, paint, editor: this.#editor });
    this.#filter = createInputFilter(this.#editor);
    this.#listen();
    this.#modesOn();
  }

  get columns(): number {
    const columns = this.#options.output.columns;
    return Number.isInteger(columns) && columns > 0 ? columns : 80;
  }

  get line(): string {
    return this.#editor.line;
  }

  get isGone(): boolean {
    return this.#gone;
  }

  show(items: readonly Display[]): void {
    this.#screen.show(items);
  }

  /** A line about what was just entered, right below it. */
  note(item: Display): void {
    this.#screen.note(item);
  }

  /** Whether a person is waited for: the prompt stands. Otherwise `status` does, until somebody types. */
  setWaiting(waiting: boolean, status?: string): void {
    this.#screen.setStatus(status);
    this.#screen.setWaiting(waiting || this.#draft !== undefined);
  }

  setPrompt(prompt: string): void {
    this.#prompt = this.#paint("cyan", prompt);
    if (this.#draft !== undefined) return;
    const { promptStands } = this.#screen;
    if (promptStands) this.#editor.erase();
    this.#editor.setPrompt(this.#prompt);
    if (promptStands) this.#editor.draw();
  }

  setStatus(status: string | undefined): void {
    this.#screen.setStatus(status);
  }

  clearLine(): void {
    this.#editor.set("");
    this.#screen.update();
  }

  addOlderHistory(entries: readonly string[]): void {
    this.#editor.addOlder(entries);
  }

  /** Another prompt, for an answer that is not a message; what was typed comes back with `endQuestion`. */
  beginQuestion(prompt: string): void {
    this.#draft ??= { line: this.#editor.line, cursor: this.#editor.cursor };
    this.#editor.useHistory(false);
    this.#screen.openPrompt();
    this.#editor.erase();
    this.#editor.set("");
    this.#editor.setPrompt(prompt);
    this.#editor.draw();
    this.#screen.setWaiting(true);
  }

  /** @param waiting as for setWaiting */
  endQuestion(waiting: boolean): void {
    const draft = this.#draft;
    if (draft === undefined) return;
    this.#draft = undefined;
    if (this.#screen.promptStands) this.#editor.erase();
    this.#editor.useHistory(true);
    this.#editor.set(draft.line, draft.cursor);
    this.#editor.setPrompt(this.#prompt);
    if (this.#screen.promptStands) this.#editor.draw();
    this.#screen.setWaiting(waiting);
  }

  /** Puts the terminal back as it was. Synchronous, and harmless when called again. */
  restore(): void {
    if (this.#restored) return;
    this.#screen.finish();
    this.#modesOff();
    this.#restored = true;
    this.#editor.close();
    const { input, output } = this.#options;
    input.off("data", this.#onData);
    output.off("resize", this.#onResize);
    process.off("SIGCONT", this.#onContinue);
    input.pause();
  }

  /** For the last words, after `restore`. */
  print(text: string): void {
    this.#write(text);
    this.#flush();
  }

  readonly #onData = (chunk: Buffer | string): void => {
    if (this.#restored) return;
    this.#filter.write(typeof chunk === "string" ? chunk : this.#decoder.write(chunk));
  };

  readonly #onResize = (): void => {
    if (!this.#restored) this.#screen.resized();
  };

  readonly #onContinue = (): void => {
    if (this.#restored) return;
    this.#suspended = false;
    // The shell has set its own modes meanwhile; the stream believes that nothing changed.
    this.#rawMode(false);
    this.#modesOn();
    this.#screen.forget();
    this.#screen.update();
  };

  #listen(): void {
    const { input, output } = this.#options;
    const gone = (reason: string) => {
      if (this.#gone) return;
      this.#gone = true;
      if (!this.#restored) this.#options.handlers.gone(reason);
    };
    input.on("data", this.#onData);
    // These stay for good: an error that comes late must not end the process with a stack trace.
    input.on("error", (error: Error) => gone(error.message));
    input.on("end", () => gone("the input has ended"));
    input.on("close", () => gone("the input is closed"));
    output.on("error", (error: Error) => gone(error.message));
    output.on("close", () => gone("the output is closed"));
    output.on("resize", this.#onResize);
    process.on("SIGCONT", this.#onContinue);
    input.resume();
  }

  #beforeKey(key: EditorKey): boolean {
    if (this.#restored) return true;
    const { handlers } = this.#options;
    const ctrl = key.ctrl === true && key.meta !== true && key.shift !== true;
    if (ctrl && key.name === "c") {
      handlers.interrupt();
      return true;
    }
    handlers.typed();
    if (ctrl && key.name === "d" && this.#editor.line === "") {
      handlers.endOfInput();
      return true;
    }
    if (ctrl && key.name === "z") {
      this.#suspend();
      return true;
    }
    const enter = key.name === "return" || key.name === "enter";
    // Enter with nothing typed during a turn.
    if (enter && !this.#screen.promptStands) return true;
    this.#screen.openPrompt();
    if (enter) this.#screen.beforeEnter();
    if (ctrl && key.name === "l") this.#screen.clearedAbove();
    if (key.name === "tab" && this.#editor.isLastKey) {
      if (this.#draft === undefined) void this.#complete();
      return true;
    }
    return false;
  }

  #afterKey(): void {
    if (this.#restored) return;
    this.#screen.closePrompt();
  }

  #entered(text: string): void {
    this.#screen.afterEnter();
    this.#options.handlers.entered(text);
    if (!this.#restored) this.#screen.update();
  }

  async #complete(): Promise<void> {
    const { line } = this.#editor;
    // Nothing to offer when it fails: the command itself tells the error.
    const { hits, word } = await this.#options.handlers.complete(line).catch(() => ({ hits: [], word: "" }));
    if (this.#restored || this.#draft !== undefined || this.#editor.line !== line) return;
    const shared = sharedStart(hits);
    if (shared.length > word.length) {
      this.#screen.openPrompt();
      this.#editor.insert(shared.slice(word.length));
    } else if (hits.length > 1) {
      this.show(hits.map((hit) => ({ kind: "line", spans: [{ text: `  ${hit}`, style: "dim" }] })));
    }
  }

  #suspend(): void {
    if (process.platform === "win32") return;
    this.#screen.finish();
    this.#modesOff();
    // The whole group, as the terminal itself would: a parent (npm, sh) has to stop too, or the shell does not come back.
    this.#suspended = true;
    process.kill(0, "SIGTSTP");
    // Where nothing can bring us back the signal is ignored, and no SIGCONT follows.
    setTimeout(() => {
      if (this.#suspended) this.#onContinue();
    }, SUSPEND_CHECK_MS);
  }

  #modesOn(): void {
    this.#rawMode(true);
    this.#write(MODES_ON);
  }

  #modesOff(): void {
    this.#write(MODES_OFF);
    this.#flush();
    this.#rawMode(false);
  }

  #rawMode(on: boolean): void {
    const { input } = this.#options;
    if (this.#gone || input.destroyed || typeof input.setRawMode !== "function") return;
    try {
      input.setRawMode(on);
    } catch (error) {
      // EIO: the terminal went away between two events, which will say so.
      this.#gone = true;
      this.#options.handlers.gone(error instanceof Error ? error.message : String(error));
    }
  }

  /** Collected, so that erasing and drawing again reach the terminal as one. */
  #write(text: string): void {
    if (text === "" || this.#gone) return;
    if (this.#pending === "") queueMicrotask(() => this.#flush());
    this.#pending += text;
  }

  #flush(): void {
    const text = this.#pending;
    this.#pending = "";
    const { output } = this.#options;
    if (text === "" || this.#gone || output.destroyed || !output.writable) return;
    output.write(text);
  }
}

function sharedStart(texts: readonly string[]): string {
  let shared = texts[0] ?? "";
  for (const text of texts) {
    while (!text.startsWith(shared)) shared = shared.slice(0, -1);
  }
  return shared;
}
