import type { SeqRange } from "./entries.js";

/** A notice that leaves a range of entries before it out of the context. */
export interface Skip {
  /** Of the notice. */
  readonly seq: number;
  readonly skip: SeqRange;
}

/** The ranges that count: a notice that a later one leaves out leaves nothing out itself. `notices` in `seq` order. */
export function skippedRanges(notices: readonly Skip[]): SeqRange[] {
  const ranges: SeqRange[] = [];
  for (const { seq, skip } of [...notices].reverse()) if (!covers(ranges, seq)) ranges.push(skip);
  return ranges;
}

export function covers(ranges: readonly SeqRange[], seq: number): boolean {
  return ranges.length > 0 && ranges.some((range) => range.from <= seq && seq <= range.to);
}
