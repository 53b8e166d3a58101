import { codeOf, PerdureError } from "../errors.js";

export type ModelErrorCode =
  | "MODEL_KEY_MISSING" // no key where one is needed
  | "MODEL_KEY_REFUSED" // 401, 403
  | "MODEL_NOT_FOUND" // 404, unknown provider or model
  | "MODEL_RATE_LIMIT" // 429, 529 after the retries
  | "MODEL_UNREACHABLE" // no connection after the retries
  | "MODEL_SERVER" // 5xx after the retries
  | "MODEL_REFUSED_REQUEST" // 400 and other 4xx: asking again will not help
  | "MODEL_TOO_LARGE" // 413, context window exceeded
  | "MODEL_STREAM_CUT" // the stream ended in the middle, after output
  | "MODEL_BAD_REPLY"; // an answer that cannot be read

/** Codes after which the same request may work later: exit code 75 in print mode. */
export const TRY_AGAIN_CODES: readonly string[] = ["MODEL_RATE_LIMIT", "MODEL_UNREACHABLE", "MODEL_SERVER"];

export function modelError(
  code: ModelErrorCode,
  problem: string,
  fix: string,
  options: { example?: string; cause?: unknown } = {},
): PerdureError {
  return new PerdureError({ code, problem, fix, ...options });
}

export function isModelError(error: unknown): boolean {
  return codeOf(error)?.startsWith("MODEL_") ?? false;
}
