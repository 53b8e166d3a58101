import path from "node:path";
import type { Disk } from "./disk.js";
import { readDraft } from "./draft-file.js";
import { examineFiles } from "./examine-files.js";
import { examineLog, type ReadLog, unreadable } from "./examine-log.js";
import { type Finding, REPAIR } from "./finding.js";
import { pathsIn } from "./layout.js";
import { missing } from "./log-parser.js";
import { reading, readRange } from "./read-file.js";
import { SnapshotAdapter, type SnapshotDocument } from "./snapshot-adapter.js";
import type { Draft } from "./store.js";

/** A conversation's files as a check finds them. Nothing is written. */
export interface ExaminedState {
  readonly findings: readonly Finding[];
  /** Undefined when nothing in it can be read. */
  readonly log: ReadLog | undefined;
  /** Null when there is none that can be used. */
  readonly document: SnapshotDocument | null;
  readonly draft: Draft | undefined;
}

/** `isOpen`: another process writes to it, so what a write leaves for a moment is no finding. */
export async function examineState(disk: Disk, root: string, id: string, isOpen: boolean): Promise<ExaminedState> {
  const paths = pathsIn(path.join(root, id));
  const findings: Finding[] = [];
  const draft = await examineDraft(disk, paths.draft, isOpen, findings);
  // Before the log: a log that is written to meanwhile is then never shorter than it says.
  const snapshot = await examineSnapshot(disk, paths.snapshot, findings);
  const { log, findings: logFindings } = await examineLog(disk, paths.log, id, isOpen);
  findings.unshift(...logFindings);
  if (log !== undefined && snapshot === "missing") findings.push(snapshotMissing(paths.snapshot));
  const document = snapshot === "missing" ? null : snapshot;
  if (log !== undefined && document !== null) findings.push(...(await compare(disk, paths, log, document)));
  findings.push(...(await examineFiles(disk, paths.folder, isOpen)));
  return { findings, log, document, draft };
}

async function examineDraft(
  disk: Disk,
  draftPath: string,
  isOpen: boolean,
  findings: Finding[],
): Promise<Draft | undefined> {
  if (isOpen) return undefined;
  try {
    const { draft, damage } = await readDraft(disk, draftPath);
    if (damage !== undefined) {
      findings.push({
        kind: "draft-damaged",
        level: "problem",
        path: draftPath,
        problem: `of a reply that was streaming when its process ended, a part cannot be read: ${damage.problem}`,
        fix:
          draft === undefined
            ? `the next reply sets the file aside, and so does ${REPAIR}`
            : "the next resume uses what comes before it",
        canRepair: draft === undefined,
      });
    }
    return draft;
  } catch (error) {
    findings.push(unreadable(draftPath, error));
    return undefined;
  }
}

async function examineSnapshot(
  disk: Disk,
  snapshotPath: string,
  findings: Finding[],
): Promise<SnapshotDocument | null | "missing"> {
  const adapter = new SnapshotAdapter(disk, snapshotPath);
  try {
    const document = await adapter.read();
    if (document !== null) return document;
    if (adapter.damage === undefined) return "missing";
    findings.push({
      kind: "snapshot-damaged",
      level: "problem",
      path: snapshotPath,
      problem: `${adapter.damage.problem}; nothing is lost, for all of it follows from the log`,
      fix: `the next save writes a new one and keeps this one beside it, and so does ${REPAIR}`,
      canRepair: true,
    });
    return null;
  } catch (error) {
    findings.push(unreadable(snapshotPath, error));
    return null;
  }
}

function snapshotMissing(snapshotPath: string): Finding {
  return {
    kind: "snapshot-missing",
    level: "problem",
    path: snapshotPath,
    problem: "there is no snapshot; nothing is lost, for all of it follows from the log",
    fix: `the next save writes one, and so does ${REPAIR}`,
    canRepair: true,
  };
}

async function compare(
  disk: Disk,
  paths: { readonly log: string; readonly snapshot: string },
  log: ReadLog,
  document: SnapshotDocument,
): Promise<Finding[]> {
  const { entries, logBytes, snapshot } = document;
  if (entries > log.seqNext) {
    return [
      {
        kind: "damaged-log",
        level: "problem",
        path: paths.log,
        problem: `${missing(log.seqNext, entries)} at its end: the snapshot knows of ${entries} entries, the log has lost some`,
        fix: "put a good copy of the file in its place if you have one; else go on: a resume says which entries are missing",
        canRepair: false,
      },
    ];
  }
  const differences: string[] = [];
  if (snapshot !== undefined && snapshot.historyLength !== entries) {
    differences.push(`historyLength is ${snapshot.historyLength} where entries is ${entries}`);
  }
  if (logBytes > log.sizeBytes) differences.push(`logBytes is ${logBytes} where the log has ${log.sizeBytes}`);
  else if (!(await endsLine(disk, paths.log, logBytes)))
    differences.push(`no line of the log ends at byte ${logBytes}`);
  return differences.length === 0 ? [] : [snapshotDiffers(paths.snapshot, differences)];
}

export function snapshotDiffers(snapshotPath: string, differences: readonly string[]): Finding {
  return {
    kind: "snapshot-differs",
    level: "problem",
    path: snapshotPath,
    problem: `the snapshot does not say what the log says: ${differences.join("; ")}; the log is the conversation, so nothing is lost`,
    fix: `${REPAIR} makes it anew from the log, and keeps this one beside it`,
    canRepair: true,
  };
}

async function endsLine(disk: Disk, logPath: string, bytes: number): Promise<boolean> {
  if (!(bytes > 0)) return false;
  return reading(disk, logPath, async (file) => (await readRange(file, bytes - 1, bytes))[0] === 10);
}
