/** Lone surrogates become U+FFFD: no strict API and no UTF-8 file takes them. */
export function wellFormed(text: string): string {
  // Most texts have no half of a pair at all, and a search without `u` sees that many times faster.
  return /[\ud800-\udfff]/.test(text) ? text.replace(/\p{Surrogate}/gu, "\uFFFD") : text;
}
