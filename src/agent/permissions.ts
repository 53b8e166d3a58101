import type { ModelCall } from "../model/model.js";
import type { PermissionRule } from "./entries.js";
import type { Tool, ToolAccess } from "./tool.js";

/** What a permission says of one call. `stop` ends the run before its next step, as a person's plain no may. */
export type Decision =
  | { readonly allow: true; readonly remember?: PermissionRule }
  | { readonly allow: false; readonly reason: string; readonly stop?: boolean };

export interface PermissionRequest {
  readonly call: ModelCall;
  readonly tool: Tool;
  /** Undefined for a tool that does not say what it does. */
  readonly access: ToolAccess | undefined;
  readonly cwd: string;
  /** Rules given in this conversation and still valid in this folder. */
  readonly rules: readonly PermissionRule[];
  readonly signal: AbortSignal;
  /** The call was allowed before, and may have run: only a person can say that it is to run once more. */
  readonly mayHaveRun?: boolean;
}

/** Decides before a call starts. Asked in order; the first that returns a decision decides; none: the call runs. */
export type Permission = (request: PermissionRequest) => Decision | undefined | Promise<Decision | undefined>;
