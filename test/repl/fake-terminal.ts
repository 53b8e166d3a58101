import { PassThrough, Writable } from "node:stream";
import xterm from "@xterm/headless";

/** Streams that look like a terminal, and a screen that shows what is written to them. */
export class FakeTerminal {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  /** Raw mode as it was set, in order. */
  readonly modes: boolean[] = [];
  raw = "";
  readonly #view: InstanceType<typeof xterm.Terminal>;
  readonly #looks = new Set<() => void>();
  readonly #keys = new PassThrough();

  constructor(options: { columns?: number; rows?: number } = {}) {
    const { columns = 80, rows = 40 } = options;
    this.#view = new xterm.Terminal({
      cols: columns,
      rows,
      scrollback: 10_000,
      allowProposedApi: true,
      convertEol: true,
    });
    const output = new Writable({
      decodeStrings: false,
      write: (chunk, _encoding, done) => {
        this.raw += String(chunk);
        this.#view.write(String(chunk), () => {
          for (const look of this.#looks) look();
        });
        done();
      },
    });
    const setRawMode = (on: boolean) => {
      this.modes.push(on);
      return this.#keys;
    };
    this.output = Object.assign(output, { isTTY: true, columns, rows }) as unknown as NodeJS.WriteStream;
    this.input = Object.assign(this.#keys, { isTTY: true, setRawMode }) as unknown as NodeJS.ReadStream;
  }

  type(text: string | Buffer): void {
    this.#keys.write(text);
  }

  resize(columns: number, rows = 40): void {
    this.#view.resize(Math.max(2, columns), rows);
    Object.assign(this.output, { columns, rows });
    this.output.emit("resize");
  }

  /** Scrollback and screen; rows that the terminal wrapped are joined. */
  get screen(): string {
    const buffer = this.#view.buffer.active;
    const rows: string[] = [];
    for (let at = 0; at < buffer.length; at += 1) {
      const row = buffer.getLine(at);
      if (row === undefined) continue;
      const text = row.translateToString(buffer.getLine(at + 1)?.isWrapped !== true);
      if (row.isWrapped && rows.length > 0) rows.push(`${rows.pop()}${text}`);
      else rows.push(text);
    }
    return rows.join("\n").trimEnd();
  }

  /** The row the cursor is in, up to the cursor. */
  get cursorLine(): string {
    const buffer = this.#view.buffer.active;
    return buffer.getLine(buffer.baseY + buffer.cursorY)?.translateToString(false, 0, buffer.cursorX) ?? "";
  }

  /** Resolves as soon as the screen is as wanted; rejects with the screen after 5 s. */
  shows(wanted: string | RegExp | (() => boolean)): Promise<void> {
    const isThere = () =>
      typeof wanted === "function"
        ? wanted()
        : typeof wanted === "string"
          ? this.screen.includes(wanted)
          : wanted.test(this.screen);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#looks.delete(look);
        reject(new Error(`not on the screen: ${String(wanted)}\n--- screen ---\n${this.screen}\n---`));
      }, 5000);
      const look = () => {
        if (!isThere()) return;
        clearTimeout(timer);
        this.#looks.delete(look);
        resolve();
      };
      this.#looks.add(look);
      look();
    });
  }

  /** The prompt stands and nothing is typed. */
  ready(): Promise<void> {
    return this.shows(() => this.cursorLine === "> ");
  }
}
