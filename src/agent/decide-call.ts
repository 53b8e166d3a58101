import type { AgentCore } from "./agent-core.js";
import type { Decision } from "./permissions.js";
import type { PreparedCall } from "./prepare-call.js";
import type { State } from "./state.js";

/** Asks the permissions in order; the first decision counts. A permission that throws refuses the call. */
export async function decideCall(
  agent: AgentCore,
  state: State,
  prepared: Exclude<PreparedCall, { problem: string }>,
  options: { readonly mayHaveRun?: boolean } = {},
): Promise<Decision> {
  const { call, tool, access, context } = prepared;
  for (const permission of agent.permissions) {
    const rules = state.permissions.filter((rule) => rule.cwd === context.cwd);
    const decision = await permission({
      call,
      tool,
      access,
      cwd: context.cwd,
      rules,
      signal: context.signal,
      ...options,
    });
    if (decision !== undefined) return decision;
  }
  return { allow: true };
}
