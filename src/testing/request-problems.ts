import type { ModelMessage, ModelRequest } from "../model/model.js";

/**
 * What a strict API would refuse in a request, in plain words; empty when it is valid. Written apart from the code that
 * makes contexts, so that it can judge it.
 */
export function requestProblems(request: Pick<ModelRequest, "messages">): string[] {
  const { messages } = request;
  const problems = messagesProblems(messages);
  if (messages.at(-1)?.role === "assistant") problems.push("the last message is from the assistant");
  return problems;
}

/** As {@link requestProblems}, for a context that may end with the assistant's answer. */
export function messagesProblems(messages: readonly ModelMessage[]): string[] {
  const problems: string[] = [];
  if (messages.length === 0) return ["there is no message"];
  if (messages[0]?.role !== "user") problems.push("the first message is not from the user");
  const ids = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const at = `message ${index}`;
    problems.push(...stringProblems(message, at));
    if (message.role === "user" && isBlankText(message.text)) problems.push(`${at}: blank text from the user`);
    if (message.role === "assistant") {
      if (isBlankText(message.text) && (message.text !== "" || message.calls.length === 0)) {
        problems.push(`${at}: blank text from the assistant`);
      }
      for (const call of message.calls) {
        if (ids.has(call.id)) problems.push(`${at}: the id ${call.id} is there twice`);
        ids.add(call.id);
        if (!/^[\w-]{1,64}$/.test(call.id)) problems.push(`${at}: the id ${JSON.stringify(call.id)} is not valid`);
        if (!/^[\w-]{1,64}$/.test(call.name))
          problems.push(`${at}: the name ${JSON.stringify(call.name)} is not valid`);
        if (typeof call.input !== "object" || call.input === null || Array.isArray(call.input)) {
          problems.push(`${at}: the input of ${call.id} is not an object`);
        }
      }
      if (message.calls.length > 0) problems.push(...resultProblems(message, messages[index + 1], at));
    }
    if (message.role === "tool") {
      const before = messages[index - 1];
      if (before?.role !== "assistant" || before.calls.length === 0)
        problems.push(`${at}: results without calls before`);
    }
  }
  return problems;
}

function resultProblems(
  message: Extract<ModelMessage, { role: "assistant" }>,
  next: ModelMessage | undefined,
  at: string,
): string[] {
  if (next?.role !== "tool") return [`${at}: calls without results right after`];
  const problems: string[] = [];
  const wanted = message.calls.map((call) => call.id).join(", ");
  const given = next.results.map((result) => result.callId).join(", ");
  if (wanted !== given) problems.push(`${at}: the calls are ${wanted}, the results are of ${given}`);
  for (const result of next.results) {
    if (isBlankText(result.text)) problems.push(`${at}: the result of ${result.callId} is blank`);
  }
  return problems;
}

function stringProblems(value: unknown, at: string): string[] {
  if (typeof value === "string") {
    const problems: string[] = [];
    // Iterating goes by code points: what is left of the surrogates are halves.
    for (const character of value) {
      const code = character.codePointAt(0) ?? 0;
      if (code >= 0xd800 && code <= 0xdfff) problems.push(`${at}: half a surrogate pair`);
      if (code === 0) problems.push(`${at}: a NUL`);
    }
    if (Buffer.byteLength(value) > 5 << 20) problems.push(`${at}: a text of ${Buffer.byteLength(value)} bytes`);
    return [...new Set(problems)];
  }
  if (Array.isArray(value)) return value.flatMap((item) => stringProblems(item, at));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [...stringProblems(key, at), ...stringProblems(item, at)]);
}

function isBlankText(text: string): boolean {
  return text.trim() === "";
}
