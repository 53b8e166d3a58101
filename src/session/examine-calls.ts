import fs from "node:fs";
import path from "node:path";
import { restore } from "../agent/restore.js";
import { runnersUnder } from "../runner/runners-under.js";
import type { ExaminedState } from "../store/examine-state.js";
import type { Finding } from "../store/finding.js";
import { callOutputPath } from "../store/layout.js";
import { isStateId } from "../store/state-id.js";

/** Calls of a conversation that is not open: those without a result, and commands that run on under their runners. */
export function examineCalls(root: string, id: string, { log, document, draft }: ExaminedState): Finding[] {
  const folder = path.join(root, id);
  const living = new Map(
    runnersUnder(root)
      .filter((runner) => runner.folder.startsWith(folder + path.sep))
      .map((runner) => [runner.folder, runner.pid]),
  );
  const findings: Finding[] = [];
  const open = log === undefined ? [] : openCalls(id, log.entries, document?.snapshot, draft);
  for (const call of open) {
    const callFolder = path.dirname(callOutputPath(root, id, call.id));
    findings.push(openCall(callFolder, call, living.get(callFolder)));
    living.delete(callFolder);
  }
  for (const [callFolder, pid] of living) findings.push(runningCall(callFolder, pid));
  if (draft !== undefined && findings.length === 0 && log !== undefined && isCutOff(id, log.entries, draft)) {
    findings.push({
      kind: "draft",
      level: "note",
      path: path.join(folder, "streaming"),
      problem: "a reply was cut off when its process was killed; what it had said is kept here",
      fix: "the next resume shows it and makes it a part of the history",
      canRepair: false,
    });
  }
  return findings;
}

/** Commands that run on although their conversation is in no list any more: deleted by hand, or while they ran. */
export function orphanRunners(root: string, ids: readonly string[]): Finding[] {
  return (
    runnersUnder(root)
      // The folder of a call alone goes when its result is saved; its runner stays for what it left in the background.
      .filter(({ folder }) => !ids.includes(conversationOf(root, folder)))
      .map(({ folder, pid }) => ({
        kind: "orphan-runner",
        level: "problem",
        path: folder,
        problem: `a command still runs under its runner (pid ${pid}), and its conversation is gone: nobody will get its result`,
        fix: `it is ended when its time limit is over; to end it now: kill ${pid}`,
        canRepair: false,
      }))
  );
}

interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly isStarted: boolean;
}

type Draft = ExaminedState["draft"];
type Log = NonNullable<ExaminedState["log"]>;
type Snapshot = NonNullable<ExaminedState["document"]>["snapshot"];

function openCalls(id: string, entries: Log["entries"], snapshot: Snapshot, draft: Draft): OpenCall[] {
  const record = draft === undefined ? { entries, snapshot } : { entries, snapshot, draft };
  const { fold } = restore(id, record);
  const calls = fold.pendingCalls.map(({ id, name }) => ({ id, name, isStarted: fold.isStarted(id) }));
  return [...calls, ...openCommands(entries)];
}

/** The person's own commands: nothing but a kill keeps one that started from having an end. */
function openCommands(entries: Log["entries"]): OpenCall[] {
  const open = new Set<string>();
  for (const { kind, callId } of entries) {
    if (typeof callId !== "string") continue;
    if (kind === "shell_started") open.add(callId);
    else if (kind === "shell") open.delete(callId);
  }
  return [...open].map((id) => ({ id, name: "!", isStarted: true }));
}

function isCutOff(id: string, entries: Log["entries"], draft: NonNullable<Draft>): boolean {
  return restore(id, { entries, snapshot: undefined, draft }).closing.some((body) => body.kind === "reply");
}

function openCall(folder: string, { id, name, isStarted }: OpenCall, pid: number | undefined): Finding {
  const call = isStateId(id) ? `the call ${name} (${id})` : `a call of ${name}`;
  const finding = { kind: "open-call", level: "note", path: folder, canRepair: false } as const;
  if (pid !== undefined) {
    return {
      ...finding,
      problem: `${call} still runs under its runner (pid ${pid})`,
      fix: "the next resume follows it and takes its result",
    };
  }
  if (fs.existsSync(path.join(folder, "status"))) {
    return {
      ...finding,
      problem: `${call} ended after its chat did, and its result is kept`,
      fix: "the next resume takes it",
    };
  }
  if (!isStarted) {
    return { ...finding, problem: `${call} had not started when its chat ended`, fix: "the next resume says so" };
  }
  return {
    ...finding,
    problem: `${call} had started when its chat ended, and has no result: it may or may not have taken effect`,
    fix: "the next resume finds out what can be known and tells the model; nothing runs twice by itself",
  };
}

function runningCall(folder: string, pid: number): Finding {
  return {
    kind: "running-call",
    level: "problem",
    path: folder,
    problem: `a command still runs under its runner (pid ${pid}), although the history holds a result of it`,
    fix: `it is ended when its time limit is over; to end it now: kill ${pid}`,
    canRepair: false,
  };
}

function conversationOf(root: string, folder: string): string {
  return path.relative(root, folder).split(path.sep)[0] ?? "";
}
