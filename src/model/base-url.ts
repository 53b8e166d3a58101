import type { Env, ProviderName } from "./default-models.js";
import { modelError } from "./model-error.js";

/** A provider with a server: everything but the offline model. */
export type RemoteProvider = Exclude<ProviderName, "offline">;

const variables: Record<RemoteProvider, string> = {
  anthropic: "ANTHROPIC_BASE_URL",
  openai: "OPENAI_BASE_URL",
  google: "GOOGLE_GEMINI_BASE_URL",
  ollama: "OLLAMA_HOST",
  compatible: "COMPATIBLE_BASE_URL",
};

const defaults: Partial<Record<RemoteProvider, string>> = {
  anthropic: "https://api.anthropic.com",
  openai: "https://api.openai.com/v1",
  google: "https://generativelanguage.googleapis.com",
  ollama: "127.0.0.1:11434",
};

/**
 * The base URL with the API's version in it, as the requests need it. The vendors disagree on what a base URL holds:
 * ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL go without the version, OPENAI_BASE_URL with `/v1`. So a version that
 * is there stays; a missing one is added where the vendor's own library would, and for OpenAI's API when the URL has no
 * path at all.
 *
 * @throws {PerdureError} MODEL_NOT_FOUND when there is none, or it is no http URL
 */
export function findBaseUrl(provider: RemoteProvider, option: string | undefined, env: Env): string {
  const given = filled(option) ?? filled(env[variables[provider]]) ?? defaults[provider];
  if (given === undefined) {
    throw modelError(
      "MODEL_NOT_FOUND",
      `${provider} has no base URL: it can be any server that speaks OpenAI's chat completions API.`,
      `Give its base URL with --base-url or in ${variables[provider]}.`,
      { example: "--base-url http://127.0.0.1:8080/v1" },
    );
  }
  const url = parse(provider === "ollama" ? ollamaUrl(given) : given, provider);
  const path = url.pathname.replace(/\/+$/, "");
  return `${url.origin}${withVersion(provider, path)}`;
}

/** True for OpenAI itself, its regional hosts included: only there is the Responses API spoken. */
export function isOpenAI(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return hostname === "api.openai.com" || hostname.endsWith(".api.openai.com");
}

function filled(text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  return trimmed === "" ? undefined : trimmed;
}

function withVersion(provider: RemoteProvider, path: string): string {
  if (/\/v\d+[a-z]*\d*$/.test(path)) return path;
  if (provider === "google") return `${path}/v1beta`;
  if (provider === "anthropic" || provider === "ollama") return `${path}/v1`;
  return path === "" ? "/v1" : path;
}

/** OLLAMA_HOST is what `ollama serve` binds to: a host, `host:port`, `:port` or a URL; 0.0.0.0 is no place to call. */
function ollamaUrl(host: string): string {
  if (host.includes("://")) return host.replace("//0.0.0.0", "//127.0.0.1");
  const [, name = "", port = ":11434", path = ""] = /^(\[[^\]]*\]|[^:/]*)(:\d+)?(\/.*)?$/.exec(host) ?? [
    undefined,
    host,
  ];
  const address = name === "" || name === "0.0.0.0" || name === "[::]" ? "127.0.0.1" : name;
  return `http://${address}${port}${path}`;
}

function parse(text: string, provider: RemoteProvider): URL {
  const refuse = (why: string): Error =>
    modelError(
      "MODEL_NOT_FOUND",
      `The base URL for ${provider} ${why}.`,
      `Give an http or https URL with --base-url or in ${variables[provider]}.`,
      { example: `--base-url ${provider === "anthropic" ? "https://api.anthropic.com" : "http://127.0.0.1:8080/v1"}` },
    );
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refuse(`is not a URL: "${text}"`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") throw refuse(`has no http scheme: "${text}"`);
  // Not shown: a password in it is as secret as a key.
  if (url.username !== "" || url.password !== "") throw refuse("holds a user name or password, which no request sends");
  return url;
}
