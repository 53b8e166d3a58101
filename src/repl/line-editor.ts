import * as readline from "node:readline";
import { Readable, Writable } from "node:stream";
import { LINE_BREAK, LineText } from "./line-text.js";

export interface EditorKey {
  readonly name?: string;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
  readonly shift?: boolean;
  readonly sequence?: string;
}

export interface EditorOptions {
  write(text: string): void;
  columns(): number;
  /** Before a key does anything; true: it is dealt with. */
  beforeKey(key: EditorKey): boolean;
  afterKey(): void;
  /** Enter: the whole text, after the cursor went to the start of the next row. */
  entered(text: string): void;
}

/**
 * The parts of readline's Interface that have no types: the underscored methods Node keeps for programs that override
 * them (its own REPL does), and the fields behind them.
 */
interface OpenInterface extends readline.Interface {
  line: string;
  cursor: number;
  history: string[];
  historyIndex: number;
  prevRows: number;
  isCompletionEnabled: boolean;
  _ttyWrite(text: string | undefined, key: EditorKey | undefined): void;
  _insertString(text: string): void;
  _refreshLine(): void;
  _writeToOutput(text: string): void;
  _getDisplayPos(text: string): { rows: number; cols: number };
}

/** One line of input, edited by node:readline; what it holds and shows differ as LineText says. */
export class LineEditor {
  readonly text = new LineText();
  readonly #options: EditorOptions;
  readonly #keys = new Readable({ read() {} });
  readonly #rl: OpenInterface;
  /** Newest first. readline changes this very array. */
  readonly #entries: string[];

  constructor(options: EditorOptions) {
    this.#options = options;
    const output = new Writable({
      decodeStrings: false,
      write(chunk, _encoding, done) {
        options.write(String(chunk));
        done();
      },
    });
    Object.defineProperty(output, "columns", { get: () => options.columns() });
    this.#rl = readline.createInterface({
      input: this.#keys,
      output,
      terminal: true,
      historySize: 1000,
      removeHistoryDuplicates: true,
      prompt: "",
    }) as OpenInterface;
    this.#entries = this.#rl.history;
    this.#override();
    this.#rl.on("line", (encoded: string) => options.entered(this.text.expand(encoded)));
  }

  #override(): void {
    const rl = this.#rl;
    const ttyWrite = rl._ttyWrite.bind(rl);
    const insertString = rl._insertString.bind(rl);
    const getDisplayPos = rl._getDisplayPos.bind(rl);
    const writeToOutput = rl._writeToOutput.bind(rl);
    rl._getDisplayPos = (text) => getDisplayPos(this.text.show(text));
    rl._writeToOutput = (text) => writeToOutput(this.text.show(text));
    rl._insertString = (text) => {
      // While more keys are waiting, readline appends at the end of the line, wherever the cursor is.
      const enabled = rl.isCompletionEnabled;
      rl.isCompletionEnabled = true;
      insertString(this.text.clean(text));
      rl.isCompletionEnabled = enabled;
    };
    rl._ttyWrite = (text, key = {}) => {
      if (this.#options.beforeKey(key)) return;
      if (!this.#continued(key)) ttyWrite(text, key);
      this.#options.afterKey();
    };
  }

  /** Alt+Enter, or Enter after an odd number of backslashes at the end: the message goes on in a new line. */
  #continued(key: EditorKey): boolean {
    if (key.name !== "return" && key.name !== "enter") return false;
    const rl = this.#rl;
    if (key.meta === true) {
      rl._insertString(LINE_BREAK);
      return true;
    }
    const slashes = /\\+$/.exec(rl.line)?.[0].length ?? 0;
    if (slashes % 2 === 0) return false;
    this.set(rl.line.slice(0, -1) + LINE_BREAK);
    rl._refreshLine();
    return true;
  }

  keys(text: string): void {
    this.#keys.emit("data", text);
  }

  paste(text: string): void {
    if (this.#options.beforeKey({ name: "paste", sequence: text })) return;
    this.#rl._insertString(this.text.encode(text));
    this.#options.afterKey();
  }

  /** The line as it is held. */
  get line(): string {
    return this.#rl.line;
  }

  get cursor(): number {
    return this.#rl.cursor;
  }

  /** Changes the line without drawing it. */
  set(encoded: string, cursor = encoded.length): void {
    this.#rl.line = encoded;
    this.#rl.cursor = Math.min(cursor, encoded.length);
    this.#rl.historyIndex = -1;
  }

  setPrompt(prompt: string): void {
    this.#rl.setPrompt(prompt);
  }

  /** Puts text in at the cursor and draws it. */
  insert(text: string): void {
    this.#rl._insertString(text);
  }

  /** Nothing more has come with the key that is being handled: it was typed. */
  get isLastKey(): boolean {
    return this.#rl.isCompletionEnabled;
  }

  /** Whether Up and Down go through what was entered before, and Enter adds to it. */
  useHistory(on: boolean): void {
    this.#rl.history = on ? this.#entries : [];
    this.#rl.historyIndex = -1;
  }

  /** @param entries newest first, all older than what was entered here */
  addOlder(entries: readonly string[]): void {
    const known = new Set(this.#entries);
    for (const entry of entries) {
      const encoded = this.text.encode(entry);
      if (!known.has(encoded)) this.#entries.push(encoded);
      known.add(encoded);
    }
  }

  /** Draws prompt and line from the start of the row the cursor is in. */
  draw(): void {
    this.#rl.prevRows = 0;
    this.#rl._refreshLine();
  }

  /** Takes prompt and line off the screen; the cursor is where they began. */
  erase(): void {
    this.#toFirstRow();
    this.#options.write("\r\u001b[J");
  }

  /** After the terminal changed its width: rows may have joined or split; rather leave a trace than erase output. */
  redraw(): void {
    const rows = this.#rl.getCursorPos().rows;
    this.#rl.prevRows = Math.min(this.#rl.prevRows, rows);
    this.#rl._refreshLine();
  }

  close(): void {
    this.#rl.close();
  }

  #toFirstRow(): void {
    const rows = this.#rl.getCursorPos().rows;
    if (rows > 0) this.#options.write(`\u001b[${rows}A`);
    this.#rl.prevRows = 0;
  }
}
