/**
 * What can be read off an error of a provider's library, of a stream's error part, or of the network. Read by fields
 * and not by class: the libraries are bundled apart from each other, and error parts are plain objects.
 */
export interface ErrorFacts {
  /** HTTP status, or the one that the API's error type stands for. */
  readonly status: number | undefined;
  /** The API's machine-readable words for it: `error.type`, `error.code`, `error.status`. */
  readonly marks: readonly string[];
  /** The server's own message. */
  readonly message: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** A system or network code (`ECONNREFUSED`) from the chain of causes. */
  readonly networkCode: string | undefined;
  /** The error's own name, such as `AI_JSONParseError`. */
  readonly name: string;
}

/** Anthropic sends failures inside a stream by type alone. */
const statusOfType: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

export function factsOf(error: unknown): ErrorFacts {
  const fields = fieldsOf(error);
  const body = typeof fields.responseBody === "string" ? bodyOf(fields.responseBody) : undefined;
  const inner = body?.error ?? fields;
  const marks = [inner.type, inner.code, inner.status].filter((mark): mark is string => typeof mark === "string");
  const stated = statusIn(fields.statusCode) ?? statusIn(inner.code);
  // 500 is also what a library says when the API named a type inside a stream instead of a status.
  const byType = marks.map((mark) => statusOfType[mark]).find((status) => status !== undefined);
  return {
    status: stated === undefined || stated === 500 ? (byType ?? stated) : stated,
    marks,
    message: body === undefined ? textIn(inner.message) : (body.text ?? textIn(inner.message)),
    headers: headersIn(fields.responseHeaders),
    networkCode: networkCodeOf(error),
    name: textIn(fields.name) ?? "Error",
  };
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function statusIn(value: unknown): number | undefined {
  return typeof value === "number" && value >= 100 && value <= 599 ? value : undefined;
}

function headersIn(value: unknown): Record<string, string> {
  const entries = Object.entries(fieldsOf(value)).filter((entry): entry is [string, string] => {
    return typeof entry[1] === "string";
  });
  return Object.fromEntries(entries.map(([name, text]) => [name.toLowerCase(), text]));
}

/** An error body: `{error: {…}}`, `[{error: {…}}]`, `{error: "…"}`, `{message}`, a stream's error frame, or text. */
function bodyOf(body: string): { error: Fields; text: string | undefined } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    // A proxy's web page says nothing a person can use.
    const text = body.trim().startsWith("<") ? undefined : textIn(body);
    return { error: {}, text };
  }
  const outer = fieldsOf(Array.isArray(parsed) ? parsed[0] : parsed);
  const nested = fieldsOf(outer.response).error ?? outer.error;
  const error = typeof nested === "object" && nested !== null ? fieldsOf(nested) : outer;
  const text = textIn(nested) ?? textIn(error.message) ?? textIn(outer.message) ?? textIn(outer.detail);
  return { error, text };
}

const networkCode =
  /^(E[A-Z_]+|UND_ERR_\w+|MODEL_STALLED|MODEL_WEB_PAGE|ERR_\w+|.*CERT.*|SELF_SIGNED.*|UNABLE_TO_\w+)$/;

function networkCodeOf(error: unknown): string | undefined {
  let fields = fieldsOf(error);
  for (let depth = 0; depth < 6; depth += 1) {
    const { code } = fields;
    if (typeof code === "string" && networkCode.test(code)) return code;
    // Several addresses were tried: the first failure stands for all.
    const cause = Array.isArray(fields.errors) ? fields.errors[0] : fields.cause;
    if (typeof cause !== "object" || cause === null) return undefined;
    fields = fieldsOf(cause);
  }
  return undefined;
}
