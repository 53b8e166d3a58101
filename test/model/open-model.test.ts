import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { codeOf } from "../../src/errors.js";
import { findBaseUrl, isOpenAI } from "../../src/model/base-url.js";
import { availableModels, keyVariables, redactKeys } from "../../src/model/default-models.js";
import { parseModelName } from "../../src/model/model-name.js";
import { openModel } from "../../src/model/open-model.js";
import { type ModelServer, startModelServer } from "../support/model-server.js";
import { collect, request, textOf, user } from "./model-cases.js";

async function errorOf(opening: Promise<unknown>): Promise<unknown> {
  return opening.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("a model's name", () => {
  it.each([
    ["anthropic/claude-opus-4-5", "anthropic", "claude-opus-4-5"],
    ["compatible/meta-llama/Llama-3.3-70B", "compatible", "meta-llama/Llama-3.3-70B"],
    ["ollama/qwen3:8b", "ollama", "qwen3:8b"],
    ["OpenAI/gpt-5.1", "openai", "gpt-5.1"],
    ["claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"],
    ["gpt-5.1", "openai", "gpt-5.1"],
    ["o3", "openai", "o3"],
    ["gemini-2.5-pro", "google", "gemini-2.5-pro"],
    ["anthropic", "anthropic", "claude-sonnet-4-5"],
    ["offline", "offline", "phrases"],
  ])("%s is %s's %s", (name, provider, model) => {
    expect(parseModelName(name)).toEqual({ provider, model });
  });

  it("that names an unknown provider is refused with the list and the nearest one", async () => {
    const error = await errorOf(openModel("antropic/claude-sonnet-4-5", { env: {} }));
    expect(codeOf(error)).toBe("MODEL_NOT_FOUND");
    expect(String(error)).toContain("Did you mean anthropic?");
    expect(String(error)).toContain("anthropic, openai, google, ollama, compatible, offline");
    expect(String(error)).toContain("anthropic/claude-sonnet-4-5");
  });

  it.each(["llama", "", "ollama", "compatible/"])("%j is refused: it names no model", async (name) => {
    expect(codeOf(await errorOf(openModel(name, { env: {} })))).toBe("MODEL_NOT_FOUND");
  });
});

describe("a key", () => {
  it.each([
    ["anthropic/x", "ANTHROPIC_API_KEY"],
    ["openai/x", "OPENAI_API_KEY"],
    ["google/x", "GOOGLE_GENERATIVE_AI_API_KEY"],
  ])("that %s lacks is asked for by the name of its variable, before any request", async (name, variable) => {
    const error = await errorOf(openModel(name, { env: { [variable]: "  " } }));
    expect(codeOf(error)).toBe("MODEL_KEY_MISSING");
    expect(String(error)).toContain(`export ${variable}=`);
  });

  it.each(["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"])(
    "for google is read from %s",
    async (variable) => {
      expect((await openModel("google/x", { env: { [variable]: "key-0123456789" } })).name).toBe("google/x");
    },
  );

  it("that no HTTP header takes is refused without being shown", async () => {
    const error = await errorOf(openModel("openai/x", { env: { OPENAI_API_KEY: "“sk-CANARY123”" } }));
    expect(codeOf(error)).toBe("MODEL_KEY_MISSING");
    expect(String(error)).not.toContain("CANARY");
  });

  it("is not needed for ollama and a compatible server", async () => {
    expect((await openModel("ollama/qwen3", { env: {} })).name).toBe("ollama/qwen3");
    const model = await openModel("compatible/x", { env: {}, baseUrl: "http://127.0.0.1:1/v1" });
    expect(model.name).toBe("compatible/x");
  });

  it("that is set makes its provider's default model available, in the order of preference", () => {
    expect(availableModels({})).toEqual([]);
    const env = { GEMINI_API_KEY: "g", OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "", COMPATIBLE_API_KEY: "c" };
    expect(availableModels(env)).toEqual([
      { provider: "openai", model: "openai/gpt-5.1", keyVariable: "OPENAI_API_KEY" },
      { provider: "google", model: "google/gemini-2.5-pro", keyVariable: "GEMINI_API_KEY" },
    ]);
  });

  it("is taken out of text, whichever variable holds it", () => {
    for (const variable of keyVariables) {
      const env = { [variable]: "sk-CANARY-123456" };
      expect(redactKeys("Bearer sk-CANARY-123456!", env)).toBe("Bearer [redacted]!");
    }
    expect(redactKeys("a test", { OPENAI_API_KEY: "test" })).toBe("a test");
    expect(redactKeys("x", { OPENAI_API_KEY: "" })).toBe("x");
  });
});

describe("a base URL", () => {
  it.each([
    ["anthropic", undefined, "https://api.anthropic.com/v1"],
    ["anthropic", "https://proxy.example/anthropic/", "https://proxy.example/anthropic/v1"],
    ["anthropic", "https://proxy.example/v1", "https://proxy.example/v1"],
    ["openai", undefined, "https://api.openai.com/v1"],
    ["openai", "https://proxy.example/openai/v1/", "https://proxy.example/openai/v1"],
    ["openai", "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"],
    ["openai", "https://proxy.example/some/api", "https://proxy.example/some/api"],
    ["google", undefined, "https://generativelanguage.googleapis.com/v1beta"],
    ["google", "https://proxy.example", "https://proxy.example/v1beta"],
    ["google", "https://proxy.example/v1beta/", "https://proxy.example/v1beta"],
    ["google", "https://proxy.example/v1", "https://proxy.example/v1"],
    ["ollama", undefined, "http://127.0.0.1:11434/v1"],
    ["ollama", "gpu-box:9999", "http://gpu-box:9999/v1"],
    ["ollama", "gpu-box", "http://gpu-box:11434/v1"],
    ["ollama", "0.0.0.0:11435", "http://127.0.0.1:11435/v1"],
    ["ollama", ":11435", "http://127.0.0.1:11435/v1"],
    ["ollama", "[::1]:11435", "http://[::1]:11435/v1"],
    ["ollama", "https://ollama.example/v1", "https://ollama.example/v1"],
    ["compatible", "http://127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1"],
  ] as const)("of %s given as %s becomes %s", (provider, given, expected) => {
    expect(findBaseUrl(provider, given, {})).toBe(expected);
  });

  it.each([
    ["anthropic", "ANTHROPIC_BASE_URL"],
    ["openai", "OPENAI_BASE_URL"],
    ["google", "GOOGLE_GEMINI_BASE_URL"],
    ["ollama", "OLLAMA_HOST"],
    ["compatible", "COMPATIBLE_BASE_URL"],
  ] as const)("of %s is read from %s, and the option wins", (provider, variable) => {
    const env = { [variable]: "http://from-env:1/v1" };
    expect(findBaseUrl(provider, undefined, env)).toBe("http://from-env:1/v1");
    expect(findBaseUrl(provider, "http://from-option:1/v1", env)).toBe("http://from-option:1/v1");
  });

  it.each(["not a url", "ftp://host", "http://me:CANARY@host/v1"])("%s is refused", async (baseUrl) => {
    const error = await errorOf(openModel("compatible/x", { env: {}, baseUrl }));
    expect(codeOf(error)).toBe("MODEL_NOT_FOUND");
    expect(String(error)).not.toContain("CANARY");
  });

  it("must be given for a compatible server", async () => {
    const error = await errorOf(openModel("compatible/x", { env: {} }));
    expect(codeOf(error)).toBe("MODEL_NOT_FOUND");
    expect(String(error)).toContain("--base-url");
  });

  it("is OpenAI's own only on OpenAI's hosts", () => {
    expect(isOpenAI("https://api.openai.com/v1")).toBe(true);
    expect(isOpenAI("https://eu.api.openai.com/v1")).toBe(true);
    expect(isOpenAI("https://api.openai.com.example/v1")).toBe(false);
  });
});

describe("an opened model", () => {
  let server: ModelServer;
  beforeEach(async () => {
    server = await startModelServer();
  });
  afterEach(async () => {
    await server.close();
  });

  it.each([
    ["claude-sonnet-4-5", { ANTHROPIC_API_KEY: "key-0123456789" }, "/v1/messages"],
    ["openai/gpt-5.1", { OPENAI_API_KEY: "key-0123456789" }, "/v1/chat/completions"],
    [
      "gemini-2.5-pro",
      { GEMINI_API_KEY: "key-0123456789" },
      "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    ],
    ["ollama/qwen3", {}, "/v1/chat/completions"],
    ["compatible/x", {}, "/v1/chat/completions"],
  ])("%s asks the server of the base URL at the API's path", async (name, env, path) => {
    const model = await openModel(name, { env, baseUrl: server.url });
    expect(server.requests).toHaveLength(0);
    expect(textOf(await collect(model, request([user("hi")])))).not.toBe("");
    expect(server.requests.map((sent) => [sent.path, sent.refusal])).toEqual([[path, undefined]]);
  });

  it("without a key sends none", async () => {
    const model = await openModel("ollama/qwen3", { env: { OPENAI_API_KEY: "sk-CANARY-1" }, baseUrl: server.url });
    await collect(model, request([user("hi")]));
    expect(JSON.stringify(server.requests[0]?.headers)).not.toContain("CANARY");
  });
});
