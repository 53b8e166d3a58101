import type { Readable } from "node:stream";
import { HeadTail, HISTORY_BYTES_MAX } from "../text/cut.js";
import { createDecoder, type Decoder } from "../text/decode.js";
import { LiveOutput } from "./live-output.js";
import { OutputFile } from "./output-file.js";
import type { CommandResult, CommandSpec } from "./runner.js";

/** Room is left for what a tool says about the command (exit code, where the whole output is). */
export const OUTPUT_TEXT_BYTES_MAX = HISTORY_BYTES_MAX - 1024;

/** Where the bytes of a command's pipes go: the screen, the text for history, the file. In bounded memory. */
export class CommandOutput {
  /** When the last bytes came, in `performance.now()` milliseconds. */
  lastAt = 0;
  readonly #text = new HeadTail(OUTPUT_TEXT_BYTES_MAX);
  readonly #live: LiveOutput;
  readonly #file: OutputFile;
  readonly #pipes: { readonly stream: Readable; readonly decoder: Decoder }[] = [];
  #totalBytes = 0;
  #waitingForDisk = false;
  #closed = false;

  constructor(spec: CommandSpec) {
    this.#live = new LiveOutput((chunk) => spec.onOutput(chunk));
    this.#file = new OutputFile(spec.outputPath, spec.outputBytesMax, OUTPUT_TEXT_BYTES_MAX);
  }

  /** True while the pipes are not read because the disk is behind. */
  get paused(): boolean {
    return this.#waitingForDisk;
  }

  follow(stream: Readable): void {
    const decoder = createDecoder();
    this.#pipes.push({ stream, decoder });
    stream.on("data", (chunk: Buffer) => this.#take(chunk, decoder));
    // A broken pipe ends like a closed one; the exit status tells the rest.
    stream.on("error", () => {});
  }

  async close(): Promise<Pick<CommandResult, "text" | "totalBytes" | "omittedBytes" | "outputFile">> {
    this.#closed = true;
    for (const { decoder } of this.#pipes) this.#show(decoder.end());
    this.#live.end();
    const outputFile = await this.#file.close();
    const { text, omittedBytes } = this.#text.cut();
    return { text, totalBytes: this.#totalBytes, omittedBytes, outputFile };
  }

  #take(chunk: Buffer, decoder: Decoder): void {
    if (this.#closed) return;
    this.lastAt = performance.now();
    this.#totalBytes += chunk.length;
    this.#show(decoder.decode(chunk));
    const wait = this.#file.write(chunk);
    if (wait === undefined) return;
    this.#waitingForDisk = true;
    for (const { stream } of this.#pipes) stream.pause();
    void wait.then(() => {
      this.#waitingForDisk = false;
      for (const { stream } of this.#pipes) stream.resume();
    });
  }

  #show(text: string): void {
    if (text === "") return;
    this.#text.push(text);
    this.#live.push(text);
  }
}
