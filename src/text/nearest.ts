/** The candidate a person most likely meant, or undefined when none is near. Case is ignored. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const from = word.toLowerCase();
  // One mistake in a short word, more in a long one: "x" is not a typo of "y".
  const distanceMax = Math.max(1, Math.floor(from.length / 3));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const to = candidate.toLowerCase();
    if (Math.abs(to.length - from.length) > distanceMax) continue;
    const distance = editDistance(from, to);
    if (distance > distanceMax || distance >= to.length) continue;
    if (best === undefined || distance < best.distance) best = { candidate, distance };
  }
  return best?.candidate;
}

/** Damerau-Levenshtein (optimal string alignment): insert, delete, replace, swap neighbours. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = from[i - 1] === to[j - 1];
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, to.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
