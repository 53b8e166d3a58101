import { hasCode } from "../errors.js";
import type { SavedState } from "../store/store.js";
import { printableLine } from "../text/printable.js";
import { isYes } from "./answer.js";
import type { Command, CommandContext } from "./commands.js";
import { count, line, problemLines, spans, titleOf } from "./display.js";
import { stateLine } from "./render-state.js";

const list: Command = {
  name: "list",
  help: "the saved conversations, most recently updated first",
  async run(context) {
    const rows = await context.sessions.list();
    if (rows.length === 0) {
      context.show([line("nothing is saved yet: the first message begins a conversation", "dim")]);
      return;
    }
    const { columns } = context;
    const now = context.now();
    const openId = context.session.info.id;
    context.show(rows.map((row) => stateLine(row, { open: row.id === openId, columns, now })));
  },
};

const resume: Command = {
  name: "resume",
  argument: "[ID]",
  help: "go on with another conversation (id, start of an id, or name)",
  idleOnly: true,
  completesState: true,
  async run(context, argument) {
    const saved = argument === "" ? await latestOther(context) : await context.sessions.find(argument);
    if (saved === undefined) {
      context.show(problemLines("there is no other conversation", ":list shows what is saved"));
      return;
    }
    if (saved.id === context.session.info.id) {
      context.show([line("this conversation is open already", "dim")]);
      return;
    }
    // Opened before the current one is closed: when it cannot be, we are still where we were.
    await context.open(await context.sessions.resume(saved.id));
  },
};

async function latestOther(context: CommandContext): Promise<SavedState | undefined> {
  const rows = await context.sessions.list();
  return rows.find((row) => row.id !== context.session.info.id && row.problem === undefined);
}

const begin: Command = {
  name: "new",
  help: "begin a new conversation",
  idleOnly: true,
  async run(context) {
    await context.open(await context.sessions.create());
  },
};

const remove: Command = {
  name: "delete",
  argument: "ID",
  help: "delete a conversation (asks first)",
  completesState: true,
  async run(context, argument) {
    const saved = await findAny(context, argument);
    const isOpen = saved.id === context.session.info.id;
    if (isOpen && context.session.info.busy) {
      context.show(problemLines(":delete has to wait until the turn has ended", "Ctrl+C stops the turn"));
      return;
    }
    const title = titleOf(saved.name, saved.task, 60);
    const what = spans("delete ", ["bold", saved.id], ` "${title}"${isOpen ? ", the open conversation" : ""}`);
    const running = await context.sessions.runningIn(saved.id);
    const ended = running.map((command) => line(`  this still runs and will be ended: ${printableLine(command, 200)}`));
    if (!isYes(await context.ask([what, ...ended], "Delete it for good? [y]es, [N]o > "))) {
      context.show([line("not deleted", "dim")]);
      return;
    }
    // Its lock is ours: let go of it first.
    if (isOpen) await context.open(await context.sessions.create());
    const deleted = await context.sessions.delete(saved.id);
    context.show([line(`deleted ${deleted.id} (${count(deleted.historyLength, "entry", "entries")})`, "dim")]);
  },
};

/** Also a damaged one, which can be deleted though not resumed. */
async function findAny(context: CommandContext, ref: string): Promise<SavedState> {
  try {
    return await context.sessions.find(ref);
  } catch (error) {
    const damaged = hasCode(error, "STATE_DAMAGED") ? await context.sessions.list() : [];
    const row = damaged.find((saved) => saved.id === ref);
    if (row === undefined) throw error;
    return row;
  }
}

export const stateCommands: readonly Command[] = [list, resume, begin, remove];
