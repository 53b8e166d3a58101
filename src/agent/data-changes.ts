import type { JsonObject, JsonValue } from "../json.js";
import type { EntryBody } from "./entries.js";
import { checkData } from "./json-check.js";

/**
 * The top-level keys of `data` that differ from what was recorded, as an entry; undefined when none does.
 *
 * @param recorded each key's value in JSON
 * @throws {PerdureError} STATE_DATA_NOT_JSON
 */
export function changedData(data: unknown, recorded: ReadonlyMap<string, string>): EntryBody | undefined {
  checkData(data);
  const changed: [string, JsonValue][] = [];
  for (const [key, value] of Object.entries(data)) {
    const json = JSON.stringify(value);
    // A copy: what the entry holds must not change with the person's object.
    if (recorded.get(key) !== json) changed.push([key, JSON.parse(json) as JsonValue]);
  }
  const removed = [...recorded.keys()].filter((key) => !Object.hasOwn(data, key));
  if (changed.length === 0 && removed.length === 0) return undefined;
  const set: JsonObject = Object.fromEntries(changed);
  return { kind: "data", set, removed };
}
