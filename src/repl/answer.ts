import type { PermissionAnswer } from "../session/session.js";

/**
 * What a person answers to a permission question: `y`, `a`, `n`, or `n` with the reason for the model. Undefined: not an
 * answer, ask again; nothing is allowed by accident.
 */
export function parseAnswer(text: string): PermissionAnswer | undefined {
  const answer = text.trim();
  if (/^(y|yes|once)[.!]?$/i.test(answer)) return { kind: "once" };
  if (/^(a|always)[.!]?$/i.test(answer)) return { kind: "always" };
  const no = /^(?:no|n)(?![\p{L}\p{N}_'’])[\s,:;.!–-]*([\s\S]*)$/iu.exec(answer);
  if (no === null) return undefined;
  const reason = (no[1] ?? "").trim();
  return reason === "" ? { kind: "no" } : { kind: "no", reason };
}

export function isYes(text: string | undefined): boolean {
  return text !== undefined && /^(y|yes)[.!]?$/i.test(text.trim());
}
