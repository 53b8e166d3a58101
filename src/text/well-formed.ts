/** Lone surrogates become U+FFFD: no strict API and no UTF-8 file takes them. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}
