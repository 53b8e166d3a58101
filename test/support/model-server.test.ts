import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../src/json.js";
import { call, calls, cut, drip, gate, httpError, type ModelServer, startModelServer, text } from "./model-server.js";

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer({ bodyBytesMax: 20_000 });
});
afterAll(() => server.close());

async function post(path: string, body: string | Uint8Array<ArrayBuffer>): Promise<{ status: number; body: string }> {
  const headers = { "content-type": "application/json", "anthropic-version": "2023-06-01" };
  const response = await fetch(server.url + path, { method: "POST", headers, body });
  return { status: response.status, body: await response.text() };
}

const path = "/v1/messages";
const user = (content: JsonValue): JsonObject => ({ role: "user", content });
const assistant = (content: JsonValue): JsonObject => ({ role: "assistant", content });
const use = (id: string, input: JsonValue = {}): JsonObject => ({ type: "tool_use", id, name: "bash", input });
const result = (id: string, content = "done"): JsonObject => ({ type: "tool_result", tool_use_id: id, content });
const body = (...messages: JsonValue[]): string =>
  JSON.stringify({ model: "m", max_tokens: 100, stream: true, messages });

describe("the strict rules, through the Anthropic API", () => {
  const valid = [
    user("hi"),
    assistant([use("a"), use("b")]),
    user([result("a"), result("b"), { type: "text", text: "x" }]),
  ];

  it("take a conversation in which every call has its result right after it", async () => {
    expect((await post(path, body(...valid))).status).toBe(200);
  });

  const refused: Array<[string, string | Uint8Array<ArrayBuffer>]> = [
    ["no message", body()],
    ["a first message that is not the user's", body(assistant("hi"), user("hi"))],
    ["a last message that is the assistant's", body(user("hi"), assistant("hi"))],
    ["a call without a result at the end", body(user("hi"), assistant([use("a")]))],
    ["a call without a result in the middle", body(user("hi"), assistant([use("a")]), user("go on"))],
    ["one result missing of two", body(user("hi"), assistant([use("a"), use("b")]), user([result("a")]))],
    ["a result that comes late", body(user("hi"), assistant([use("a")]), user("x"), user([result("a")]))],
    ["a result after an answer", body(user("hi"), assistant([use("a")]), assistant("x"), user([result("a")]))],
    ["a result after text", body(user("hi"), assistant([use("a")]), user([{ type: "text", text: "x" }, result("a")]))],
    ["a result without a call", body(user("hi"), assistant("x"), user([result("a")]))],
    ["two results for one call", body(user("hi"), assistant([use("a")]), user([result("a"), result("a")]))],
    ["an id that repeats", body(...valid, assistant([use("a")]), user([result("a")]))],
    ["an id with other characters", body(user("hi"), assistant([use("a:b")]), user([result("a:b")]))],
    ["an input that is no object", body(user("hi"), assistant([use("a", "ls")]), user([result("a")]))],
    ["blank user text", body(user(" \n"))],
    ["empty content", body(user([]))],
    ["blank assistant text", body(user("hi"), assistant(""), user("hi"))],
    [
      "blank text beside a call",
      body(user("hi"), assistant([{ type: "text", text: "" }, use("a")]), user([result("a")])),
    ],
    ["a blank result", body(user("hi"), assistant([use("a")]), user([result("a", " ")]))],
    ["half a surrogate pair in a text", body(user("x\ud99cy"))],
    [
      "half a surrogate pair in an input",
      body(user("hi"), assistant([use("a", { x: "\udc00" })]), user([result("a")])),
    ],
    ["bytes that are not UTF-8", new Uint8Array([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d])],
    ["what is not JSON", '{"messages": ['],
    ["no max_tokens", JSON.stringify({ messages: [user("hi")] })],
  ];
  it.each(refused)("refuse %s, in the vendor's shape, and note it", async (_name, bytes) => {
    const before = server.refusals.length;
    const answer = await post(path, bytes);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
    expect(server.refusals.length).toBe(before + 1);
  });

  it("answer 413 to a body that is too large", async () => {
    const answer = await post(path, body(user("x".repeat(30_000))));
    expect(answer.status).toBe(413);
    expect(answer.body).toContain("request_too_large");
  });
});

describe("the strict rules, through the other APIs", () => {
  const chatCall = (id: string, args = "{}"): JsonObject => ({
    role: "assistant",
    content: "",
    tool_calls: [{ id, type: "function", function: { name: "bash", arguments: args } }],
  });
  const chat = (...messages: JsonValue[]): string => JSON.stringify({ model: "m", stream: true, messages });
  const chatResult = (id: string): JsonObject => ({ role: "tool", tool_call_id: id, content: "done" });
  const fnCall = (id: string): JsonObject => ({ type: "function_call", call_id: id, name: "bash", arguments: "{}" });
  const fnOutput = (id: string): JsonObject => ({ type: "function_call_output", call_id: id, output: "done" });
  const input = (...items: JsonValue[]): string => JSON.stringify({ model: "m", stream: true, input: items });
  const model = (...parts: JsonValue[]): JsonObject => ({ role: "model", parts });
  const person = (...parts: JsonValue[]): JsonObject => ({ role: "user", parts });
  const contents = (...items: JsonValue[]): string => JSON.stringify({ contents: items });
  const made = (name: string): JsonObject => ({ functionCall: { name, args: {} } });
  const given = (name: string): JsonObject => ({ functionResponse: { name, response: { output: "x" } } });
  const googlePath = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
  const hi = { text: "hi" };

  it.each([
    ["/v1/chat/completions", chat({ role: "system", content: "s" }, user("hi"), chatCall("a"), chatResult("a"))],
    ["/v1/responses", input(user("hi"), fnCall("a"), fnCall("b"), fnOutput("b"), fnOutput("a"))],
    [googlePath, contents(person(hi), model(made("a"), made("a")), person(given("a"), given("a")))],
  ])("%s takes a valid conversation", async (at, bytes) => {
    expect(await post(at, bytes)).toMatchObject({ status: 200 });
  });

  it.each([
    ["/v1/chat/completions", "a call without a result", chat(user("hi"), chatCall("a"), user("x"))],
    ["/v1/chat/completions", "calls in two messages before a result", chat(user("hi"), chatCall("a"), chatCall("b"))],
    ["/v1/chat/completions", "a result without a call", chat(user("hi"), chatResult("a"))],
    ["/v1/chat/completions", "arguments that do not parse", chat(user("hi"), chatCall("a", '{"x'), chatResult("a"))],
    [
      "/v1/chat/completions",
      "half a pair in the arguments",
      chat(user("hi"), chatCall("a", '{"x":"\\ud800"}'), chatResult("a")),
    ],
    ["/v1/chat/completions", "a blank answer", chat(user("hi"), assistant(""), user("hi"))],
    ["/v1/responses", "a call without a result", input(user("hi"), fnCall("a"), user("x"))],
    ["/v1/responses", "a result without a call", input(user("hi"), fnOutput("a"))],
    ["/v1/responses", "a reference to nothing", input(user("hi"), { type: "item_reference", id: "msg_none" })],
    [googlePath, "fewer responses than calls", contents(person(hi), model(made("a"), made("b")), person(given("a")))],
    [googlePath, "a response of another name", contents(person(hi), model(made("a")), person(given("b")))],
    [googlePath, "a blank part", contents(person({ text: "" }))],
  ])("%s refuses %s", async (at, _name, bytes) => {
    expect(await post(at, bytes)).toMatchObject({ status: 400 });
  });
});

describe("the model server", () => {
  const ask = (): Promise<{ status: number; body: string }> => post(path, body(user("MARK-1 hi")));

  it("answers from the queue, then from the default step", async () => {
    server.reply(text("one ", "two"), calls("look:", call("bash", { command: "ls" })));
    server.always((request) => text(`got ${request.text.includes("MARK-1")}`));
    expect((await ask()).body).toContain('"text":"two"');
    const second = await ask();
    expect(second.body).toContain("tool_use");
    expect(second.body).toContain("message_stop");
    expect((await ask()).body).toContain("got true");
  });

  it("answers errors with the status, the headers and the vendor's body", async () => {
    server.reply(httpError(429, { message: "slow down", headers: { "retry-after": "1" } }));
    const response = await fetch(server.url + path, {
      method: "POST",
      headers: { "anthropic-version": "2023-06-01" },
      body: body(user("hi")),
    });
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({ error: { type: "rate_limit_error", message: "slow down" } });
  });

  it("cuts a stream after its chunks have arrived", async () => {
    server.reply(cut(["first half"]));
    const response = await fetch(server.url + path, {
      method: "POST",
      headers: { "anthropic-version": "2023-06-01" },
      body: body(user("hi")),
    });
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      const decoder = new TextDecoder();
      for await (const part of response.body ?? []) seen.push(decoder.decode(part));
    };
    await expect(read()).rejects.toThrow();
    expect(seen.join("")).toContain("first half");
  });

  it("holds a stream at a gate, and says when a client has gone", async () => {
    const { wait, open } = gate();
    server.reply(text("before ", wait, "after"), drip(["drop"]));
    const number = server.requests.length + 1;
    const answer = ask();
    await server.waitForRequest(number);
    open();
    expect((await answer).body).toContain("after");

    const controller = new AbortController();
    const dripping = fetch(server.url + path, {
      method: "POST",
      headers: { "anthropic-version": "2023-06-01" },
      body: body(user("hi")),
      signal: controller.signal,
    }).then((response) => response.text());
    const request = await server.waitForRequest(number + 1);
    controller.abort();
    await expect(dripping).rejects.toThrow();
    await request.ended;
  });

  it("says how many requests came when one does not", async () => {
    await expect(server.waitForRequest(999, 10)).rejects.toThrow(/request 999 did not come.*there were \d+/);
  });

  it("notes a request to a path that no API has", async () => {
    expect((await post("/v1/none", "{}")).status).toBe(404);
    expect(server.refusals.at(-1)).toContain("/v1/none");
  });
});
