import type { Tool } from "../agent/tool.js";
import { keyVariables, redactKeys } from "../model/default-models.js";
import type { LocalRunner } from "../runner/local-runner.js";
import type { SessionParts } from "./session-parts.js";

/** The tools of a conversation and the runner under them. */
export interface Toolbox {
  readonly runner: LocalRunner;
  readonly tools: readonly Tool[];
  readonly environment: Record<string, string>;
}

/** Loads the tools (zod, execa and all): at the first turn or command, never before the prompt. */
export async function openToolbox(parts: SessionParts, stateId: string): Promise<Toolbox> {
  const [{ LocalRunner, toolEnvironment }, { builtinTools }] = await Promise.all([
    import("../runner/local-runner.js"),
    import("../tools/index.js"),
  ]);
  const runner = new LocalRunner();
  const environment = { ...toolEnvironment(parts.env, keyVariables), CHAT_CONVERSATION: stateId };
  const tools = parts.permissions.mode === "no-tools" ? [] : builtinTools({ runner, env: environment });
  return { runner, environment, tools: tools.map((tool) => withoutKeys(tool, parts.env)) };
}

/**
 * A tool whose text never holds a provider's key: the environment of its commands has none, but a command may still find
 * one (in a file, in /proc), and history keeps what it prints.
 */
function withoutKeys(tool: Tool, env: SessionParts["env"]): Tool {
  return {
    ...tool,
    async run(input, context) {
      const output = await tool.run(input, {
        ...context,
        onOutput: (chunk) => context.onOutput(redactKeys(chunk, env)),
      });
      return { ...output, text: redactKeys(output.text, env) };
    },
  };
}
