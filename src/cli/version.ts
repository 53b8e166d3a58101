import { readFileSync } from "node:fs";

/** Put in by the build. */
declare const PERDURE_VERSION: string | undefined;

/** Perdure's version. Loads nothing: `chat --version` answers before the rest of the program is there. */
export function version(): string {
  if (typeof PERDURE_VERSION === "string") return PERDURE_VERSION;
  const stated: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  if (typeof stated === "object" && stated !== null && "version" in stated && typeof stated.version === "string") {
    return stated.version;
  }
  throw new Error("package.json states no version");
}
