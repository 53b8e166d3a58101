import type { JsonObject, JsonValue } from "../json.js";
import { wellFormed } from "../text/well-formed.js";

declare global {
  interface String {
    // In Node 20, not yet in the library that the compiler is set to.
    isWellFormed(): boolean;
  }
}

/** What no strict API takes becomes U+FFFD: half a surrogate pair, and NUL. */
export function cleanText(text: string): string {
  // Nearly every text is whole, and the look is a hundred times as fast as the repair.
  const whole = text.isWellFormed() ? text : wellFormed(text);
  return whole.includes("\0") ? whole.replaceAll("\0", "\uFFFD") : whole;
}

/** {@link cleanText} on every string and key of a value. */
export function cleanJson(value: JsonValue): JsonValue {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanJson);
  return typeof value === "object" && value !== null ? cleanObject(value) : value;
}

export function cleanObject(value: JsonObject): JsonObject {
  // Object.fromEntries defines properties, so a key `__proto__` stays a key.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [cleanText(key), cleanJson(item)]));
}

/** True when a text shows nothing: white space, control and format characters alone count as blank for some API. */
export function isBlank(text: string): boolean {
  return !/[^\s\p{Cc}\p{Cf}\p{Z}]/u.test(text);
}
