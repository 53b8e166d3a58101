import { dirname } from "node:path";
import type { BootIdentity } from "../agent/agent-core.js";
import type { RecoverContext, Tool, ToolContext } from "../agent/tool.js";
import { keyVariables, redactKeys } from "../model/default-models.js";
import type { LocalRunner } from "../runner/local-runner.js";
import type { SessionParts } from "./session-parts.js";

/** The tools of a conversation and the runner under them. */
export interface Toolbox {
  readonly runner: LocalRunner;
  readonly tools: readonly Tool[];
  /** All there are, also where none may run: for calls that an earlier process made. */
  readonly everyTool: readonly Tool[];
  readonly boot: BootIdentity;
  /** The folder of a call or a `!command`. */
  callFolder(callId: string): string;
  readonly environment: Record<string, string>;
}

/** Loads the tools (zod and all): at the first turn or command, never before the prompt. */
export async function openToolbox(
  parts: SessionParts,
  stateId: string,
  callPath: (callId: string) => string,
): Promise<Toolbox> {
  const [{ LocalRunner, bootId, isSameBoot, toolEnvironment }, { builtinTools }] = await Promise.all([
    import("../runner/local-runner.js"),
    import("../tools/index.js"),
  ]);
  const runner = new LocalRunner();
  const environment = { ...toolEnvironment(parts.env, keyVariables), CHAT_CONVERSATION: stateId };
  const everyTool = builtinTools({ runner, env: environment }).map((tool) => withoutKeys(tool, parts.env));
  return {
    runner,
    environment,
    everyTool,
    tools: parts.permissions.mode === "no-tools" ? [] : everyTool,
    boot: { id: bootId(), isSame: isSameBoot },
    callFolder: (callId) => dirname(callPath(callId)),
  };
}

/**
 * A tool whose text never holds a provider's key: the environment of its commands has none, but a command may still find
 * one (in a file, in /proc), and history keeps what it prints.
 */
function withoutKeys(tool: Tool, env: SessionParts["env"]): Tool {
  const quiet = <C extends ToolContext>(context: C): C => ({
    ...context,
    onOutput: (chunk: string) => context.onOutput(redactKeys(chunk, env)),
  });
  const recover = tool.recover?.bind(tool);
  return {
    ...tool,
    async run(input, context) {
      const output = await tool.run(input, quiet(context));
      return { ...output, text: redactKeys(output.text, env) };
    },
    ...(recover === undefined
      ? {}
      : {
          async recover(input: unknown, context: RecoverContext) {
            const found = await recover(input, quiet(context));
            return typeof found === "object" && "text" in found
              ? { ...found, text: redactKeys(found.text, env) }
              : found;
          },
        }),
  };
}
