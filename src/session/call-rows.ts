import type { HistoryEntry } from "../agent/entries.js";
import { isReplayable } from "../agent/entry-check.js";
import type { ModelCall } from "../model/model.js";
import type { CallRow } from "./session.js";

/** The calls that started, and the person's own commands, as the history tells of them. */
export function callRows(history: readonly HistoryEntry[], now: number): CallRow[] {
  const rows = new Map<string, CallRow>();
  const calls = new Map<string, ModelCall>();
  for (const entry of history) {
    if (!isReplayable(entry)) continue;
    switch (entry.kind) {
      case "reply":
        for (const call of entry.calls) calls.set(call.id, call);
        break;
      case "call_started": {
        const input = calls.get(entry.callId)?.input ?? null;
        rows.set(entry.callId, running(entry.callId, entry.name, input, entry.at, now));
        break;
      }
      case "shell_started":
        rows.set(entry.callId, running(entry.callId, "!", { command: entry.command }, entry.at, now));
        break;
      case "result": {
        const row = rows.get(entry.callId);
        if (row === undefined) break;
        const { outcome: state, durationMs, exitCode } = entry;
        rows.set(entry.callId, { ...row, state, durationMs, exitCode });
        break;
      }
      case "shell": {
        const id = entry.callId ?? `shell_${entry.seq}`;
        const { exitCode, durationMs } = entry;
        const state = entry.outcome ?? (exitCode === 0 ? "ok" : "error");
        rows.set(id, { id, name: "!", input: { command: entry.command }, state, durationMs, exitCode });
        break;
      }
      default:
        break;
    }
  }
  return [...rows.values()];
}

function running(id: string, name: string, input: CallRow["input"], at: string, now: number): CallRow {
  const durationMs = Math.max(0, now - Date.parse(at));
  return { id, name, input, state: "running", durationMs, exitCode: undefined };
}
