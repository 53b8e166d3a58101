import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { codeOf } from "../../src/errors.js";
import type { JsonObject } from "../../src/json.js";
import { classifyError } from "../../src/model/classify-error.js";
import { extractJson } from "../../src/model/json-answer.js";
import { SurrogateJoiner } from "../../src/model/surrogate-joiner.js";
import { call, calls, startModelServer, text } from "../support/model-server.js";
import {
  callsOf,
  collect,
  collectUntilError,
  type ModelCase,
  modelCases,
  request,
  textOf,
  user,
} from "./model-cases.js";

const [anthropic, , chat, google] = modelCases as [ModelCase, ModelCase, ModelCase, ModelCase];
const open: Server[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server that sends these bytes as its event stream and keeps the bodies it got. */
async function serve(...bodies: string[]): Promise<{ url: string; sent: JsonObject[] }> {
  const sent: JsonObject[] = [];
  const server = createServer((incoming, response) => {
    let raw = "";
    incoming.setEncoding("utf8").on("data", (chunk: string) => {
      raw += chunk;
    });
    incoming.on("end", () => {
      sent.push(JSON.parse(raw) as JsonObject);
      response.writeHead(200, { "content-type": "text/event-stream" }).end(bodies.shift() ?? "");
    });
  });
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

function sse(...events: readonly JsonObject[]): string {
  return events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

const messageStart = {
  type: "message_start",
  message: {
    id: "m",
    type: "message",
    role: "assistant",
    model: "c",
    content: [],
    usage: { input_tokens: 1, output_tokens: 0 },
  },
};

describe("a stream", () => {
  it("joins a character whose halves came in two chunks, and replaces a half that stays alone", async () => {
    const chunk = (content: string, finish = "null"): string =>
      `data: {"id":"x","choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":${finish}}]}\n\n`;
    const { url } = await serve(
      `${chunk("a\\ud83d")}${chunk("\\ude00b")}${chunk("\\ud83d", '"stop"')}data: [DONE]\n\n`,
    );
    expect(textOf(await collect(chat.open(url), request([user("hi")])))).toBe("a😀b\uFFFD");
  });

  it("passes an input that is no JSON on as it came, and a blank one as {}", async () => {
    const server = await startModelServer();
    server.reply(calls("", call("bash", {}, { rawInput: '{"command": "ls' }), call("bash", {}, { rawInput: "" })));
    const events = await collect(chat.open(server.url), request([user("hi")]));
    await server.close();
    expect(callsOf(events).map((made) => made.input)).toEqual(['{"command": "ls', {}]);
  });

  it("makes lone surrogates in a call's input harmless, keys included", async () => {
    const server = await startModelServer();
    const rawInput = '{"command":"echo \\ud83d","k\\udc00":["\\ud83d\\ude00"]}';
    server.reply(calls("", call("bash", {}, { rawInput })));
    const events = await collect(anthropic.open(server.url), request([user("hi")]));
    await server.close();
    expect(callsOf(events)[0]?.input).toEqual({ command: "echo \uFFFD", "k\uFFFD": ["😀"] });
  });

  it("gives a call whose id is taken or missing an id of its own", async () => {
    const server = await startModelServer();
    server.reply(calls("", call("bash", {}, { id: "call_0" }), call("bash", {}, { id: "call_1" })));
    const history = [
      user("hi"),
      { role: "assistant" as const, text: "", calls: [{ id: "call_0", name: "bash", input: {} }] },
      { role: "tool" as const, results: [{ callId: "call_0", name: "bash", text: "ok", isError: false }] },
    ];
    const ids = callsOf(await collect(chat.open(server.url), request(history))).map((made) => made.id);
    await server.close();
    expect(ids[0]).toMatch(/^call_[0-9a-f]{24}$/);
    expect(ids[1]).toBe("call_1");
  });

  it("ended cleanly but without its finish is cut, not whole", async () => {
    for (const [model, body] of [
      [chat, 'data: {"id":"x","choices":[{"index":0,"delta":{"content":"half"},"finish_reason":null}]}\n\n'],
      [google, 'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"half"}]}}]}\n\n'],
      [
        anthropic,
        sse(
          messageStart,
          { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
          { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "half" } },
        ),
      ],
    ] as const) {
      const { url } = await serve(body);
      const { events, error } = await collectUntilError(model.open(url), request([user("hi")]));
      expect([textOf(events), codeOf(error)]).toEqual(["half", "MODEL_STREAM_CUT"]);
    }
  });

  it("that reports an overload inside is asked again before text, and cut after it", async () => {
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const start = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
    const delta = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "half" } };
    const { url } = await serve(sse(messageStart, overloaded), sse(messageStart, start, delta, overloaded));
    const { events, error } = await collectUntilError(anthropic.open(url), request([user("hi")]));
    expect(events[0]).toMatchObject({ type: "retry", reason: "overloaded (529)" });
    expect([textOf(events), codeOf(error)]).toEqual(["half", "MODEL_STREAM_CUT"]);
  });

  it("keeps a thought signature with its call and sends it back to the same provider only", async () => {
    const part = { functionCall: { name: "bash", args: { command: "ls" } }, thoughtSignature: "c2lnbmF0dXJl" };
    const candidate = { content: { role: "model", parts: [part] }, finishReason: "STOP" };
    const { url, sent } = await serve(`data: ${JSON.stringify({ candidates: [candidate] })}\n\n`);
    const made = callsOf(await collect(google.open(url), request([user("hi")])));
    expect(made[0]?.provider).toEqual({ google: { thoughtSignature: "c2lnbmF0dXJl" } });

    const history = [
      user("hi"),
      { role: "assistant" as const, text: "", calls: made },
      {
        role: "tool" as const,
        results: made.map((each) => ({ callId: each.id, name: "bash", text: "ok", isError: false })),
      },
    ];
    await collectUntilError(google.open(url, { retry: { triesMax: 1 } }), request(history));
    expect(JSON.stringify(sent[1])).toContain("c2lnbmF0dXJl");
    const other = await startModelServer();
    await collect(anthropic.open(other.url), request(history));
    await other.close();
    expect(other.requests[0]?.raw).not.toContain("c2lnbmF0dXJl");
  });

  it("over OpenAI's own API stores nothing there and refers to nothing stored", async () => {
    const server = await startModelServer();
    const responses = modelCases[1] as ModelCase;
    server.reply(calls("", call("bash", { command: "ls" })));
    const made = callsOf(await collect(responses.open(server.url), request([user("hi")])));
    const results = made.map((each) => ({ callId: each.id, name: "bash", text: "ok", isError: false }));
    const history = [
      user("hi"),
      { role: "assistant" as const, text: "I look.", calls: made },
      { role: "tool" as const, results },
    ];
    await collect(responses.open(server.url), request(history));
    await server.close();
    expect(server.refusals).toEqual([]);
    expect(server.requests.map((sent) => sent.body.store)).toEqual([false, false]);
    expect(server.requests[1]?.raw).not.toContain("item_reference");
  });

  it("to Anthropic marks the system prompt and the last message for the prompt cache", async () => {
    const server = await startModelServer();
    await collect(anthropic.open(server.url), request([user("first"), user("last")]));
    await server.close();
    const { system, messages } = server.requests[0]?.body ?? {};
    expect(JSON.stringify(system)).toContain("cache_control");
    expect(JSON.stringify(messages)).toMatch(/^(?!.*"first","cache_control).*"last","cache_control/);
  });

  it("to a compatible server has the person's messages in a row as one", async () => {
    const server = await startModelServer();
    server.reply(text("ok"));
    await collect(chat.open(server.url), request([user("one"), user("two")]));
    await server.close();
    expect(server.requests[0]?.userTexts).toEqual(["one\n\ntwo"]);
  });
});

describe("an error", () => {
  const source = {
    name: "anthropic/claude",
    provider: "anthropic" as const,
    model: "claude",
    baseUrl: "https://api.anthropic.com/v1",
    keyVariable: "ANTHROPIC_API_KEY",
    redact: (line: string) => line,
  };
  const answered = (statusCode: number, body: unknown): unknown => ({
    statusCode,
    responseBody: typeof body === "string" ? body : JSON.stringify(body),
  });

  it.each([
    [{ error: { code: "context_length_exceeded", message: "too many tokens" } }],
    [{ error: { type: "exceed_context_size_error", message: "n_ctx" } }],
    [{ error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" } }],
    [{ error: { status: "INVALID_ARGUMENT", message: "The input token count (9) exceeds the maximum number of" } }],
    [{ object: "error", message: "This model's maximum context length is 8192 tokens." }],
  ])("400 with %j is MODEL_TOO_LARGE", (body) => {
    expect(classifyError(answered(400, body), source).error.code).toBe("MODEL_TOO_LARGE");
  });

  it("says where it comes from, in the server's words, at most 500 characters of them", () => {
    const { error } = classifyError(answered(500, { error: { message: `${"x".repeat(9000)}` } }), source);
    expect(error.problem).toContain("anthropic/claude: api.anthropic.com answered 500: xxx");
    expect(error.problem.length).toBeLessThan(600);
  });

  it("leaves a proxy's web page out", () => {
    expect(classifyError(answered(502, "<html>bad gateway</html>"), source).error.problem).not.toContain("<html>");
  });

  it("of a certificate is not tried again and names the remedy", () => {
    const cause = Object.assign(new Error("self-signed"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    const failure = classifyError(new TypeError("fetch failed", { cause }), source);
    expect([failure.error.code, failure.again]).toEqual(["MODEL_UNREACHABLE", false]);
    expect(String(failure.error)).toContain("NODE_EXTRA_CA_CERTS");
  });

  it("carries neither the conversation nor a stack of the library's", () => {
    const failure = classifyError({ ...(answered(400, "no") as object), requestBodyValues: "SECRET" }, source);
    expect(JSON.stringify(failure.error) + failure.error.cause).not.toContain("SECRET");
  });
});

describe("a JSON answer in words", () => {
  it.each([
    ['{"a":1}', '{"a":1}'],
    ['```json\n{"a":1}\n```', '{"a":1}'],
    ['Here it is: {"a":[1]} as asked.', '{"a":[1]}'],
    ["[1, 2]", "[1, 2]"],
    ["no JSON", "no JSON"],
  ])("%j is read as %j", (answer, json) => {
    expect(extractJson(answer)).toBe(json);
  });
});

describe("a surrogate joiner", () => {
  it("holds back a first half until the second comes", () => {
    const joiner = new SurrogateJoiner();
    expect([joiner.push("a\ud83d"), joiner.push(""), joiner.push("\ude00"), joiner.end()]).toEqual(["a", "", "😀", ""]);
  });
});
