import { printableLine } from "../text/printable.js";
import { wellFormed } from "../text/well-formed.js";
import { type ErrorFacts, factsOf } from "./error-facts.js";
import { type ModelErrorCode, modelError } from "./model-error.js";
import type { ProviderSettings } from "./provider-settings.js";
import type { Failure } from "./retry.js";

export type ErrorSource = Pick<ProviderSettings, "name" | "provider" | "model" | "baseUrl" | "keyVariable" | "redact">;

/** A stream that ended before its answer did. */
export class StreamEndedError extends Error {
  override readonly name = "StreamEndedError";
  readonly code = "MODEL_STREAM_ENDED";
}

/** The server says that it gave up on its own answer: asking again may help. */
export class FailedAnswerError extends Error {
  override readonly name = "FailedAnswerError";
  readonly code = "MODEL_FAILED_ANSWER";
}

const MESSAGE_LENGTH_MAX = 500;
const RETRIED_STATUS: ReadonlySet<number> = new Set([408, 409, 429, 500, 502, 503, 504, 529]);

/** Turns whatever a request failed with into a MODEL_* error for a person, and says whether asking again may help. */
export function classifyError(error: unknown, source: ErrorSource): Failure {
  const facts = factsOf(error);
  const host = new URL(source.baseUrl).host;
  if (facts.status !== undefined && facts.status >= 400) return statusFailure(facts, facts.status, host, source);
  const fail = (code: ModelErrorCode, what: string, fix: string, again: boolean, reason: string): Failure => ({
    error: modelError(code, `${source.name}: ${what}`, fix),
    again,
    reason,
  });
  const code = ownCode(error) ?? facts.networkCode;
  if (code === "MODEL_STREAM_ENDED") {
    const what = `${host} ended the stream before the answer was whole.`;
    return fail("MODEL_UNREACHABLE", what, "Ask again.", true, "the answer ended early");
  }
  if (code === "MODEL_FAILED_ANSWER") {
    const what = `${host} gave up on its answer${said(facts.message ?? messageOf(error), source)}`;
    return fail("MODEL_BAD_REPLY", what, "Ask again, or in other words.", true, "the server gave up on its answer");
  }
  if (code === "MODEL_WEB_PAGE") {
    const what = `${source.baseUrl} answers with a web page, not with the model's API.`;
    return fail("MODEL_BAD_REPLY", what, "Check the base URL.", false, "no API");
  }
  if (code === "MODEL_STALLED") {
    const what = `${host} went silent${said(messageOf(error), source)}`;
    return fail("MODEL_UNREACHABLE", what, "Ask again.", true, "the server went silent");
  }
  if (code !== undefined) {
    const certificate = /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code);
    const fix = certificate ? "Name the certificate authority in NODE_EXTRA_CA_CERTS." : reachFix(source, host);
    return fail(
      "MODEL_UNREACHABLE",
      `no connection to ${host} (${code}).`,
      fix,
      !certificate,
      `no connection (${code})`,
    );
  }
  const what = `${host} sent what cannot be read${said(facts.message ?? messageOf(error), source)}`;
  return fail(
    "MODEL_BAD_REPLY",
    what,
    "Ask again; if it stays so, check the base URL and the model.",
    false,
    "bad reply",
  );
}

function ownCode(error: unknown): string | undefined {
  if (error instanceof StreamEndedError || error instanceof FailedAnswerError) return error.code;
  // How the library for compatible servers says that a stream had no finish: an invalid response without a response.
  const invalid = error instanceof Error && error.name === "AI_InvalidResponseDataError";
  return invalid && "data" in error && error.data === undefined ? "MODEL_STREAM_ENDED" : undefined;
}

function statusFailure(facts: ErrorFacts, status: number, host: string, source: ErrorSource): Failure {
  const { code, fix } = meaningOf(facts, status, host, source);
  const after = retryAfterMs(facts.headers);
  const again =
    RETRIED_STATUS.has(status) &&
    // The account is out of credit: waiting does not fill it up.
    !facts.marks.includes("insufficient_quota") &&
    facts.headers["x-should-retry"] !== "false";
  return {
    error: modelError(code, `${source.name}: ${host} answered ${status}${said(facts.message, source)}`, fix),
    again,
    ...(after === undefined ? {} : { retryAfterMs: after }),
    reason: `${status === 429 ? "rate limit" : status === 529 ? "overloaded" : "server error"} (${status})`,
  };
}

function meaningOf(
  facts: ErrorFacts,
  status: number,
  host: string,
  source: ErrorSource,
): { code: ModelErrorCode; fix: string } {
  if (status === 413 || ((status === 400 || status === 422) && isTooLarge(facts))) {
    return { code: "MODEL_TOO_LARGE", fix: "Shorten the conversation, or start a new one." };
  }
  if (status === 401 || status === 403) {
    const { keyVariable } = source;
    const set = keyVariable === undefined ? `Check what ${host} wants` : `Check the key in ${keyVariable}`;
    return { code: "MODEL_KEY_REFUSED", fix: `${set}, and whether it may use ${source.model}.` };
  }
  if (status === 404) {
    const pull = source.provider === "ollama" ? ` \`ollama pull ${source.model}\` fetches it.` : "";
    return { code: "MODEL_NOT_FOUND", fix: `Check the model's name and the base URL (${source.baseUrl}).${pull}` };
  }
  if (facts.marks.includes("insufficient_quota") || status === 402) {
    return { code: "MODEL_REFUSED_REQUEST", fix: `Check plan and billing of the account at ${host}.` };
  }
  if (status === 429 || status === 529) {
    const seconds = Math.ceil((retryAfterMs(facts.headers) ?? 0) / 1000);
    return { code: "MODEL_RATE_LIMIT", fix: seconds > 0 ? `Ask again in ${seconds} s.` : "Ask again in a while." };
  }
  if (status >= 500 || status === 408) return { code: "MODEL_SERVER", fix: "Ask again in a while." };
  return {
    code: "MODEL_REFUSED_REQUEST",
    fix: "Asking the same again will not help: change the message or the model.",
  };
}

/** OpenAI, llama.cpp and vLLM say it in a field. */
const tooLargeMarks = [
  "context_length_exceeded",
  "exceed_context_size_error",
  "request_too_large",
  "string_above_max_length",
];

/**
 * Anthropic ("prompt is too long: 210000 tokens > 200000 maximum") and Google ("The input token count (1200000) exceeds
 * the maximum number of tokens allowed (1048576)") answer a plain 400 and say it in the text alone; so do many servers
 * that speak OpenAI's API ("maximum context length is 8192 tokens"). There is nothing but the words to go by.
 */
const tooLargeWords = /prompt is too long|token count.*exceeds|maximum context length|context (window|length|size)/i;

function isTooLarge(facts: ErrorFacts): boolean {
  return facts.marks.some((mark) => tooLargeMarks.includes(mark)) || tooLargeWords.test(facts.message ?? "");
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date. */
function retryAfterMs(headers: ErrorFacts["headers"]): number | undefined {
  const inMs = headers["retry-after-ms"];
  if (inMs !== undefined && /^\d+(\.\d+)?$/.test(inMs)) return Number(inMs);
  const after = headers["retry-after"];
  if (after === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(after)) return Number(after) * 1000;
  const date = Date.parse(after);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

function reachFix(source: ErrorSource, host: string): string {
  if (source.provider === "ollama") return "Start Ollama (`ollama serve`), or say where it runs in OLLAMA_HOST.";
  return `Check the network, and that ${host} is the right place.`;
}

/** The server's own words, made harmless: one line, no controls, no keys, not endless. */
function said(message: string | undefined, source: ErrorSource): string {
  if (message === undefined) return ".";
  const line = printableLine(source.redact(message.slice(0, 20_000)));
  if (line === "") return ".";
  const cut = line.length > MESSAGE_LENGTH_MAX ? `${wellFormed(line.slice(0, MESSAGE_LENGTH_MAX - 1))}…` : line;
  return `: ${cut}`;
}

function messageOf(error: unknown): string | undefined {
  return error instanceof Error ? error.message : undefined;
}
