const START = "\u001b[200~";
const END = "\u001b[201~";
/** What a terminal without bracketed paste sends faster than anybody types. */
const RUN = /[^\x00-\x1f\x7f]{40,}/g;
/** Enough to end an escape sequence that began before the run. */
const RUN_LEAD = 8;
const MARK_WAIT_MS = 50;

export interface InputSink {
  keys(text: string): void;
  /** One paste, or a run of plain characters: text, whatever is in it. */
  paste(text: string): void;
}

export interface InputFilter {
  write(text: string): void;
  /** The input ends: what is held back goes out. */
  end(): void;
}

/** Tells pastes (`ESC[200~ … ESC[201~`, cut anywhere) from keys. Linear in what comes in. */
export function createInputFilter(sink: InputSink): InputFilter {
  let pasted: string[] | undefined;
  let carry = "";
  let timer: NodeJS.Timeout | undefined;

  function keys(text: string): void {
    let from = 0;
    for (const match of text.matchAll(RUN)) {
      let start = match.index + RUN_LEAD;
      // Not between the halves of a character.
      if (/[\udc00-\udfff]/.test(text[start] ?? "")) start += 1;
      sink.keys(text.slice(from, start));
      from = match.index + match[0].length;
      sink.paste(text.slice(start, from));
    }
    if (from < text.length) sink.keys(text.slice(from));
  }

  function flushCarry(): void {
    const text = carry;
    carry = "";
    if (text === "") return;
    if (pasted === undefined) keys(text);
    else pasted.push(text);
  }

  function endPaste(): void {
    const text = pasted?.join("") ?? "";
    pasted = undefined;
    if (text !== "") sink.paste(text);
  }

  return {
    write(chunk) {
      clearTimeout(timer);
      // A paste whose end got lost must not lock the person out.
      if (pasted !== undefined && chunk === "\u0003") {
        flushCarry();
        endPaste();
        return;
      }
      let rest = carry + chunk;
      carry = "";
      for (;;) {
        const mark: string = pasted === undefined ? START : END;
        const at = rest.indexOf(mark);
        if (at < 0) break;
        const before = rest.slice(0, at);
        rest = rest.slice(at + mark.length);
        if (pasted === undefined) {
          if (before !== "") keys(before);
          pasted = [];
        } else {
          pasted.push(before);
          endPaste();
        }
      }
      const kept = markBegun(rest, pasted === undefined ? START : END);
      carry = rest.slice(rest.length - kept);
      rest = rest.slice(0, rest.length - kept);
      if (pasted !== undefined) pasted.push(rest);
      else if (rest !== "") keys(rest);
      // A lone Escape looks like a mark that has begun.
      if (carry !== "" && pasted === undefined) timer = setTimeout(flushCarry, MARK_WAIT_MS);
    },
    end() {
      clearTimeout(timer);
      flushCarry();
      endPaste();
    },
  };
}

/** How many characters at the end of `text` may be the start of `mark`. */
function markBegun(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(mark.slice(0, length))) return length;
  }
  return 0;
}
