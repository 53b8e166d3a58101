import { fstatSync } from "node:fs";
import type { Readable } from "node:stream";
import { createDecoder } from "../text/decode.js";
import { usageError } from "./usage-error.js";

/** More than any model takes; a stream without an end must not fill the memory. */
export const STDIN_BYTES_MAX = 16 * 1024 * 1024;

/** terminal: nothing is read. socket: how Node programs start others: often left open with nothing in it. */
export type StdinKind = "terminal" | "socket" | "piped";

export function stdinKind(stdin: Readable & { readonly isTTY?: boolean; readonly fd?: number }): StdinKind {
  if (stdin.isTTY === true) return "terminal";
  try {
    return fstatSync(stdin.fd ?? 0).isSocket() ? "socket" : "piped";
  } catch {
    return "piped"; // a closed descriptor: reading it says the rest
  }
}

export interface MessageSource {
  /** From the command line. */
  readonly text: string | undefined;
  readonly stdin: Readable;
  readonly kind: StdinKind;
  /** One line for the person, for standard error. */
  notice(line: string): unknown;
  readonly patienceMs?: number;
}

/**
 * The message of print mode: the text, a blank line, what comes from standard input; or one of the two; or undefined.
 * A piped input is read to its end, however long that takes: a slow command in front must not lose its output. Only a
 * socket that has been silent for `patienceMs` is left alone when there is a text: who started us forgot to close it.
 *
 * @throws PerdureError USAGE: too long
 */
export async function readMessage(source: MessageSource): Promise<string | undefined> {
  const piped = source.kind === "terminal" ? "" : await readAll(source);
  const content = piped.replace(/^\uFEFF/, "").replace(/[\r\n]+$/, "");
  const parts = [source.text, content].filter((part) => part !== undefined && part.trim() !== "");
  return parts.length === 0 ? undefined : parts.join("\n\n");
}

/** {@link readMessage} for this process. */
export function printMessage(
  text: string | undefined,
  stdin: Readable & { readonly isTTY?: boolean; readonly fd?: number },
): Promise<string | undefined> {
  const notice = (line: string) => process.stderr.write(`chat: ${line}\n`);
  return readMessage({ text, stdin, kind: stdinKind(stdin), notice });
}

async function readAll(source: MessageSource): Promise<string> {
  const { stdin, patienceMs = 3000 } = source;
  const decoder = createDecoder();
  let text = "";
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      if (source.kind === "socket" && source.text !== undefined) {
        source.notice(
          "nothing came from standard input: going on without it (redirect it from /dev/null to skip this wait)",
        );
        done();
      } else {
        source.notice("waiting for standard input to end (redirect it from /dev/null if nothing is to come)");
      }
    }, patienceMs);
    const stop = (): void => {
      clearTimeout(timer);
      stdin.off("data", onData).off("end", done).off("close", done).off("error", fail);
      // An open standard input would keep the process alive.
      stdin.pause();
      if ("unref" in stdin && typeof stdin.unref === "function") stdin.unref();
    };
    const done = (): void => {
      stop();
      resolve(text + decoder.end());
    };
    const fail = (error: Error): void => {
      stop();
      reject(
        usageError(`standard input cannot be read: ${error.message}`, "redirect it from a file or from /dev/null"),
      );
    };
    const onData = (chunk: Uint8Array | string): void => {
      clearTimeout(timer);
      const buffer = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      bytes += buffer.byteLength;
      if (bytes > STDIN_BYTES_MAX) {
        stop();
        reject(
          usageError(
            `standard input is longer than ${STDIN_BYTES_MAX / 1024 / 1024} MiB`,
            "put it in a file and ask for it to be read",
            'chat -p --allow read "what went wrong in build.log?"',
          ),
        );
        return;
      }
      text += decoder.decode(buffer);
    };
    stdin.on("data", onData).on("end", done).on("close", done).on("error", fail);
  });
}
