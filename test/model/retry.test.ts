import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { codeOf } from "../../src/errors.js";
import { defaultRetryPolicy, sleep } from "../../src/model/retry.js";
import { httpError, type ModelServer, stall, startModelServer, text } from "../support/model-server.js";
import { collect, collectUntilError, type ModelCase, modelCases, request, textOf, user } from "./model-cases.js";

const anthropic = modelCases[0] as ModelCase;
const chat = modelCases[2] as ModelCase;

let server: ModelServer;
let slept: number[];
/** Waits for nothing, and remembers how long it would have. */
const retry = {
  delayMs: (attempt: number) => attempt * 1000,
  sleep: async (delayMs: number) => {
    slept.push(delayMs);
  },
};

beforeEach(async () => {
  server = await startModelServer();
  slept = [];
});
afterEach(async () => {
  await server.close();
});

describe("a failed request", () => {
  it("waits longer after each failure, and says how long", async () => {
    server.reply(httpError(503), httpError(503), httpError(503), text("ok"));
    const events = await collect(anthropic.open(server.url, { retry }), request([user("hi")]));
    expect(slept).toEqual([1000, 2000, 3000]);
    expect(events.flatMap((event) => (event.type === "retry" ? [event.delayMs] : []))).toEqual(slept);
  });

  it("waits as long as the server asks, in seconds, milliseconds or by date", async () => {
    const inTenSeconds = new Date(Date.now() + 10_000).toUTCString();
    server.reply(
      httpError(429, { headers: { "retry-after": "7" } }),
      httpError(429, { headers: { "retry-after-ms": "250", "retry-after": "9" } }),
      httpError(429, { headers: { "retry-after": inTenSeconds } }),
      text("ok"),
    );
    await collect(anthropic.open(server.url, { retry }), request([user("hi")]));
    expect(slept.slice(0, 2)).toEqual([7000, 250]);
    expect(slept[2]).toBeGreaterThan(1000);
    expect(slept[2]).toBeLessThanOrEqual(10_000);
  });

  it("is not asked again when the server wants a wait of more than a minute, and says when", async () => {
    server.always(httpError(429, { headers: { "retry-after": "3600" } }));
    const { events, error } = await collectUntilError(anthropic.open(server.url, { retry }), request([user("hi")]));
    expect(events).toEqual([]);
    expect(codeOf(error)).toBe("MODEL_RATE_LIMIT");
    expect(String(error)).toContain("3600 s");
  });

  it("is not asked again when the account is out of credit", async () => {
    const body = { error: { message: "You exceeded your current quota", type: "insufficient_quota", code: null } };
    server.always(httpError(429, { body }));
    const { error } = await collectUntilError(chat.open(server.url, { retry }), request([user("hi")]));
    expect(codeOf(error)).toBe("MODEL_REFUSED_REQUEST");
    expect(String(error)).toContain("billing");
    expect(server.requests).toHaveLength(1);
  });

  it("stops waiting at once when it is aborted, with the abort's reason", async () => {
    server.always(httpError(429, { headers: { "retry-after": "50" } }));
    const abort = new AbortController();
    const reason = new Error("Ctrl+C");
    const model = anthropic.open(server.url, { retry: {} });
    const reading = (async () => {
      for await (const event of model.stream(request([user("hi")]), { signal: abort.signal })) {
        if (event.type === "retry") abort.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(server.requests).toHaveLength(1);
  });

  it("throws the reason when it is aborted before it is sent or before it is answered", async () => {
    const reason = new Error("too late");
    const model = anthropic.open(server.url, { retry });
    const before = await collectUntilError(model, request([user("hi")]), AbortSignal.abort(reason));
    expect(before.error).toBe(reason);
    expect(server.requests).toHaveLength(0);

    server.reply(stall());
    const abort = new AbortController();
    const reading = collectUntilError(model, request([user("hi")]), abort.signal);
    const sent = await server.waitForRequest(1);
    abort.abort(reason);
    expect((await reading).error).toBe(reason);
    await sent.ended;
  });

  it("names the host when nobody listens there", async () => {
    const { url } = server;
    await server.close();
    const { events, error } = await collectUntilError(chat.open(url, { retry }), request([user("hi")]));
    expect(events).toHaveLength(3);
    expect(codeOf(error)).toBe("MODEL_UNREACHABLE");
    expect(String(error)).toContain(`${new URL(url).host} (ECONNREFUSED)`);
    server = await startModelServer();
  });

  it("is asked again when the server accepts and then stays silent", async () => {
    server.reply(stall(), text("ok"));
    const events = await collect(anthropic.open(server.url, { retry, idleTimeoutMs: 150 }), request([user("hi")]));
    expect(events[0]).toMatchObject({ type: "retry", reason: "the server went silent" });
    expect(textOf(events)).toBe("ok");
    await server.requests[0]?.ended;
  });
});

describe("an answer that is none", () => {
  it.each([
    ["text/html", "<html>Welcome to the router</html>", "MODEL_BAD_REPLY", 1],
    ["text/event-stream", "data: {not json}\n\n", "MODEL_BAD_REPLY", 1],
    ["text/event-stream", "", "MODEL_UNREACHABLE", 4],
  ])("(%s %j) ends in %s", async (type, body, code, requests) => {
    let count = 0;
    const other = createServer((_incoming, response) => {
      count += 1;
      response.writeHead(200, { "content-type": type }).end(body);
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
      const { error } = await collectUntilError(chat.open(url, { retry }), request([user("hi")]));
      expect([codeOf(error), count]).toEqual([code, requests]);
    } finally {
      other.closeAllConnections();
      await new Promise((resolve) => other.close(resolve));
    }
  });
});

describe("the default back-off", () => {
  it("doubles, with up to half taken off", () => {
    for (const [attempt, most] of [
      [1, 1000],
      [2, 2000],
      [3, 4000],
    ] as const) {
      const delayMs = defaultRetryPolicy.delayMs(attempt);
      expect(delayMs).toBeGreaterThanOrEqual(most / 2);
      expect(delayMs).toBeLessThanOrEqual(most);
    }
  });

  it("leaves no listener on the signal", async () => {
    const signal = new AbortController().signal;
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    await sleep(0, signal);
    expect(listeners).toBe(0);
  });
});
