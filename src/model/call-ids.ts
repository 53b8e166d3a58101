import { randomUUID } from "node:crypto";

/** What every API takes: Anthropic by its alphabet, OpenAI's chat completions by the length. */
const sendable = /^[A-Za-z0-9_-]{1,40}$/;

/**
 * The ids of one request's calls as an API takes them: a conversation may have begun with a provider whose ids another
 * one refuses. The same history gives the same ids, so that prompt caches hold.
 */
export function createCallIds(): { sendable(id: string): string } {
  const renamed = new Map<string, string>();
  return {
    sendable(id) {
      if (sendable.test(id)) return id;
      const known = renamed.get(id);
      if (known !== undefined) return known;
      const name = `call_renamed_${renamed.size + 1}`;
      renamed.set(id, name);
      return name;
    },
  };
}

/** An id for a call that just came: the server's own, unless it has none or repeats one of `taken`. Adds it to `taken`. */
export function takeCallId(id: string, taken: Set<string>): string {
  const chosen = id.trim() === "" || taken.has(id) ? newCallId() : id;
  taken.add(chosen);
  return chosen;
}

export function newCallId(): string {
  return `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
}
