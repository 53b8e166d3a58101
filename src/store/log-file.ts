import { hasCode } from "../errors.js";
import { type Disk, type DiskFile, NOT_A_FILE } from "./disk.js";
import { FORMAT, type LogHeader, parseLine, toHeader } from "./log-line.js";
import { type LogContents, LogParser } from "./log-parser.js";
import { reading, readRange } from "./read-file.js";
import type { Entry } from "./store.js";
import { stateDamaged, stateNewer, stateUnreadable } from "./store-errors.js";

/** 9 MB in three pieces rather than nine: 20 ms less, as each one is a trip to the thread pool and back. */
const CHUNK_BYTES = 1 << 22;
const HEAD_BYTES = 1 << 10;
const NEWLINE = 10;

/**
 * Reads a whole log, a chunk at a time. `limitBytes`: no further than this, for a log that is being written to. `onEntry`:
 * gets the entries one by one, and `entries` stays empty.
 *
 * @throws {PerdureError} STATE_NEWER, STATE_DAMAGED when nothing in it can be read, STATE_UNREADABLE
 */
export async function readLog(
  disk: Disk,
  path: string,
  id: string,
  options: { limitBytes?: number; onEntry?: (entry: Entry) => void; asidePath?: () => string } = {},
): Promise<LogContents & { sizeBytes: number; version: string }> {
  return readingLog(disk, path, async (file) => {
    const { version } = file.stat();
    const parser = new LogParser(path, options);
    const sizeBytes = await pushAll(file, parser, 0, options.limitBytes, () => {
      if (parser.header !== undefined) checkHeader(parser.header, path, id);
    });
    const contents = parser.end();
    if (contents.header !== undefined) checkHeader(contents.header, path, id);
    else if (contents.seqNext === 0) throw nothingReadable(path, sizeBytes, contents);
    return { ...contents, sizeBytes, version };
  });
}

/** Parses what an open log holds after `from`, where so many entries end. Undefined when no line begins there. */
export async function readLogAfter(
  file: DiskFile,
  path: string,
  from: { bytes: number; entries: number },
  onEntry: (entry: Entry) => void,
): Promise<LogContents | undefined> {
  if (!(from.bytes > 0) || (await readRange(file, from.bytes - 1, from.bytes))[0] !== NEWLINE) return undefined;
  const parser = new LogParser(path, { onEntry, after: { entries: from.entries } });
  await pushAll(file, parser, from.bytes);
  return parser.end();
}

/** Returns where it stopped: at the end of the file or the limit. */
async function pushAll(
  file: DiskFile,
  parser: LogParser,
  from: number,
  limitBytes = Number.POSITIVE_INFINITY,
  onChunk: () => void = () => undefined,
): Promise<number> {
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(file.stat().sizeBytes - from, HEAD_BYTES)));
  let position = from;
  while (position < limitBytes) {
    const count = await file.read(chunk.subarray(0, Math.min(chunk.length, limitBytes - position)), position);
    if (count === 0) break;
    parser.push(chunk.subarray(0, count));
    position += count;
    onChunk();
  }
  return position;
}

/** The header alone. Undefined when it is damaged but more follows it. */
export async function readHeader(file: DiskFile, path: string, id: string): Promise<LogHeader | undefined> {
  const { sizeBytes } = file.stat();
  if (sizeBytes === 0) throw stateDamaged(path, "it is empty, so nothing was saved in it");
  for (let length = HEAD_BYTES; ; length *= 64) {
    const bytes = await readRange(file, 0, Math.min(length, sizeBytes));
    const end = bytes.indexOf(NEWLINE);
    if (end === -1 && length < sizeBytes) continue;
    const parsed = parseLine(bytes.toString("utf8", 0, end === -1 ? bytes.length : end));
    const header = parsed === undefined || parsed.line !== undefined ? undefined : toHeader(parsed.value);
    if (header !== undefined) checkHeader(header, path, id);
    return header;
  }
}

/** Turns what the system says about a log that cannot be opened into words. */
export async function readingLog<T>(disk: Disk, path: string, use: (file: DiskFile) => Promise<T>): Promise<T> {
  try {
    return await reading(disk, path, use);
  } catch (error) {
    if (hasCode(error, "ENOENT")) throw stateDamaged(path, "it is missing");
    if (hasCode(error, "EACCES", "EPERM", "EISDIR", "EIO", "ELOOP", NOT_A_FILE)) throw stateUnreadable(path, error);
    throw error;
  }
}

function checkHeader(header: LogHeader, path: string, id: string): void {
  if (header.format > FORMAT) throw stateNewer(path, header.format);
  if (header.id !== id)
    throw stateDamaged(path, `it is the log of conversation ${JSON.stringify(header.id)}, not ${id}`);
}

function nothingReadable(path: string, sizeBytes: number, contents: LogContents): Error {
  if (sizeBytes === 0) return stateDamaged(path, "it is empty, so nothing was saved in it");
  return stateDamaged(path, contents.damage[0]?.problem ?? "nothing in it can be read");
}
