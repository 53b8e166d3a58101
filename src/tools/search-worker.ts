import { Worker } from "node:worker_threads";

export interface Match {
  readonly path: string;
  /** 1-based. */
  readonly line: number;
  readonly text: string;
}

export interface FileMatches {
  readonly matches: readonly Match[];
  /** Files left out: binary or too large. */
  readonly skipped: number;
  /** True when `matchesMax` was reached. */
  readonly full: boolean;
}

const FILE_BYTES_MAX = 4 * 1024 * 1024;
const LINE_UNITS_MAX = 300;

/**
 * Runs in a thread, since only a thread can be stopped in the middle of a regular expression that backtracks without
 * end. It is plain JavaScript in a string: the program is bundled, and a bundle has no file for a thread to load.
 */
const SOURCE = `
const { parentPort, workerData } = require("node:worker_threads");
const { openSync, readSync, fstatSync, closeSync, constants } = require("node:fs");
const pattern = new RegExp(workerData.source, workerData.flags);

function textOf(path) {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const { size } = fstatSync(file);
    if (size > workerData.fileBytesMax) return undefined;
    const buffer = Buffer.alloc(size);
    const bytes = readSync(file, buffer, 0, size, 0);
    if (buffer.subarray(0, 8192).includes(0)) return undefined;
    return buffer.toString("utf8", 0, bytes);
  } finally {
    closeSync(file);
  }
}

parentPort.on("message", ({ paths, matchesMax }) => {
  const matches = [];
  let skipped = 0;
  let full = false;
  search: for (const path of paths) {
    let text;
    try {
      text = textOf(path);
    } catch {
      text = undefined;
    }
    if (text === undefined) {
      skipped += 1;
      continue;
    }
    const lines = text.split("\\n");
    for (let index = 0; index < lines.length; index += 1) {
      const line = lines[index].replace(/\\r$/, "");
      if (index === lines.length - 1 && line === "") break;
      const found = pattern.exec(line);
      if (found === null) continue;
      if (matches.length === matchesMax) {
        full = true;
        break search;
      }
      const start = Math.max(0, Math.min(found.index - 80, line.length - workerData.lineUnitsMax));
      const end = start + workerData.lineUnitsMax;
      const text = (start > 0 ? "…" : "") + line.slice(start, end) + (end < line.length ? "…" : "");
      matches.push({ path, line: index + 1, text });
    }
  }
  parentPort.postMessage({ matches, skipped, full });
});
`;

/** Searches files for a regular expression, line by line, in a thread of its own. Close it. */
export class SearchWorker {
  readonly #worker: Worker;

  constructor(pattern: RegExp) {
    this.#worker = new Worker(SOURCE, {
      eval: true,
      env: {},
      workerData: {
        source: pattern.source,
        flags: pattern.flags,
        fileBytesMax: FILE_BYTES_MAX,
        lineUnitsMax: LINE_UNITS_MAX,
      },
    });
    this.#worker.unref();
  }

  /** Undefined when it takes longer than `timeoutMs`; the worker is then stopped. Rejects when the signal aborts. */
  search(
    paths: readonly string[],
    options: { matchesMax: number; timeoutMs: number; signal: AbortSignal },
  ): Promise<FileMatches | undefined> {
    const worker = this.#worker;
    const { matchesMax, timeoutMs, signal } = options;
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
        worker.off("message", take);
        worker.off("error", fail);
        act();
      };
      const stop = (act: () => void) => settle(() => void worker.terminate().then(act));
      const abort = () => stop(() => reject(signal.reason));
      const take = (found: FileMatches) => settle(() => resolve(found));
      const fail = (error: Error) => settle(() => reject(error));
      const timer = setTimeout(() => stop(() => resolve(undefined)), timeoutMs);
      if (signal.aborted) return abort();
      signal.addEventListener("abort", abort, { once: true });
      worker.on("message", take);
      worker.on("error", fail);
      worker.postMessage({ paths, matchesMax });
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
