import type { Facts } from "./facts.js";

/** A last turn that did not come to its end by itself and was not stopped by the person. */
export interface CutOffTurn {
  readonly turn: number;
  /**
   * `aborted:SIGTERM`, `aborted:TypeError`: what ended the run. `killed`: nothing was written when it ended.
   * `not run`: the person's message was saved, and no run began.
   */
  readonly cause: string;
  /** It went on by itself once before, so it does not again. */
  readonly continued: boolean;
}

/** Not called while a run is under way: a run looks as if it had been killed until it ends. */
export function findCutOffTurn(facts: Facts, isAnswered: boolean): CutOffTurn | undefined {
  if (isAnswered || facts.finished || facts.lastUser < 0) return undefined;
  const cause = causeOf(facts);
  if (cause === undefined) return undefined;
  return { turn: facts.turn, cause, continued: facts.continuedTurn === facts.turn };
}

function causeOf(facts: Facts): string | undefined {
  const end = facts.lastRunEnd;
  const endSeq = end?.seq ?? -1;
  const start = facts.lastRunStart;
  if (start !== undefined && start.seq > endSeq && start.turn === facts.turn) return "killed";
  if (facts.lastUser > endSeq) return "not run";
  return end?.reason.startsWith("aborted:") ? end.reason : undefined;
}
