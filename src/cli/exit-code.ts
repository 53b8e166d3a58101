import { codeOf } from "../errors.js";

const WRONG_USAGE: readonly string[] = ["USAGE", "MODEL_KEY_MISSING", "CONFIG_INVALID", "CONFIG_NEWER"];
/** Also in model-error.ts; named here again so that leaving loads nothing. */
const TRY_AGAIN: readonly string[] = ["STATE_LOCKED", "MODEL_RATE_LIMIT", "MODEL_UNREACHABLE", "MODEL_SERVER"];
const SIGNALS: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/** 2: wrong usage. 75: the same command may work later. 128 + n: ended by signal n. 1: everything else. */
export function exitCodeOf(error: unknown): number {
  return exitCodeOfCode(codeOf(error));
}

/** The same for an error's code, where the error itself is not at hand. */
export function exitCodeOfCode(code: string | undefined): number {
  if (code === undefined) return 1;
  if (WRONG_USAGE.includes(code)) return 2;
  if (TRY_AGAIN.includes(code)) return 75;
  return exitCodeOfSignal(code) ?? 1;
}

/** 129, 130 or 143, or undefined when it is none of the signals that end a chat. */
export function exitCodeOfSignal(signal: string): number | undefined {
  return Object.hasOwn(SIGNALS, signal) ? SIGNALS[signal] : undefined;
}
