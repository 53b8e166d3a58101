import { stat } from "node:fs/promises";
import { STOPPED } from "../agent/entries.js";
import type { State } from "../agent/state.js";
import { printableLine } from "../text/printable.js";
import type { SessionParts } from "./session-parts.js";

/** Where a resumed conversation works, and what its person should know before going on. */
export interface ResumeView {
  readonly cwd: string;
  readonly notices: readonly string[];
}

export async function resumeView(state: State, parts: SessionParts): Promise<ResumeView> {
  // The problem names its line.
  const notices = state.damage.map(({ path, problem }) => `${printableLine(path)}: ${printableLine(problem)}`);
  // Results that loading added: calls that were open when the process stopped.
  for (const entry of state.history.slice(state.savedLength)) {
    if (entry.kind === "result") notices.push(`${entry.name}: ${printableLine(entry.text)}`);
    else if (entry.kind === "notice") notices.push(printableLine(entry.text));
  }
  const last = state.history.at(-1)?.kind === "renamed" ? state.history.at(-2) : state.history.at(-1);
  if (last?.kind === "forked") {
    notices.push(`this is a copy of ${printableLine(last.from, 128)}, which goes its own way from here on`);
    if (state.stoppedBy === STOPPED.forked)
      notices.push("the turn that was running there does not go on here by itself; :retry asks again");
  }
  return { cwd: await workingFolder(state, parts, notices), notices };
}

async function workingFolder(state: State, parts: SessionParts, notices: string[]): Promise<string> {
  const recorded = state.cwd;
  if (parts.cwdGiven || recorded === undefined || recorded === parts.cwd) return parts.cwd;
  if (await isFolder(recorded)) return recorded;
  notices.push(
    `the folder of this conversation is gone (${printableLine(recorded)}): tools work in ${printableLine(parts.cwd)}, and permissions are asked anew`,
  );
  return parts.cwd;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false; // Gone, or not reachable: the same for somebody who wants to work in it.
  }
}
