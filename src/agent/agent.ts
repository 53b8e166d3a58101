import { PerdureError } from "../errors.js";
import type { JsonValue } from "../json.js";
import type { Model } from "../model/model.js";
import type { Store } from "../store/store.js";
import type { AgentCore, BootIdentity, StepOptions } from "./agent-core.js";
import { type AskOptions, ask } from "./ask.js";
import { type Clock, systemClock } from "./clock.js";
import { compact } from "./compact.js";
import { Emitter } from "./emitter.js";
import type { AgentListener } from "./events.js";
import { defaultLoop, type LoopFunction } from "./loop.js";
import type { Permission } from "./permissions.js";
import { recoverCalls } from "./recover-calls.js";
import { run } from "./run.js";
import { release, save } from "./save.js";
import { State } from "./state.js";
import { alone } from "./step.js";
import { think } from "./think.js";
import type { StandardSchema, Tool } from "./tool.js";
import { useTools } from "./use-tools.js";
import { workingFolder } from "./working-folder.js";

export interface AgentOptions {
  /** A model, or its name (`anthropic/claude-sonnet-4-5`), which is opened at the first request. */
  readonly model: Model | string;
  readonly system?: string | undefined;
  readonly tools?: readonly Tool[] | undefined;
  /** Every State this agent works on is saved there as it goes. */
  readonly store?: Store | undefined;
  /**
   * throw (default): a failed save ends the step with the store's error. continue: the step goes on in memory, `save_failed`
   * tells of it and each later save tries again, of everything that is missing; calls whose start is not durable do not
   * run, except those whose `access` says that they only read.
   */
  readonly onSaveFailed?: "throw" | "continue" | undefined;
  /** For the summary that tells agents apart. */
  readonly name?: string | undefined;
  /** Asked in order before a call runs; the first decision counts. */
  readonly permissions?: readonly Permission[] | undefined;
  readonly loop?: LoopFunction | undefined;
  readonly onEvent?: AgentListener | undefined;
  readonly clock?: Clock | undefined;
  /** Where tools work. Default: the folder recorded in the State, else the current one. */
  readonly context?:
    | {
        readonly cwd?: string;
        outputPath?(callId: string): string | undefined;
        /** Recorded with each start of a call, for {@link Agent.recover}. */
        readonly boot?: BootIdentity;
      }
    | undefined;
}

/** Works on States: asks the model, runs tools, saves. It keeps nothing of a conversation itself. */
export class Agent implements AgentCore {
  readonly name: string;
  readonly system: string | undefined;
  readonly tools: readonly Tool[];
  readonly permissions: readonly Permission[];
  readonly store: Store | undefined;
  readonly onSaveFailed: "throw" | "continue";
  readonly loop: LoopFunction;
  readonly clock: Clock;
  readonly emitter: Emitter;
  readonly #options: AgentOptions;
  #model: Promise<Model> | undefined;

  /** @throws {PerdureError} TOOL_NAME_TAKEN, TOOL_NAME_INVALID */
  constructor(options: AgentOptions) {
    this.#options = options;
    this.name = options.name ?? "agent";
    this.system = options.system;
    this.tools = options.tools ?? [];
    this.permissions = options.permissions ?? [];
    this.store = options.store;
    this.onSaveFailed = options.onSaveFailed ?? "throw";
    this.loop = options.loop ?? defaultLoop;
    this.clock = options.clock ?? systemClock;
    this.emitter = new Emitter(options.onEvent);
    checkToolNames(this.tools);
  }

  /**
   * Works on the State (or on a new one with this message) until the loop stops, and saves it at the start, at the end
   * and after every step.
   *
   * @returns the answer, or undefined when there is none
   * @throws {PerdureError} STATE_FINISHED, STATE_BUSY, STATE_EXISTS, STATE_LOCKED, STATE_OTHER_STORE, MODEL_*; the store's
   *   errors; the signal's reason when it is aborted
   */
  async run(stateOrText: State | string, options: StepOptions = {}): Promise<JsonValue | undefined> {
    const state = typeof stateOrText === "string" ? new State(stateOrText, { clock: this.clock }) : stateOrText;
    return run(this, state, this.loop, options);
  }

  /** Asks the model once. Saved before and after. */
  think(state: State, options: StepOptions & { readonly tools?: readonly Tool[] } = {}): Promise<void> {
    return alone(state, () => think(this, state, options));
  }

  /** Runs every pending call. Each start and each result is saved at once. */
  useTools(state: State, options: StepOptions = {}): Promise<void> {
    return alone(state, () => useTools(this, state, options));
  }

  /**
   * Finds out what became of the calls that an earlier process left open ({@link State.openCalls}): each gets its result, as
   * it comes, saved at once. Calls that still run are waited for. `run` does this first.
   *
   * @throws the store's errors; the signal's reason when it is aborted
   */
  recover(state: State, options: StepOptions = {}): Promise<void> {
    return alone(state, () => recoverCalls(this, state, options));
  }

  /** Replaces the older part of the context by a summary; false when there is nothing to summarise. Saved. */
  compact(state: State, options: StepOptions = {}): Promise<boolean> {
    return alone(state, () => compact(this, state, options));
  }

  /** Asks about the conversation, beside it: a value of the schema's type, or text without one. Saved. */
  ask<T>(state: State, prompt: string, options: AskOptions<T> & { readonly schema: StandardSchema<T> }): Promise<T>;
  ask(state: State, prompt: string, options?: StepOptions): Promise<string>;
  ask<T>(state: State, prompt: string, options: AskOptions<T> = {}): Promise<T | string> {
    return ask(this, state, prompt, options);
  }

  /** Saves what the store does not have yet, nothing when nothing changed. Durable on return. */
  async save(state: State, options: StepOptions = {}): Promise<void> {
    await save(this, state, { snapshot: true, ...options });
    this.emitter.throwFailure();
  }

  /** Gives back the store's lock on this conversation, after the saves that are under way. */
  release(state: State): Promise<void> {
    return release(state);
  }

  /** The same agent with some options changed. */
  copy(changes: Partial<AgentOptions>): Agent {
    return new Agent({ ...this.#options, ...changes });
  }

  get modelName(): string {
    const { model } = this.#options;
    return typeof model === "string" ? model : model.name;
  }

  openModel(): Promise<Model> {
    const { model } = this.#options;
    if (typeof model !== "string") return Promise.resolve(model);
    // A failure is not kept: a key may be set meanwhile.
    this.#model ??= openByName(model).catch((error: unknown) => {
      this.#model = undefined;
      throw error;
    });
    return this.#model;
  }

  cwdOf(state: State): string {
    return this.#options.context?.cwd ?? state.cwd ?? workingFolder();
  }

  get boot(): BootIdentity | undefined {
    return this.#options.context?.boot;
  }

  outputPathOf(callId: string): string | undefined {
    return this.#options.context?.outputPath?.(callId);
  }
}

async function openByName(name: string): Promise<Model> {
  const { openModel } = await import("../model/open-model.js");
  return openModel(name);
}

function checkToolNames(tools: readonly Tool[]): void {
  const names = new Set<string>();
  for (const { name } of tools) {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
      throw new PerdureError({
        code: "TOOL_NAME_INVALID",
        problem: `${JSON.stringify(name)} is not a name of a tool`,
        fix: "use 1 to 64 letters, digits, _ and -",
        example: "read_file",
      });
    }
    if (names.has(name)) {
      throw new PerdureError({
        code: "TOOL_NAME_TAKEN",
        problem: `two tools are named ${name}`,
        fix: "rename one of them",
      });
    }
    names.add(name);
  }
}
