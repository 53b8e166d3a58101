import type { Model } from "../model/model.js";
import type { Store } from "../store/store.js";
import type { Clock } from "./clock.js";
import type { Emitter } from "./emitter.js";
import type { Permission } from "./permissions.js";
import type { State } from "./state.js";
import type { Tool } from "./tool.js";

/** What the steps need of an Agent. */
export interface AgentCore {
  readonly name: string;
  readonly system: string | undefined;
  readonly tools: readonly Tool[];
  readonly permissions: readonly Permission[];
  readonly store: Store | undefined;
  /** What a step does when a save fails: see AgentOptions. */
  readonly onSaveFailed: "throw" | "continue";
  readonly clock: Clock;
  readonly emitter: Emitter;
  /** As given: a string is opened at the first request. */
  readonly modelName: string;
  openModel(): Promise<Model>;
  cwdOf(state: State): string;
  outputPathOf(callId: string): string | undefined;
  readonly boot: BootIdentity | undefined;
}

/** Tells runs of the machine apart. */
export interface BootIdentity {
  readonly id: string;
  isSame(id: string): boolean;
}

export interface StepOptions {
  /** Default: the signal of the run that is under way. */
  readonly signal?: AbortSignal | undefined;
}
