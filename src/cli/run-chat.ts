import { PerdureError } from "../errors.js";
import { parseModelName } from "../model/model-name.js";
import { LocalSessions } from "../session/local-sessions.js";
import type { Session } from "../session/session.js";
import type { SessionParts } from "../session/session-parts.js";
import { FileStore } from "../store/file-store.js";
import type { ChatArguments } from "./arguments.js";
import { readConfig } from "./config.js";
import { EndSignals } from "./end-signals.js";
import { folders } from "./folders.js";
import { NO_LOCK_WARNING, withOffers } from "./locked.js";
import { checkWritable } from "./make-folder.js";
import { ModelChoice } from "./model-choice.js";
import { systemPrompt } from "./system-prompt.js";
import { readSystemText } from "./system-text.js";
import { shellWord, usageError } from "./usage-error.js";
import { version } from "./version.js";
import { workingFolder } from "./working-folder.js";

/** Puts the parts of a conversation together and drives it, on a terminal or without one. Resolves with the exit code. */
export async function runChat(args: ChatArguments): Promise<number> {
  if (!args.print) return converse(args);
  try {
    return await converse(args);
  } catch (error) {
    // Who reads a stream waits for its `result`, also when there was no conversation to talk in.
    const { printFailure } = await import("./print.js");
    return printFailure(error, { format: args.outputFormat, stdout: process.stdout, stderr: process.stderr });
  }
}

async function converse(args: ChatArguments): Promise<number> {
  const { env, platform } = process;
  if (args.model !== undefined) checkModelName(args.model);
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const interactive = isTerminal && !args.print;
  const places = folders(env, platform, args.store);
  const work = workingFolder(args.cwd, env.HOME);
  const system = args.system === undefined ? undefined : await readSystemText(args.system);
  const config = readConfig(places.config);
  await checkWritable(places.store);
  if (args.noLock) process.stderr.write(`${NO_LOCK_WARNING}\n`);
  const models = new ModelChoice({ args, env, interactive, configFolder: places.config });

  const parts: SessionParts = {
    store: new FileStore(places.store, args.noLock ? { lock: "none" } : {}),
    modelFor: (recorded) => models.choose(recorded),
    openModel: async (name) => {
      const { openModel } = await import("../model/open-model.js");
      return openModel(name, { env, ...(args.baseUrl === undefined ? {} : { baseUrl: args.baseUrl }) });
    },
    system: (cwd, tools) => system ?? systemPrompt({ cwd, platform, tools }),
    cwd: work.cwd,
    cwdGiven: args.cwd !== undefined,
    env,
    name: args.start.kind === "new" ? args.name : undefined,
    hangup: config.hangup,
    permissions: {
      mode: permissionMode(args, interactive),
      allow: args.permissions.allow,
      deny: args.permissions.deny,
    },
    explain: (error) => withOffers(error, args.store),
  };

  const sessions = new LocalSessions(parts);
  const message = await messageOf(args);
  if (args.print && args.start.kind === "fork" && message === undefined) {
    throw usageError("-p with --fork needs a message", "give one", 'chat --fork k7f2 -p "and now?"');
  }
  const session = await open(sessions, args);
  const resumed = args.start.kind !== "new";
  const command = (id: string) => resumeCommand(id, args.store);

  if (interactive) {
    const { startRepl } = await import("../repl/repl.js");
    const repl = startRepl({
      sessions,
      session,
      input: process.stdin,
      output: process.stdout,
      ...(message === undefined ? {} : { firstMessage: message }),
      resumed,
      wait: args.wait,
      banner: [
        `perdure ${version()} · ${session.info.model} · ${session.info.cwd} · :help for commands`,
        ...models.notices,
        ...(work.notice === undefined ? [] : [work.notice]),
      ],
      version: version(),
      historyPath: places.inputHistory,
      resumeCommand: command,
    });
    const signals = new EndSignals({
      session: () => repl.session,
      restore: () => repl.restore(),
      resumeCommand: command,
    });
    const end = await repl.done;
    signals.dispose();
    return signals.exitCode ?? end.exitCode;
  }
  for (const notice of [...models.notices, ...(work.notice === undefined ? [] : [work.notice])]) {
    process.stderr.write(`chat: ${notice}\n`);
  }
  const signals = new EndSignals({ session: () => session, restore: () => undefined, resumeCommand: command });
  try {
    const exitCode = await withoutTerminal(args, sessions, session, message, resumed);
    return signals.exitCode ?? exitCode;
  } finally {
    signals.dispose();
  }
}

function open(sessions: LocalSessions, { start, name }: ChatArguments): Promise<Session> {
  if (start.kind === "new") return sessions.create();
  return start.kind === "fork" ? sessions.fork(start.ref, name) : sessions.resume(start.ref);
}

async function withoutTerminal(
  args: ChatArguments,
  sessions: LocalSessions,
  session: Session,
  message: string | undefined,
  resumed: boolean,
): Promise<number> {
  const { stdin: input, stdout, stderr } = process;
  if (args.print) {
    const { runPrint } = await import("./print.js");
    return runPrint({
      session,
      message,
      resumed,
      wait: args.wait,
      format: args.outputFormat,
      stdout,
      stderr,
      resumeCommand: (id) => resumeCommand(id, args.store),
    });
  }
  const { runLines } = await import("../repl/lines.js");
  return runLines({
    session,
    sessions,
    input,
    output: stdout,
    errorOutput: stderr,
    resumeCommand: (id) => resumeCommand(id, args.store),
    version: version(),
    ...(message === undefined ? {} : { firstMessage: message }),
    resumed,
    wait: args.wait,
  });
}

/** @throws PerdureError USAGE: a provider that does not exist is known to be wrong before anything is opened */
function checkModelName(name: string): void {
  try {
    parseModelName(name);
  } catch (error) {
    if (!(error instanceof PerdureError)) throw error;
    throw usageError(`--model: ${error.problem}`, error.fix, `chat ${error.example ?? "-m offline"}`);
  }
}

async function messageOf(args: ChatArguments): Promise<string | undefined> {
  if (!args.print) return args.message;
  const { printMessage } = await import("./read-stdin.js");
  return printMessage(args.message, process.stdin);
}

function permissionMode(args: ChatArguments, interactive: boolean): SessionParts["permissions"]["mode"] {
  const { yes, readOnly, noTools } = args.permissions;
  if (noTools) return "no-tools";
  if (readOnly) return "read-only";
  if (yes) return "yes";
  return interactive ? "ask" : "refuse";
}

function resumeCommand(id: string, store: string | undefined): string {
  return store === undefined ? `chat --resume ${id}` : `chat --store ${shellWord(store)} --resume ${id}`;
}
