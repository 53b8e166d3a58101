import { EventEmitter } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { JsonObject, JsonValue } from "../../src/json.js";
import { deadlineMs } from "./deadline.js";
import { anthropic } from "./model-apis/anthropic.js";
import { google } from "./model-apis/google.js";
import { type Conversation, isObject, type ModelApi, Refused, type ReplyStream } from "./model-apis/model-api.js";
import { openaiChat } from "./model-apis/openai-chat.js";
import { openaiResponses } from "./model-apis/openai-responses.js";
import { flatten, piecesOf, type RecordedRequest } from "./recorded-request.js";
import { type Chunk, type ReplyScript, type ReplyStep, text } from "./reply-steps.js";
import { parseStrictly, refuseInvalid } from "./strict-rules.js";

export type { RecordedRequest } from "./recorded-request.js";
export {
  call,
  calls,
  cut,
  drip,
  gate,
  httpError,
  type ReplyScript,
  type ReplyStep,
  stall,
  text,
} from "./reply-steps.js";

export interface ModelServer {
  /** `http://127.0.0.1:PORT`, without a path. */
  readonly url: string;
  /** Model requests in the order they came, those answered with an error too. */
  readonly requests: readonly RecordedRequest[];
  /** What the strict rules answered 400 to, and requests to a path that no API has. */
  readonly refusals: readonly string[];
  /** Adds steps for the next requests, one each. */
  reply(...steps: ReplyScript[]): void;
  /** The step for requests that nothing is queued for. Starts as a text answer, `Answer N.`. */
  always(step: ReplyScript): void;
  /** Drops the steps that are queued. */
  clear(): void;
  /** The n-th request (1 = the first), as soon as it is there. Rejects after `timeoutMs`. */
  waitForRequest(n: number, timeoutMs?: number): Promise<RecordedRequest>;
  close(): Promise<void>;
}

export interface ModelServerOptions {
  /** Answer 400 to what the real APIs refuse. Default true. */
  readonly strict?: boolean;
  /** Larger requests are answered 413. */
  readonly bodyBytesMax?: number;
}

const apis: readonly ModelApi[] = [anthropic, openaiChat, openaiResponses, google];

/** A model server on loopback, as strict as the real APIs, that answers from a script and keeps every request. */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const refusals: string[] = [];
  const queue: ReplyScript[] = [];
  const arrived = new EventEmitter().setMaxListeners(0);
  let fallback: ReplyScript = (request) => text(`Answer ${request.number}.`);

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      refusals.push(`the model server failed: ${error instanceof Error ? error.stack : String(error)}`);
      response.destroy();
    });
  });

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const ended = new Promise<void>((resolve) => response.once("close", () => resolve()));
    const bytes = await readAll(incoming);
    const path = incoming.url ?? "/";
    const api = apis.find((each) => each.matches(incoming.method ?? "", path));
    if (api === undefined) {
      refusals.push(`no API has ${incoming.method} ${path}`);
      return sendJson(response, 404, { error: { message: `no such path: ${path}` } });
    }
    if (options.bodyBytesMax !== undefined && bytes.length > options.bodyBytesMax) {
      const message = `Request exceeds the maximum size: ${bytes.length} bytes`;
      record(incoming, ended, api, path, bytes, undefined);
      return sendJson(response, 413, api.errorBody(413, message));
    }
    const refusal = (options.strict ?? true) ? refusalOf(api, bytes, incoming) : undefined;
    const recorded = record(incoming, ended, api, path, bytes, refusal);
    if (refusal !== undefined) {
      refusals.push(`request ${recorded.number}: ${refusal}`);
      return sendJson(response, 400, api.errorBody(400, refusal));
    }
    const script = queue.shift() ?? fallback;
    const step = typeof script === "function" ? script(recorded) : script;
    await play(step, response, api, api.streams(path, recorded.body));
  }

  function record(
    incoming: IncomingMessage,
    ended: Promise<void>,
    api: ModelApi,
    path: string,
    bytes: Buffer,
    refusal: string | undefined,
  ): RecordedRequest {
    const headers = headersOf(incoming);
    const raw = bytes.toString("utf8");
    const body = parseLoosely(raw);
    const conversation = readLoosely(api, body, headers);
    const number = requests.length + 1;
    const parts = { ...piecesOf(conversation), text: flatten(conversation) };
    const recorded = { number, api: api.name, path, headers, raw, body, conversation, ...parts, refusal, ended };
    requests.push(recorded);
    arrived.emit("request");
    return recorded;
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the model server has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    refusals,
    reply: (...steps) => {
      queue.push(...steps);
    },
    clear: () => {
      queue.length = 0;
    },
    always: (step) => {
      fallback = step;
    },
    waitForRequest: (n, timeoutMs = deadlineMs) => waitForRequest(requests, arrived, n, timeoutMs),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function waitForRequest(
  requests: readonly RecordedRequest[],
  arrived: EventEmitter,
  n: number,
  timeoutMs: number,
): Promise<RecordedRequest> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      arrived.off("request", look);
      reject(new Error(`model request ${n} did not come within ${timeoutMs} ms; there were ${requests.length}`));
    }, timeoutMs);
    const look = (): void => {
      const found = requests[n - 1];
      if (found === undefined) return;
      clearTimeout(timer);
      arrived.off("request", look);
      resolve(found);
    };
    arrived.on("request", look);
    look();
  });
}

function refusalOf(api: ModelApi, bytes: Buffer, incoming: IncomingMessage): string | undefined {
  try {
    const body = parseStrictly(bytes);
    if (!isObject(body)) throw new Refused("The request body is not a JSON object");
    refuseInvalid(api.read(body, headersOf(incoming)), api);
    return undefined;
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}

async function play(step: ReplyStep, response: ServerResponse, api: ModelApi, streams: boolean): Promise<void> {
  if (step.kind === "stall") return;
  if (step.kind === "error") {
    return sendJson(response, step.status, step.body ?? api.errorBody(step.status, step.message), step.headers);
  }
  if (!streams) {
    if (step.kind !== "answer") throw new Error(`${step.kind} needs a streamed request`);
    const chunks = await Promise.all(step.chunks);
    return sendJson(response, 200, api.whole(chunks.filter((chunk) => typeof chunk === "string").join(""), step.calls));
  }
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const stream = api.stream();
  response.write(stream.open());
  await writeChunks(step.chunks, response, stream);
  if (step.kind === "answer") {
    for (const call of step.calls) response.write(stream.call(call));
    response.end(stream.close());
    return;
  }
  if (step.halfCall !== undefined) response.write(stream.call(step.halfCall, true));
  // The client is to have what was written before the connection breaks.
  if (step.kind === "cut") response.write(":\n\n", () => response.destroy());
}

async function writeChunks(chunks: readonly Chunk[], response: ServerResponse, stream: ReplyStream): Promise<void> {
  for (const chunk of chunks) {
    if (typeof chunk === "string") response.write(stream.text(chunk));
    else await chunk;
  }
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: JsonValue,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

function headersOf(incoming: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
}

function parseLoosely(raw: string): JsonObject {
  try {
    const body: unknown = JSON.parse(raw);
    return isObject(body) ? body : {};
  } catch {
    return {};
  }
}

function readLoosely(api: ModelApi, body: JsonObject, headers: Readonly<Record<string, string>>): Conversation {
  try {
    return api.read(body, headers);
  } catch (error) {
    if (error instanceof Refused) return { system: "", messages: [], tools: [] };
    throw error;
  }
}
