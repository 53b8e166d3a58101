import path from "node:path";
import { codeOf, hasCode, PerdureError, problemOf } from "../errors.js";
import type { Disk } from "./disk.js";
import { type Finding, REPAIR } from "./finding.js";
import { readLog } from "./log-file.js";

export type ReadLog = Awaited<ReturnType<typeof readLog>>;

/** A log as a check finds it; `log` is undefined when nothing in it can be read. */
export async function examineLog(
  disk: Disk,
  logPath: string,
  id: string,
  isOpen: boolean,
): Promise<{ log: ReadLog | undefined; findings: Finding[] }> {
  let log: ReadLog;
  try {
    log = await readLog(disk, logPath, id);
  } catch (error) {
    return { log: undefined, findings: [unreadable(logPath, error)] };
  }
  const damage = [...log.damage];
  const findings: Finding[] = [];
  if (log.sizeBytes > log.wholeBytes) {
    // The last one named is the tail.
    const tail = damage.pop();
    // Where somebody writes it is a record on its way.
    if (tail !== undefined && !isOpen) findings.push(tornTail(logPath, log));
  }
  if (log.needsNewline && !isOpen) {
    findings.push({
      kind: "no-newline",
      level: "problem",
      path: logPath,
      problem:
        "the newline of the last record is missing: a write was cut off one byte before its end, and nothing is lost",
      fix: `the next save writes it, and so does ${REPAIR}`,
      canRepair: true,
    });
  }
  findings.push(...damage.map(({ problem }) => damagedLine(logPath, problem)));
  return { log, findings };
}

/** What keeps a whole file from being read. */
export function unreadable(file: string, error: unknown): Finding {
  const isNewer = hasCode(error, "STATE_NEWER");
  const fix = error instanceof PerdureError ? error.fix : `check the disk it is on (${codeOf(error) ?? "no code"})`;
  return {
    kind: isNewer ? "newer" : "unreadable",
    level: "problem",
    path: file,
    problem: `${problemOf(error)}, so this conversation cannot be opened`,
    fix,
    canRepair: false,
  };
}

function tornTail(logPath: string, log: ReadLog): Finding {
  const cutBytes = log.sizeBytes - log.wholeBytes;
  return {
    kind: "torn-tail",
    level: "problem",
    path: logPath,
    problem:
      `the last record was cut off: ${cutBytes} bytes at the end are not a whole line; ` +
      "its save had not finished, and everything before it is there",
    fix: `the next save sets these bytes aside in ${path.basename(logPath)}.torn-1 or the next free number, and so does ${REPAIR}`,
    canRepair: true,
  };
}

function damagedLine(logPath: string, problem: string): Finding {
  return {
    kind: "damaged-log",
    level: "problem",
    path: logPath,
    problem: `${problem}; everything readable on both sides is used, and a resume says which entries are missing`,
    fix: "put a good copy of the file in its place if you have one; else go on: it is left where it is and harms nothing more",
    canRepair: false,
  };
}
