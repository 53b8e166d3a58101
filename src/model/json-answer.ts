/**
 * The JSON value in an answer that was only asked for in words: models like to wrap it in a code fence or a sentence.
 * An answer without one comes back as it is, for the reader to refuse.
 */
export function extractJson(answer: string): string {
  const trimmed = answer.trim();
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(trimmed)?.[1]?.trim();
  const candidates = [trimmed, fenced, between(trimmed, "{", "}"), between(trimmed, "[", "]")];
  return candidates.find((candidate) => candidate !== undefined && isJson(candidate)) ?? trimmed;
}

function between(text: string, open: string, close: string): string | undefined {
  const start = text.indexOf(open);
  const end = text.lastIndexOf(close);
  return start < 0 || end < start ? undefined : text.slice(start, end + 1);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
