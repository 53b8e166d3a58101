import type { Sessions } from "../session/session.js";
import { printableLine } from "../text/printable.js";
import { COMMANDS, findCommand } from "./commands.js";
import type { Completion } from "./terminal.js";

/** What Tab may make of a line: a command's name, or the conversation it is about. */
export async function completeLine(line: string, sessions: Sessions): Promise<Completion> {
  if (/^:[a-z]*$/i.test(line)) {
    const hits = COMMANDS.map((command) => `:${command.name}${command.argument === undefined ? "" : " "}`);
    return { hits: hits.filter((hit) => hit.startsWith(line.toLowerCase())), word: line };
  }
  const argument = /^:([a-z]+)\s+(.*)$/i.exec(line);
  if (argument === null || findCommand((argument[1] ?? "").toLowerCase())?.completesState !== true) {
    return { hits: [], word: line };
  }
  const word = argument[2] ?? "";
  const rows = await sessions.list();
  const names = rows.flatMap((row) => (row.name === undefined ? [row.id] : [row.id, printableLine(row.name)]));
  return { hits: [...new Set(names)].filter((name) => name.startsWith(word)), word };
}
