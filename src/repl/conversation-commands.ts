import { printableLine } from "../text/printable.js";
import type { Command } from "./commands.js";
import { count, type Display, line, problemLines, room, spans } from "./display.js";
import { callLines } from "./render-calls.js";
import { historyLines } from "./render-history.js";

const EXCHANGES = 10;
const CALLS = 20;

const rename: Command = {
  name: "rename",
  argument: "TEXT",
  help: "name this conversation",
  async run(context, argument) {
    await context.session.rename(argument);
    context.show([line(`this conversation is now "${printableLine(argument, 200)}"`, "dim")]);
  },
};

const model: Command = {
  name: "model",
  argument: "[NAME]",
  help: "show the model, or go on with another one (provider/name)",
  async run(context, argument) {
    if (argument === "") {
      context.show([line(`model ${printableLine(context.session.info.model, 200)}`)]);
      return;
    }
    await context.session.setModel(argument);
    context.show([line(`the next turn asks ${printableLine(context.session.info.model, 200)}`, "dim")]);
  },
};

const tools: Command = {
  name: "tools",
  help: "what the model may use, and what asks first",
  run(context) {
    const { tools: rows } = context.session;
    if (rows.length === 0) {
      context.show([line("no tools in this conversation", "dim")]);
      return;
    }
    const width = Math.max(...rows.map((tool) => tool.name.length));
    context.show(
      rows.map((tool) => {
        const runs = printableLine(tool.runs, 60);
        const description = printableLine(tool.description, room(context.columns, width + runs.length + 7));
        return spans(["cyan", `  ${tool.name.padEnd(width)}`], `  ${description}`, ["dim", `  ${runs}`]);
      }),
    );
  },
};

const history: Command = {
  name: "history",
  argument: "[N]",
  help: `the last N exchanges in full (${EXCHANGES} when N is not given)`,
  run(context, argument) {
    const n = argument === "" ? EXCHANGES : Number(argument);
    if (!Number.isSafeInteger(n) || n < 1) {
      context.show(problemLines(`:history cannot show ${printableLine(argument, 60)} exchanges`, "usage: :history 5"));
      return;
    }
    const shown = historyLines(context.session.history, { count: n, bounded: false, columns: context.columns });
    context.show(shown.length === 0 ? [line("nothing was said yet", "dim")] : shown);
  },
};

const usage: Command = {
  name: "usage",
  help: "tokens and requests so far",
  run(context) {
    const { usage: used } = context.session.info;
    const rows: Display[] = [line(`${count(used.requests, "request")} to the model`)];
    const tokens = [
      tokensOf(used.inputTokens, "in"),
      tokensOf(used.outputTokens, "out"),
      tokensOf(used.cachedInputTokens, "of the input from its cache"),
    ].filter((part) => part !== undefined);
    rows.push(line(tokens.length === 0 ? "the model does not count tokens" : `tokens: ${tokens.join(", ")}`));
    context.show(rows);
  },
};

function tokensOf(tokens: number | undefined, what: string): string | undefined {
  return tokens === undefined ? undefined : `${tokens.toLocaleString("en-US")} ${what}`;
}

const retry: Command = {
  name: "retry",
  help: "ask again after a turn that failed or was stopped",
  idleOnly: true,
  run(context) {
    context.start(context.session.retry());
  },
};

const calls: Command = {
  name: "calls",
  argument: "[N]",
  help: `the last N calls (${CALLS} when N is not given): what runs or ran, for how long, and how it ended`,
  run(context, argument) {
    const n = argument === "" ? CALLS : Number(argument);
    if (!Number.isSafeInteger(n) || n < 1) {
      context.show(problemLines(`:calls cannot show ${printableLine(argument, 60)} calls`, "usage: :calls 5"));
      return;
    }
    const rows = context.session.calls();
    const older = rows.slice(0, -n).filter((row) => row.state === "running");
    const shown = [...older, ...rows.slice(-n)];
    context.show(shown.length === 0 ? [line("nothing ran yet", "dim")] : callLines(shown, context.columns));
  },
};

export const conversationCommands: readonly Command[] = [rename, model, tools, calls, history, usage, retry];
