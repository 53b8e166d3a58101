import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { cutEnds, cutText, HISTORY_BYTES_MAX } from "../text/cut.js";
import { createDecoder, type Decoder } from "../text/decode.js";
import { callPaths } from "./call-folder.js";
import { LiveOutput } from "./live-output.js";
import type { CommandResult } from "./runner.js";

/** Room is left for what a tool says about the command (exit code, where the whole output is). */
export const OUTPUT_TEXT_BYTES_MAX = HISTORY_BYTES_MAX - 1024;

const CHUNK_BYTES = 65_536;
/** More than this behind, what lies between is left out: the screen is not the record. */
const BEHIND_BYTES_MAX = 4 * CHUNK_BYTES;

/** Reads a call's output file as it grows, for the screen. */
export class CallOutput {
  readonly #path: string;
  readonly #live: LiveOutput;
  #decoder: Decoder = createDecoder();
  #position: number;

  constructor(folder: string, fromByte: number, onOutput: (chunk: string) => void) {
    this.#path = callPaths(folder).output;
    this.#position = fromByte;
    this.#live = new LiveOutput(onOutput);
  }

  /** Takes in what was added since the last time: bounded work, however much it is. */
  catchUp(): void {
    const file = openOutput(this.#path);
    if (file === undefined) return;
    try {
      const size = fstatSync(file).size;
      if (size - this.#position > BEHIND_BYTES_MAX) {
        this.#take(file, this.#position + CHUNK_BYTES);
        this.#live.push(`${this.#decoder.end()}\n…\n`);
        this.#decoder = createDecoder();
        this.#position = size - CHUNK_BYTES;
      }
      this.#take(file, size);
    } finally {
      closeSync(file);
    }
  }

  end(): void {
    this.catchUp();
    this.#live.push(this.#decoder.end());
    this.#live.end();
  }

  #take(file: number, until: number): void {
    const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(CHUNK_BYTES, until - this.#position)));
    while (this.#position < until) {
      const bytes = readSync(file, buffer, 0, Math.min(buffer.length, until - this.#position), this.#position);
      if (bytes === 0) return;
      this.#position += bytes;
      this.#live.push(this.#decoder.decode(buffer.subarray(0, bytes)));
    }
  }
}

/** The output as history keeps it, from the call's files: the same for a call that was followed and one that was not. */
export function outputText(
  folder: string,
  restBytes: number,
): Pick<CommandResult, "text" | "totalBytes" | "omittedBytes"> {
  const paths = callPaths(folder);
  const file = openOutput(paths.output);
  if (file === undefined) return { text: "", totalBytes: restBytes, omittedBytes: restBytes };
  try {
    const size = fstatSync(file).size;
    const totalBytes = size + restBytes;
    if (totalBytes <= 2 * OUTPUT_TEXT_BYTES_MAX) {
      const { text, omittedBytes } = cutText(decode(readPart(file, 0, size)), OUTPUT_TEXT_BYTES_MAX);
      return { text, totalBytes, omittedBytes: omittedBytes + restBytes };
    }
    const head = decode(readPart(file, 0, OUTPUT_TEXT_BYTES_MAX));
    const kept = readPart(file, Math.max(0, size - OUTPUT_TEXT_BYTES_MAX), size);
    const end = restBytes === 0 ? kept : Buffer.concat([kept, readTail(paths.tail)]);
    const cut = cutEnds(head, decode(end).slice(-OUTPUT_TEXT_BYTES_MAX), totalBytes, OUTPUT_TEXT_BYTES_MAX);
    return { text: cut.text, totalBytes, omittedBytes: cut.omittedBytes };
  } finally {
    closeSync(file);
  }
}

function openOutput(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    return undefined; // Nothing was printed yet.
  }
}

function readPart(file: number, from: number, until: number): Buffer {
  const part = Buffer.alloc(until - from);
  const bytes = readSync(file, part, 0, part.length, from);
  return part.subarray(0, bytes);
}

function readTail(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0); // The disk was full.
  }
}

function decode(bytes: Buffer): string {
  const decoder = createDecoder();
  return decoder.decode(bytes) + decoder.end();
}
