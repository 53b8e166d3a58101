import type { Session } from "./session.js";
import type { SessionParts } from "./session-parts.js";

/** The tools without loading them: names and words only. */
export function toolLines(permissions: SessionParts["permissions"]): Session["tools"] {
  if (permissions.mode === "no-tools") return [];
  const lines = [
    ["bash", "run a shell command", false],
    ["read", "read a file", true],
    ["write", "write a file", false],
    ["edit", "change a file at one exact place", false],
    ["list", "list a folder", true],
    ["search", "search files for a pattern", true],
  ] as const;
  return lines.map(([name, description, reads]) => ({ name, description, runs: howItRuns(name, reads, permissions) }));
}

function howItRuns(name: string, reads: boolean, { mode, allow, deny }: SessionParts["permissions"]): string {
  if (deny.includes(name)) return "refused";
  if (allow.includes(name) || mode === "yes") return "runs";
  if (mode === "read-only") return reads ? "runs in the working folder" : "refused";
  const rest = mode === "refuse" ? "refused" : "asks";
  return reads ? `runs in the working folder, else ${rest}` : rest;
}
