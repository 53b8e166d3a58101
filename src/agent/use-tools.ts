import { problemOf } from "../errors.js";
import type { ModelCall } from "../model/model.js";
import type { AgentCore, StepOptions } from "./agent-core.js";
import { closeCall, closePending, notRun, resultHead } from "./close-call.js";
import { decideCall } from "./decide-call.js";
import { STOPPED } from "./entries.js";
import { orAborted } from "./grace.js";
import { endingOf } from "./interrupt.js";
import type { Decision } from "./permissions.js";
import { type PreparedCall, prepareCall } from "./prepare-call.js";
import { recoverCalls } from "./recover-calls.js";
import { fitting, type ResultBody, runCall } from "./run-call.js";
import { save, saveFailing } from "./save.js";
import type { State } from "./state.js";
import { beginStep } from "./step.js";

type ReadyCall = Exclude<PreparedCall, { problem: string }>;

/**
 * Runs every pending call. Permissions are asked one call after the other; a call that is allowed runs while the next is
 * asked about. Each start is durable before the call runs, each result as soon as it is there.
 *
 * @throws the store's error when something could not be saved; the signal's reason when it is aborted (every call is
 *   closed then)
 */
export async function useTools(agent: AgentCore, state: State, options: StepOptions = {}): Promise<void> {
  const signal = beginStep(agent, state, options);
  // A call of an earlier process is never just run: it may have run.
  if (state.openCalls.length > 0) await recoverCalls(agent, state, { signal });
  if (state.pendingCalls.length === 0) return save(agent, state, { signal });
  const calls = new Calls(agent, state, signal);
  await calls.run();
  agent.emitter.throwFailure();
}

/** The calls of one reply while they run. */
class Calls {
  readonly #agent: AgentCore;
  readonly #state: State;
  readonly #signal: AbortSignal;
  /** Allowed, and not started yet: those that are allowed in one go start together, with one save. */
  #ready: ReadyCall[] = [];
  readonly #running: Promise<void>[] = [];
  #startFailure: { readonly error: unknown } | undefined;

  constructor(agent: AgentCore, state: State, signal: AbortSignal) {
    this.#agent = agent;
    this.#state = state;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    try {
      await this.#startAll();
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    }
    await Promise.all(this.#running);
    await this.#end();
  }

  async #startAll(): Promise<void> {
    const { pendingCalls } = this.#state;
    const preparing = Promise.all(
      pendingCalls.map((call) => prepareCall(this.#agent, this.#state, call, this.#signal)),
    );
    for (const prepared of await orAborted(preparing, this.#signal)) {
      if (prepared.problem !== undefined) {
        this.#running.push(this.#close(errorResult(prepared.call, prepared.problem)));
        continue;
      }
      const decision = await this.#decide(prepared);
      if (decision.allow) this.#allow(prepared, decision);
      else this.#refuse(prepared, decision);
    }
    this.#startReady();
  }

  /** While a person thinks about one call, the ones allowed before it start. */
  async #decide(prepared: ReadyCall): Promise<Decision> {
    const deciding = decideCall(this.#agent, this.#state, prepared).catch(
      (error: unknown): Decision => ({ allow: false, reason: `asking for permission failed: ${problemOf(error)}` }),
    );
    const atOnce = await Promise.race([deciding, nextTick()]);
    if (atOnce === undefined) this.#startReady();
    return orAborted(deciding, this.#signal);
  }

  #allow(prepared: ReadyCall, decision: Extract<Decision, { allow: true }>): void {
    if (decision.remember !== undefined) this.#state.record({ kind: "permission", rule: decision.remember });
    this.#ready.push(prepared);
  }

  #refuse(prepared: ReadyCall, decision: Extract<Decision, { allow: false }>): void {
    const { call } = prepared;
    const text = `(refused: ${decision.reason})`;
    if (decision.stop === true) this.#state.stopBy(STOPPED.denied);
    this.#running.push(this.#close({ ...resultHead(call), text, isError: true, outcome: "refused" }));
  }

  #startReady(): void {
    const ready = this.#ready;
    this.#ready = [];
    if (ready.length > 0) this.#running.push(this.#start(ready));
  }

  async #start(ready: readonly ReadyCall[]): Promise<void> {
    const boot = this.#agent.boot === undefined ? {} : { boot: this.#agent.boot.id };
    for (const { call } of ready) {
      this.#state.record({ kind: "call_started", callId: call.id, name: call.name, ...boot });
    }
    let runnable = ready;
    try {
      await save(this.#agent, this.#state, { signal: this.#signal, mustBeDurable: true });
    } catch (error) {
      runnable = this.#withoutStart(ready, error);
    }
    await Promise.all(runnable.map((prepared) => this.#runOne(prepared)));
  }

  /**
   * A call whose start is not durable must not run: after a crash nobody would know that it did. Where the turn goes on
   * without saves, those that only read may. Returns what runs; the rest gets its result.
   */
  #withoutStart(ready: readonly ReadyCall[], error: unknown): readonly ReadyCall[] {
    const { aborted, reason } = this.#signal;
    const goesOn = !aborted && this.#agent.onSaveFailed === "continue";
    if (!goesOn) this.#startFailure ??= { error };
    let why = "saving failed before this call started";
    if (aborted) why = endingOf(reason).text;
    else if (goesOn) why = "the conversation cannot be saved now, so only tools that read may run. Tell the person";
    const reads = goesOn ? ready.filter(({ access }) => access?.action === "read") : [];
    for (const prepared of ready) if (!reads.includes(prepared)) this.#record(notRun(prepared.call, why));
    return reads;
  }

  async #runOne(prepared: ReadyCall): Promise<void> {
    const { call } = prepared;
    if (this.#signal.aborted) return this.#close(notRun(call, endingOf(this.#signal.reason).text));
    this.#agent.emitter.emit({ type: "call_started", call });
    const result = await runCall(this.#agent, prepared, this.#signal);
    if (result !== undefined) await this.#close(result);
  }

  /** Records a result and saves it at once. A save that fails stops no other call: the end writes what is missing. */
  async #close(result: ResultBody): Promise<void> {
    await closeCall(this.#agent, this.#state, result, this.#signal);
  }

  #record(result: ResultBody): void {
    this.#state.record(result);
    this.#agent.emitter.emit({ type: "call_result", callId: result.callId, name: result.name, result });
  }

  async #end(): Promise<void> {
    if (this.#signal.aborted) {
      const { reason } = this.#signal;
      closePending(this.#agent, this.#state, endingOf(reason));
      await saveFailing(this.#agent, this.#state, reason);
      throw reason;
    }
    if (this.#startFailure !== undefined) {
      const { error } = this.#startFailure;
      await saveFailing(this.#agent, this.#state, error);
      throw error;
    }
    await save(this.#agent, this.#state, { signal: this.#signal });
  }
}

function errorResult(call: ModelCall, text: string): ResultBody {
  return { ...resultHead(call), ...fitting({ text }), isError: true, outcome: "error" };
}

/** Resolves after everything that could be decided without waiting for anybody. */
function nextTick(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(() => resolve(undefined)));
}
