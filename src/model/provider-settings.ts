import type { RemoteProvider } from "./base-url.js";
import type { RetryPolicy } from "./retry.js";

/** What a provider is opened with. */
export interface ProviderSettings {
  /** `provider/model`, for messages and history. */
  readonly name: string;
  readonly provider: RemoteProvider;
  readonly model: string;
  /** With the API's version in it, without a trailing slash. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** Where a person sets the key; undefined where none is needed. */
  readonly keyVariable: string | undefined;
  /** Takes keys out of text that a person or a log may see. */
  readonly redact: (text: string) => string;
  readonly idleTimeoutMs: number;
  readonly retry?: Partial<RetryPolicy>;
}
