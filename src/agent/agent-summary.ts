import { createHash } from "node:crypto";
import type { AgentCore } from "./agent-core.js";
import { bindingOf } from "./binding.js";
import type { AgentSummary } from "./entries.js";
import type { State } from "./state.js";

export function summaryOf(agent: AgentCore): AgentSummary {
  return {
    name: agent.name,
    model: agent.modelName,
    systemHash: createHash("sha256")
      .update(agent.system ?? "")
      .digest("hex")
      .slice(0, 16),
    tools: agent.tools.map((tool) => tool.name).sort(),
  };
}

/**
 * Tells, once, that another agent resumes a loaded State than the one that ran it last. A listener that throws keeps the
 * run from starting.
 */
export function compareAgent(agent: AgentCore, state: State): void {
  const binding = bindingOf(state);
  if (!state.isLoaded || binding.isAgentCompared) return;
  const changes = state.agent === undefined ? {} : changesBetween(state.agent, summaryOf(agent));
  const parts = Object.entries(changes).map(([part, [saved, current]]) =>
    part === "system" ? "the system prompt is changed" : `${part} was ${saved}, is ${current}`,
  );
  if (parts.length > 0) {
    const message = `conversation ${state.id} was saved by another agent: ${parts.join("; ")}`;
    agent.emitter.emit({ type: "agent_changed", changes, message });
    agent.emitter.throwFailure();
  }
  binding.isAgentCompared = true;
}

function changesBetween(saved: AgentSummary, current: AgentSummary): Record<string, readonly [string, string]> {
  const changes: Record<string, readonly [string, string]> = {};
  if (saved.name !== current.name) changes.name = [shown(saved.name), shown(current.name)];
  if (saved.model !== current.model) changes.model = [shown(saved.model), shown(current.model)];
  if (saved.systemHash !== current.systemHash) changes.system = ["saved", "changed"];
  const tools: readonly [string, string] = [saved.tools.join(", "), current.tools.join(", ")];
  if (tools[0] !== tools[1]) changes.tools = [shown(tools[0]), shown(tools[1])];
  return changes;
}

function shown(text: string): string {
  return text === "" ? "(none)" : text;
}
