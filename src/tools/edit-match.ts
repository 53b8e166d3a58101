import { ToolError } from "../agent/tool.js";

/** How many places of an ambiguous edit are named. */
const PLACES_MAX = 10;

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

/**
 * The content after an exact replacement, byte for byte: what is not replaced stays as it is, also where it is no valid
 * UTF-8. In a file whose lines end with `\r\n`, `\n` in the edit stands for that.
 *
 * @throws {ToolError} the text is not there (with the likely reason) or is there several times
 */
export function applyEdit(content: Buffer, edit: Edit): { content: Buffer; places: number } {
  // latin1 maps each byte to one character: searching and replacing cannot touch the bytes around.
  const source = content.toString("latin1");
  const windows = source.includes("\r\n") && !/(?<!\r)\n/.test(source);
  let oldBytes = bytesOf(edit.oldText);
  let newText = edit.newText;
  let starts = placesOf(source, oldBytes);
  if (starts.length === 0 && source.includes("\r\n")) {
    const converted = bytesOf(withWindowsBreaks(edit.oldText));
    starts = placesOf(source, converted);
    if (starts.length > 0) {
      oldBytes = converted;
      newText = withWindowsBreaks(newText);
    }
  }
  if (windows) newText = withWindowsBreaks(newText);
  if (starts.length === 0) throw new ToolError(`oldText is not in the file${likelyReason(content, edit.oldText)}`);
  if (starts.length > 1 && !edit.replaceAll) throw ambiguous(source, starts);
  const newBytes = bytesOf(newText);
  const parts: string[] = [];
  let from = 0;
  for (const start of starts) {
    parts.push(source.slice(from, start), newBytes);
    from = start + oldBytes.length;
  }
  parts.push(source.slice(from));
  return { content: Buffer.from(parts.join(""), "latin1"), places: starts.length };
}

function bytesOf(text: string): string {
  return Buffer.from(text).toString("latin1");
}

function withWindowsBreaks(text: string): string {
  return text.replace(/\r?\n/g, "\r\n");
}

function placesOf(source: string, wanted: string): number[] {
  const starts: number[] = [];
  for (let start = source.indexOf(wanted); start !== -1; start = source.indexOf(wanted, start + wanted.length)) {
    starts.push(start);
  }
  return starts;
}

function ambiguous(source: string, starts: readonly number[]): ToolError {
  const lines = starts.slice(0, PLACES_MAX).map((start) => lineAt(source, start));
  const more = starts.length > PLACES_MAX ? ", …" : "";
  return new ToolError(
    `oldText is in the file ${starts.length} times (lines ${lines.join(", ")}${more}); ` +
      "give more of the text around the one that is meant, or set replaceAll",
  );
}

function lineAt(source: string, index: number): number {
  let line = 1;
  for (let at = source.indexOf("\n"); at !== -1 && at < index; at = source.indexOf("\n", at + 1)) line += 1;
  return line;
}

/** Why a text is probably not found, for a model to correct itself. */
function likelyReason(content: Buffer, oldText: string): string {
  const lines = content.toString().split("\n");
  const wanted = oldText.split("\n").filter((line) => line.trim() !== "");
  const first = wanted[0];
  if (first === undefined) return "";
  const spaced = findBlock(lines, wanted, (line) => line.replace(/\s+/g, ""));
  if (spaced !== undefined) return `; line ${spaced} has it with other white space: copy that exactly`;
  const cased = findBlock(lines, wanted, (line) => line.replace(/\s+/g, "").toLowerCase());
  if (cased !== undefined) return `; line ${cased} has it in other upper and lower case`;
  const beginning = lines.findIndex((line) => line.includes(first.trim()));
  if (wanted.length > 1 && beginning !== -1) {
    return `; its first line is line ${beginning + 1}, but what follows differs: read the file again`;
  }
  return "; read the file again and copy the text exactly";
}

/** The 1-based line where lines that are equal after `reduce` begin, blank lines aside; the ends may be parts of lines. */
function findBlock(
  lines: readonly string[],
  wanted: readonly string[],
  reduce: (line: string) => string,
): number | undefined {
  const target = wanted.map(reduce).join("\n");
  const numbered = lines.map((line, index) => ({ text: reduce(line), number: index + 1 }));
  const kept = numbered.filter(({ text }) => text !== "");
  const start = `\n${kept.map(({ text }) => text).join("\n")}`.indexOf(target);
  if (start === -1) return undefined;
  let length = 0;
  for (const { text, number } of kept) {
    length += text.length + 1;
    if (length >= start) return number;
  }
  return undefined;
}
