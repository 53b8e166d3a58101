import stringWidth from "fast-string-width";
import type { Display } from "./display.js";
import type { LineEditor } from "./line-editor.js";
import type { Paint } from "./style.js";

export interface ScreenOptions {
  write(text: string): void;
  columns(): number;
  paint: Paint;
  editor: LineEditor;
}

/**
 * Output above, the prompt below. The prompt stands while the program waits for a person, and while they type during a
 * turn; it is taken off for each piece of output and drawn again. A line of output that has not ended stays above the
 * prompt and goes on where it was.
 */
export class Screen {
  readonly #options: ScreenOptions;
  /** The text in the last row of output that has not ended; its width is below the terminal's. */
  #row = "";
  /** Empty rows right above, at most one; the very start counts as one. */
  #emptyRows = 1;
  /** The row that has not ended is above the prompt, which stands in the next one. */
  #parked = false;
  /** The row that has not ended was taken off the screen and has to be written again before it goes on. */
  #rowWaits = false;
  #below: "nothing" | "prompt" | "status" = "nothing";
  #waiting = true;
  #status: string | undefined;

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  get promptStands(): boolean {
    return this.#below === "prompt";
  }

  /** Whether the prompt stands also when nothing is typed. */
  setWaiting(waiting: boolean): void {
    this.#waiting = waiting;
    this.update();
  }

  /** One dim line in place of the prompt while the program is busy and nothing is typed. */
  setStatus(status: string | undefined): void {
    if (this.#status === status) return;
    this.#status = status;
    this.update();
  }

  show(items: readonly Display[]): void {
    if (items.length === 0) return;
    this.#lift();
    for (const item of items) this.#put(item);
    this.#settle(false);
  }

  /** Draws what has to stand below the output now. */
  update(): void {
    this.#lift();
    this.#settle(false);
  }

  /** A key is about to be handled: readline draws from where the prompt is. */
  openPrompt(): void {
    if (this.#below === "prompt") return;
    this.#lift();
    this.#settle(true);
  }

  /** A key was handled: during a turn the prompt stands only while there is something typed. */
  closePrompt(): void {
    if (this.#below === "prompt" && !this.#waiting && this.#options.editor.line === "") this.update();
  }

  /** The screen is about to be cleared, and the prompt drawn at its top. */
  clearedAbove(): void {
    this.#row = "";
    this.#parked = false;
    this.#emptyRows = 1;
  }

  /** Enter is about to be handled: a row that has not ended comes after what was typed, and stays whole. */
  beforeEnter(): void {
    if (!this.#parked) return;
    this.#options.editor.erase();
    this.#options.write("\u001b[1A\r\u001b[J");
    this.#parked = false;
    this.#options.editor.draw();
  }

  /** Enter was handled: the cursor is at the start of a row. */
  afterEnter(): void {
    this.#below = "nothing";
    this.#emptyRows = 0;
    this.#rowWaits = this.#row !== "";
  }

  /** A line about what was just entered, right below it. */
  note(item: Display): void {
    if (!this.#rowWaits) {
      this.show([item]);
      return;
    }
    const row = this.#row;
    this.#row = "";
    this.#put(item);
    this.#row = row;
  }

  /** The terminal has another width: where a row broke is not known any more. */
  resized(): void {
    if (this.#below === "prompt") {
      this.#parked = false;
      this.#row = "";
      this.#options.editor.redraw();
    } else if (this.#row !== "") {
      this.#row = this.#tail(this.#row);
    }
  }

  /** Somebody else wrote to the terminal, or cleared it: begin anew at the start of a row. */
  forget(): void {
    this.#row = "";
    this.#parked = false;
    this.#rowWaits = false;
    this.#below = "nothing";
    this.#emptyRows = 0;
  }

  /** Leaves the cursor at the start of a row, with nothing below. */
  finish(): void {
    this.#lift();
    this.#endRow();
  }

  #put(item: Display): void {
    switch (item.kind) {
      case "gap":
        this.#endRow();
        if (this.#emptyRows === 0) this.#options.write("\n");
        this.#emptyRows = 1;
        return;
      case "line": {
        this.#endRow();
        const text = item.spans.map((span) => this.#options.paint(span.style, span.text)).join("");
        this.#options.write(`${text}\n`);
        this.#emptyRows = item.spans.some((span) => span.text.trim() !== "") ? 0 : 1;
        return;
      }
      case "stream":
        this.#stream(item.text);
        return;
    }
  }

  #stream(text: string): void {
    if (text === "") return;
    this.#options.write(text);
    const end = text.lastIndexOf("\n");
    if (end < 0) {
      this.#row = this.#tail(this.#row + text);
    } else {
      const lastLine = text.slice(0, end).split("\n").at(-1) ?? "";
      const whole = text.indexOf("\n") === end ? this.#row + lastLine : lastLine;
      this.#emptyRows = whole.trim() === "" ? 1 : 0;
      this.#row = this.#tail(text.slice(end + 1));
    }
    if (this.#row !== "") this.#emptyRows = 0;
  }

  /** The part of a line that is in its last row, as the terminal breaks it. */
  #tail(text: string): string {
    const columns = this.#options.columns();
    let width = 0;
    let from = 0;
    let at = 0;
    for (const character of text) {
      const own = character === "\t" ? 8 - (width % 8) : stringWidth(character);
      // A tab stops at the right edge instead of breaking the row.
      if (width + own > columns && character !== "\t") {
        from = at;
        width = 0;
      }
      width = Math.min(columns, width + own);
      at += character.length;
    }
    return text.slice(from);
  }

  #width(text: string): number {
    let width = 0;
    for (const character of text) width += character === "\t" ? 8 - (width % 8) : stringWidth(character);
    return Math.min(width, this.#options.columns());
  }

  #endRow(): void {
    if (this.#row !== "") this.#options.write("\n");
    this.#row = "";
  }

  #lift(): void {
    if (this.#below === "prompt") this.#options.editor.erase();
    if (this.#below === "status") this.#options.write("\r\u001b[J");
    this.#below = "nothing";
    if (this.#rowWaits) this.#options.write(this.#row);
    this.#rowWaits = false;
    if (!this.#parked) return;
    this.#parked = false;
    const width = this.#width(this.#row);
    this.#options.write(`\u001b[1A\r${width > 0 ? `\u001b[${width}C` : ""}`);
  }

  #settle(keyComing: boolean): void {
    if (keyComing || this.#waiting || this.#options.editor.line !== "") {
      if (this.#row !== "") {
        // A full row has broken by itself as far as the eye can tell.
        const full = this.#width(this.#row) >= this.#options.columns();
        this.#options.write("\n");
        if (full) this.#row = "";
        this.#parked = !full;
      }
      this.#options.editor.draw();
      this.#below = "prompt";
    } else if (this.#status !== undefined && this.#row === "") {
      const text = clip(this.#status, this.#options.columns() - 1);
      if (text === "") return;
      this.#options.write(this.#options.paint("dim", text));
      this.#below = "status";
    }
  }
}

/** As much of our own plain words as fits in one row. */
function clip(text: string, widthMax: number): string {
  return text.slice(0, Math.max(0, widthMax));
}
