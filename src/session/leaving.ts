import type { SessionInfo } from "./session.js";

/**
 * The last line for a person who leaves: how to go on. Where not all is on disk it does not promise that; undefined when
 * nothing is.
 */
export function leavingLine(info: SessionInfo, resumeCommand: (id: string) => string): string | undefined {
  const { id, saved, unsaved } = info;
  if (!saved) return undefined;
  const command = resumeCommand(id);
  return unsaved === undefined ? `To go on: ${command}` : `Only up to message ${unsaved.afterMessage}: ${command}`;
}
