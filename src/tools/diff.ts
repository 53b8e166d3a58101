import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { cutText } from "../text/cut.js";

/** What of a diff a person is shown and a model is told. */
export const DIFF_BYTES_MAX = 8192;
const DIFF_TIMEOUT_MS = 300;

/** A unified diff, cut; a sentence in its place when it takes too long to work out. */
export function unifiedDiff(name: string, before: string, after: string): string {
  if (before === "") return cutText(allNew(after), DIFF_BYTES_MAX).text;
  const options = { context: 3, timeout: DIFF_TIMEOUT_MS, headerOptions: FILE_HEADERS_ONLY };
  const patch = createTwoFilesPatch(name, name, before, after, undefined, undefined, options);
  return patch === undefined ? "(the change is too large for a diff)" : cutText(patch.trimEnd(), DIFF_BYTES_MAX).text;
}

function allNew(text: string): string {
  const lines = text.replace(/\n$/, "").split("\n");
  return text === "" ? "(empty)" : lines.map((line) => `+${line}`).join("\n");
}
