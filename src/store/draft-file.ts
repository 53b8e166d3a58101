import { hasCode } from "../errors.js";
import type { JsonValue } from "../json.js";
import type { Disk, DiskFile } from "./disk.js";
import { FORMAT, isFormat, isJsonObject } from "./log-line.js";
import { reading, readRange } from "./read-file.js";
import type { Damage, Draft } from "./store.js";
import { naming, stateNewer, stateUnreadable } from "./store-errors.js";

/**
 * The draft of one reply on disk, as its one writer has it: a header, then a line for each piece of text that came. It
 * only grows, so a write costs what is new, and it is never synced: it outlives the process, not the machine.
 */
export class DraftFile {
  private file: DiskFile | undefined;
  private requestSeq = -1;
  private text = "";
  private ackedBytes = 0;
  /** A write failed: a part of it may be in the file after `ackedBytes`. */
  private isTorn = false;

  constructor(
    private readonly disk: Disk,
    private readonly path: string,
  ) {}

  write({ requestSeq, text }: Draft): Promise<void> {
    return naming(this.path, async () => {
      const continues = requestSeq === this.requestSeq && text.startsWith(this.text);
      const file = this.file !== undefined && continues ? this.file : await this.begin(requestSeq);
      const header = this.ackedBytes === 0 ? `${JSON.stringify({ format: FORMAT, requestSeq })}\n` : "";
      const piece = text.slice(this.text.length);
      const line = piece === "" ? "" : `${JSON.stringify({ text: piece })}\n`;
      const bytes = Buffer.from(header + line);
      if (bytes.length === 0) return;
      if (this.isTorn) await file.truncate(this.ackedBytes);
      this.isTorn = true;
      await file.write(bytes, this.ackedBytes);
      this.isTorn = false;
      this.ackedBytes += bytes.length;
      this.text = text;
    });
  }

  remove(): Promise<void> {
    return naming(this.path, () => this.discard());
  }

  /** The file stays: it may be all there is of what streamed. */
  async close(): Promise<void> {
    const file = this.file;
    this.file = undefined;
    await file?.close();
  }

  private async begin(requestSeq: number): Promise<DiskFile> {
    // A new file: bytes of another draft could come back into an old one after a power cut.
    await this.discard();
    const file = await this.disk.open(this.path, "create");
    this.file = file;
    this.requestSeq = requestSeq;
    this.text = "";
    this.ackedBytes = 0;
    this.isTorn = false;
    return file;
  }

  /** What is there is out of date. Only what cannot be read is kept: nobody has seen it. */
  private async discard(): Promise<void> {
    const isOurs = this.file !== undefined;
    await this.close();
    if (this.disk.stat(this.path) === undefined) return;
    if (isOurs || (await readDraft(this.disk, this.path)).damage === undefined) return this.disk.remove(this.path);
    let number = 1;
    while (this.disk.stat(`${this.path}.damaged-${number}`) !== undefined) number++;
    await this.disk.rename(this.path, `${this.path}.damaged-${number}`);
  }
}

/**
 * The draft as far as it is whole. That its last line is cut off is what a kill leaves, and no damage.
 *
 * @throws {PerdureError} STATE_NEWER
 */
export async function readDraft(disk: Disk, path: string): Promise<{ draft?: Draft; damage?: Damage }> {
  let lines: string[];
  try {
    if (disk.stat(path) === undefined) return {};
    const bytes = await reading(disk, path, (file) => readRange(file, 0, file.stat().sizeBytes));
    lines = bytes.toString("utf8").split("\n").slice(0, -1);
  } catch (error) {
    // Removed meanwhile: its reply is in the log.
    if (hasCode(error, "ENOENT", "ENOTDIR")) return {};
    return { damage: { path, problem: `what had streamed is left out: ${stateUnreadable(path, error).problem}` } };
  }
  const [first, ...rest] = lines;
  if (first === undefined) return {};
  const header = parse(first);
  if (isJsonObject(header) && isFormat(header.format) && header.format > FORMAT) throw stateNewer(path, header.format);
  if (!isJsonObject(header) || !isFormat(header.format) || !isPosition(header.requestSeq))
    return { damage: at(path, 1) };
  let text = "";
  for (const [index, line] of rest.entries()) {
    const value = parse(line);
    const draft = text === "" ? {} : { draft: { requestSeq: header.requestSeq, text } };
    // After damage nothing fits any more: what comes before it is a text that was on the screen.
    if (!isJsonObject(value)) return { ...draft, damage: at(path, index + 2) };
    if (typeof value.text === "string") text += value.text;
  }
  return text === "" ? {} : { draft: { requestSeq: header.requestSeq, text } };
}

function parse(line: string): JsonValue | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function at(path: string, line: number): Damage {
  return { path, line, problem: `line ${line}: it is not readable, so what had streamed from there on is left out` };
}

function isPosition(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
