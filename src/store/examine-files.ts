import fs from "node:fs";
import path from "node:path";
import { hasCode } from "../errors.js";
import type { Disk } from "./disk.js";
import { unreadable } from "./examine-log.js";
import { type Finding, REPAIR } from "./finding.js";

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const ours = new Set(["log.jsonl", "snapshot.json", "lock", "streaming"]);
const leftover = /^snapshot\.json\.[0-9a-f]+\.tmp$/;
const setAside =
  /^(?:log\.jsonl\.(?:torn|before-repair)|snapshot\.json\.(?:damaged|before-repair)|streaming\.damaged)-\d+$/;

/** Modes, and files that do not belong where they are, in the folder of a conversation. */
export async function examineFiles(disk: Disk, folder: string, isOpen: boolean): Promise<Finding[]> {
  const findings = examineMode(folder);
  let items: Awaited<ReturnType<Disk["list"]>>;
  try {
    items = await disk.list(folder);
  } catch (error) {
    // A file in a folder that cannot be read cannot be judged; when it is gone there is nothing left to say.
    return hasCode(error, "ENOENT") ? [] : [...findings, unreadable(folder, error)];
  }
  for (const { name } of items.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const file = path.join(folder, name);
    if (name === "calls") findings.push(...(await examineCallModes(disk, file)));
    else if (ours.has(name) || setAside.test(name)) findings.push(...examineMode(file));
    if (leftover.test(name)) {
      // A process that has it open may be about to rename it.
      if (!isOpen) findings.push(leftoverFile(file));
    } else if (setAside.test(name)) findings.push(setAsideFile(file));
    else if (!ours.has(name) && name !== "calls") findings.push(unknownFile(file));
  }
  return findings;
}

async function examineCallModes(disk: Disk, calls: string): Promise<Finding[]> {
  const findings = examineMode(calls);
  for (const call of await listed(disk, calls)) {
    const folder = path.join(calls, call);
    findings.push(...examineMode(folder));
    for (const name of await listed(disk, folder)) findings.push(...examineMode(path.join(folder, name)));
  }
  return findings;
}

/** It may end, or be removed, while it is looked at; its mode is named already when it cannot be looked into. */
async function listed(disk: Disk, folder: string): Promise<string[]> {
  try {
    return (await disk.list(folder)).map(({ name }) => name);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "EACCES", "EPERM")) return [];
    throw error;
  }
}

/** Owner-only, and all of it for the owner. */
export function examineMode(file: string): Finding[] {
  const stats = statOf(file);
  if (stats === undefined || (!stats.isFile() && !stats.isDirectory())) return [];
  const wanted = stats.isDirectory() ? FOLDER_MODE : FILE_MODE;
  const mode = stats.mode & 0o777;
  const isShared = (mode & 0o077) !== 0;
  if (!isShared && (mode & wanted) === wanted) return [];
  const isOurs = process.getuid === undefined || stats.uid === process.getuid();
  return [
    {
      kind: "mode",
      level: "problem",
      path: file,
      problem: `its mode is ${octal(mode)} where ${octal(wanted)} belongs: ${isShared ? "other users may reach it" : "you cannot read and write it yourself"}`,
      fix: isOurs ? `${REPAIR} sets it, or chmod ${octal(wanted)}` : `it belongs to another user (uid ${stats.uid})`,
      canRepair: isOurs,
    },
  ];
}

/** Sets the mode that `examineMode` asks for. */
export function repairMode(file: string): void {
  const stats = statOf(file);
  if (stats !== undefined) fs.chmodSync(file, stats.isDirectory() ? FOLDER_MODE : FILE_MODE);
}

function statOf(file: string): fs.Stats | undefined {
  try {
    return fs.statSync(file, { throwIfNoEntry: false });
  } catch (error) {
    // A link in a loop, or a folder on the way that may not be entered: what needs the file says so.
    if (hasCode(error, "ELOOP", "EACCES", "EPERM", "ENOTDIR")) return undefined;
    throw error;
  }
}

export function leftoverFile(file: string, what = "a temporary file that a process left when it was ended"): Finding {
  return {
    kind: "leftover",
    level: "problem",
    path: file,
    problem: `${what}; nothing reads it`,
    fix: `${REPAIR} removes it`,
    canRepair: true,
  };
}

function setAsideFile(file: string): Finding {
  return {
    kind: "set-aside",
    level: "note",
    path: file,
    problem: "bytes that were set aside, as they were; nothing reads them",
    fix: "look at it, or remove it when you do not want it",
    canRepair: false,
  };
}

export function unknownFile(file: string): Finding {
  return {
    kind: "unknown-file",
    level: "note",
    path: file,
    problem: "not a file of this program; it is left alone",
    fix: "remove it when nobody wants it",
    canRepair: false,
  };
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}
