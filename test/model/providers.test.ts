import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hasCode } from "../../src/errors.js";
import type { ModelMessage } from "../../src/model/model.js";
import {
  call,
  calls,
  cut,
  drip,
  httpError,
  type ModelServer,
  startModelServer,
  text,
} from "../support/model-server.js";
import {
  bash,
  callsOf,
  collect,
  collectUntilError,
  modelCases,
  request,
  testKey,
  textOf,
  user,
} from "./model-cases.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
});

/** A conversation with parallel calls, a failed result, and a notice after the results. */
const longHistory: readonly ModelMessage[] = [
  user("start"),
  {
    role: "assistant",
    text: "I look at both.",
    calls: [
      { id: "call_a", name: "bash", input: { command: "ls" } },
      { id: "call_b", name: "bash", input: { command: "false" } },
    ],
  },
  {
    role: "tool",
    results: [
      { callId: "call_a", name: "bash", text: "notes.txt", isError: false },
      { callId: "call_b", name: "bash", text: "exit code 1", isError: true },
    ],
  },
  user("[notice] something happened"),
  user("go on"),
];

describe.each(modelCases)("a model over $api", ({ open, api, path }) => {
  it("streams text in pieces and ends with a finish that has the usage", async () => {
    server.reply(text("Hel", "lo ", "世界 👩‍👩‍👧 é"));
    const events = await collect(open(server.url), request([user("hi")]));
    expect(events.filter((event) => event.type === "text").length).toBeGreaterThanOrEqual(3);
    expect(textOf(events)).toBe("Hello 世界 👩‍👩‍👧 é");
    expect(events.at(-1)).toMatchObject({
      type: "finish",
      reason: "stop",
      usage: { inputTokens: 10, outputTokens: 5 },
    });
    expect(server.requests[0]).toMatchObject({ api, path, refusal: undefined });
  });

  it("yields parallel calls after the text, each whole, and says that calls are why it stopped", async () => {
    server.reply(calls("Both. ", call("bash", { command: "ls" }), call("bash", { command: "echo '世界'" })));
    const events = await collect(open(server.url), request([user("hi")]));
    expect(textOf(events)).toBe("Both. ");
    expect(callsOf(events).map((made) => [made.name, made.input])).toEqual([
      ["bash", { command: "ls" }],
      ["bash", { command: "echo '世界'" }],
    ]);
    expect(new Set(callsOf(events).map((made) => made.id)).size).toBe(2);
    expect(events.at(-1)).toMatchObject({ type: "finish", reason: "tool-calls" });
  });

  it("sends a history with calls, results, errors and notices as a strict server takes it", async () => {
    await collect(open(server.url), request(longHistory));
    const sent = server.requests[0];
    expect(server.refusals).toEqual([]);
    expect(sent?.calls.map((made) => made.input)).toEqual([{ command: "ls" }, { command: "false" }]);
    expect(sent?.results.map((result) => result.text).join()).toMatch(/notes\.txt.*exit code 1/s);
    expect(sent?.userTexts.join("\n")).toMatch(/start[\s\S]*\[notice\] something happened[\s\S]*go on/);
    expect(sent?.assistantTexts).toEqual(["I look at both."]);
    expect(sent?.conversation.system).toBe("Be brief.");
    expect(sent?.conversation.tools).toEqual(["bash"]);
  });

  it("sends calls back whose ids and inputs other providers made", async () => {
    const strange = "functions.bash:0 with spaces and far more than sixty-four characters, as some servers make them";
    const history: readonly ModelMessage[] = [
      user("start"),
      { role: "assistant", text: "", calls: [{ id: strange, name: "bash", input: '{"command": "unfinis' }] },
      { role: "tool", results: [{ callId: strange, name: "bash", text: "not an object", isError: true }] },
    ];
    await collect(open(server.url), request(history));
    expect(server.refusals).toEqual([]);
    expect(server.requests[0]?.calls).toHaveLength(1);
    expect(server.requests[0]?.text).toContain("unfinis");
  });

  it("takes a history with calls for a request without tools", async () => {
    await collect(open(server.url), request(longHistory, { tools: [] }));
    expect(server.refusals).toEqual([]);
    if (api === "anthropic") expect(server.requests[0]?.body).toMatchObject({ tool_choice: { type: "none" } });
  });

  it.each([429, 500, 503, 529])("asks again after %i, says so, and answers", async (status) => {
    server.reply(httpError(status), httpError(status), text("at last"));
    const events = await collect(open(server.url), request([user("hi")]));
    expect(events.slice(0, 2)).toMatchObject([
      { type: "retry", attempt: 2, reason: expect.stringContaining(String(status)) },
      { type: "retry", attempt: 3 },
    ]);
    expect(textOf(events)).toBe("at last");
    expect(server.requests).toHaveLength(3);
  });

  it("gives up on a rate limit after four requests", async () => {
    server.always(httpError(429, { message: "slow down" }));
    const { error } = await collectUntilError(open(server.url), request([user("hi")]));
    expect(hasCode(error, "MODEL_RATE_LIMIT")).toBe(true);
    expect(String(error)).toContain("slow down");
    expect(server.requests).toHaveLength(4);
  });

  it.each([
    [400, "MODEL_REFUSED_REQUEST"],
    [401, "MODEL_KEY_REFUSED"],
    [403, "MODEL_KEY_REFUSED"],
    [404, "MODEL_NOT_FOUND"],
    [413, "MODEL_TOO_LARGE"],
    [422, "MODEL_REFUSED_REQUEST"],
  ])("does not ask again after %i: %s, with the server's words and without the key", async (status, code) => {
    server.always(httpError(status, { message: `no \u001b[31m${testKey} here` }));
    const { error } = await collectUntilError(open(server.url), request([user("hi")]));
    expect(hasCode(error, code)).toBe(true);
    expect(String(error)).toContain("[redacted] here");
    expect(String(error)).not.toContain("CANARY");
    expect(String(error)).not.toContain("\u001b");
    expect(server.requests).toHaveLength(1);
  });

  it("keeps what came before a cut and throws MODEL_STREAM_CUT, without the half call", async () => {
    server.reply(cut(["half an ans"], call("bash", { command: "rm -rf build" })));
    const { events, error } = await collectUntilError(open(server.url), request([user("hi")]));
    expect(textOf(events)).toBe("half an ans");
    expect(callsOf(events)).toEqual([]);
    expect(hasCode(error, "MODEL_STREAM_CUT")).toBe(true);
  });

  it("asks again when the stream was cut before any text", async () => {
    server.reply(cut([]), text("whole"));
    const events = await collect(open(server.url), request([user("hi")]));
    expect(events[0]).toMatchObject({ type: "retry", attempt: 2 });
    expect(textOf(events)).toBe("whole");
  });

  it("throws the abort's reason at once and closes the connection, in the middle of an answer", async () => {
    server.reply(drip(["first "]));
    const abort = new AbortController();
    const reason = new Error("interrupted by the test");
    let said = "";
    const reading = (async () => {
      for await (const event of open(server.url).stream(request([user("hi")]), { signal: abort.signal })) {
        if (event.type === "text") said += event.text;
        abort.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(said).toBe("first ");
    await server.requests[0]?.ended;
  });

  it("closes the connection when its reader stops early", async () => {
    server.reply(drip(["first "]));
    for await (const event of open(server.url).stream(request([user("hi")]), {
      signal: new AbortController().signal,
    })) {
      if (event.type === "text") break;
    }
    await server.requests[0]?.ended;
    expect(server.requests).toHaveLength(1);
  });

  it("treats a connection that goes silent after text as cut", async () => {
    server.reply(drip(["first "]));
    const { events, error } = await collectUntilError(open(server.url, { idleTimeoutMs: 200 }), request([user("hi")]));
    expect(textOf(events)).toBe("first ");
    expect(hasCode(error, "MODEL_STREAM_CUT")).toBe(true);
  });

  it("answers a schema with JSON text and calls nothing", async () => {
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    server.reply(text('{"city":', '"Zürich"}'));
    const events = await collect(open(server.url), request(longHistory, { tools: [bash], outputSchema: schema }));
    expect(server.refusals).toEqual([]);
    expect(JSON.parse(textOf(events))).toEqual({ city: "Zürich" });
    expect(callsOf(events)).toEqual([]);
    expect(server.requests[0]?.raw).toContain("city");
  });

  it("never sends a key but in a header", async () => {
    await collect(open(server.url), request([user("hi")]));
    const sent = server.requests[0];
    expect(sent?.raw).not.toContain("CANARY");
    expect(sent?.path).not.toContain("CANARY");
    expect(Object.values(sent?.headers ?? {}).some((value) => value.includes(testKey))).toBe(true);
  });
});
