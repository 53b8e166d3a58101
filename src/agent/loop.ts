import { PerdureError } from "../errors.js";
import type { Agent } from "./agent.js";
import { STOPPED } from "./entries.js";
import type { State } from "./state.js";

/** True when the loop is to stop. Its name becomes `state.stoppedBy`. */
export type Until = (state: State) => boolean | Promise<boolean>;

export interface LoopOptions {
  /** One function or several: the first that says so stops the loop. */
  readonly until: Until | readonly Until[];
  /** The most rounds of the body in one run. */
  readonly limit: number;
}

/** One round: usually `think`, then `useTools`. Steps stop with the signal of the run. */
export type LoopBody = (agent: Agent, state: State) => void | Promise<void>;

/** Any function of this shape drives a run; {@link loop} makes one with the usual checks. */
export type LoopFunction = (agent: Agent, state: State) => void | Promise<void>;

export interface Loop {
  (agent: Agent, state: State): Promise<void>;
  readonly until: readonly Until[];
  readonly limit: number;
  /** The reason to stop before the first round, if there is one. */
  stopsNow(state: State): Promise<string | undefined>;
  copy(changes: Partial<LoopOptions>): Loop;
}

/**
 * Makes a loop. Before each round it checks, in this order: whether the State is finished or a refusal ended the run,
 * `until`, `limit`.
 *
 * @throws {PerdureError} LOOP_OPTIONS
 */
export function loop(options: LoopOptions, body: LoopBody): Loop {
  const until: readonly Until[] = typeof options.until === "function" ? [options.until] : [...(options.until ?? [])];
  const { limit } = options;
  checkOptions(until, limit);
  const run = async (agent: Agent, state: State): Promise<void> => {
    // A refusal of an earlier run does not stop this one.
    if (!state.isRunning) state.stopBy(undefined);
    for (let round = 0; ; round += 1) {
      const reason = (await stopReason(state, until)) ?? (round >= limit ? STOPPED.limit : undefined);
      if (reason !== undefined) return state.stopBy(reason);
      await body(agent, state);
    }
  };
  return Object.assign(run, {
    until,
    limit,
    stopsNow: (state: State) => stopReason(state, until),
    copy: (changes: Partial<LoopOptions>) => loop({ until, limit, ...changes }, body),
  });
}

/** The model has answered, and nothing that asks for more came after it. */
export function answered(state: State): boolean {
  return state.isAnswered();
}

/** Think, then run the tools the model called, until it has answered: at most 100 rounds. */
export const defaultLoop: Loop = loop({ until: answered, limit: 100 }, async (agent, state) => {
  if (!state.wantsTools()) await agent.think(state);
  if (state.wantsTools()) await agent.useTools(state);
});

/** The function as what {@link loop} makes, when it is one. */
export function asLoop(value: LoopFunction): Loop | undefined {
  return "stopsNow" in value ? (value as Loop) : undefined;
}

async function stopReason(state: State, until: readonly Until[]): Promise<string | undefined> {
  if (state.finished) return STOPPED.finish;
  if (state.stoppedBy === STOPPED.denied) return STOPPED.denied;
  for (const stops of until) if (await stops(state)) return stops.name === "" ? "until" : stops.name;
  return undefined;
}

function checkOptions(until: readonly Until[], limit: number): void {
  const problem =
    until.length === 0 || until.some((stops) => typeof stops !== "function")
      ? "a loop needs until: a function of the State, or several"
      : !Number.isInteger(limit) || limit < 1
        ? `a loop needs limit: a whole number of rounds, at least 1, not ${String(limit)}`
        : undefined;
  if (problem === undefined) return;
  throw new PerdureError({
    code: "LOOP_OPTIONS",
    problem,
    fix: "give both",
    example: "loop({ until: answered, limit: 30 }, async (agent, state) => { await agent.think(state); })",
  });
}
