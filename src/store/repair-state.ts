import path from "node:path";
import type { Disk } from "./disk.js";
import { repairMode } from "./examine-files.js";
import type { ExaminedState } from "./examine-state.js";
import type { Finding, FindingKind } from "./finding.js";
import { pathsIn } from "./layout.js";
import { FORMAT } from "./log-line.js";
import { reading, readRange } from "./read-file.js";
import { SnapshotAdapter, writeNewFile } from "./snapshot-adapter.js";
import type { Snapshot } from "./store.js";
import { naming } from "./store-errors.js";

/** Takes away what others may do with the files, and gives the owner what is missing. */
export function repairModes(findings: readonly Finding[]): Finding[] {
  const mended = findings.filter(({ kind, canRepair }) => kind === "mode" && canRepair);
  for (const { path: file } of mended) repairMode(file);
  return mended;
}

/**
 * Mends a conversation's files, under its lock. What is changed is kept beside as it was; durable on return. What cannot
 * be mended is left where it is.
 *
 * @returns the findings that are mended
 */
export async function repairState(
  disk: Disk,
  root: string,
  id: string,
  examined: ExaminedState,
  snapshotOf: () => Snapshot | undefined,
): Promise<Finding[]> {
  const paths = pathsIn(path.join(root, id));
  const mended: Finding[] = [];
  const findings = examined.findings.filter(({ canRepair }) => canRepair);
  const of = (...kinds: FindingKind[]) => findings.filter(({ kind }) => kinds.includes(kind));

  for (const finding of of("leftover")) {
    await naming(finding.path, () => disk.remove(finding.path));
    mended.push(finding);
  }
  for (const finding of of("draft-damaged")) {
    await naming(finding.path, () => disk.rename(finding.path, freeName(disk, `${finding.path}.damaged`)));
    mended.push(finding);
  }
  const logFindings = of("torn-tail", "no-newline");
  if (logFindings.length > 0) {
    await keepCopy(disk, paths.log);
    await repairLog(disk, paths.log, examined);
    mended.push(...logFindings);
  }
  const snapshotFindings = of("snapshot-damaged", "snapshot-missing", "snapshot-differs");
  const snapshot = snapshotFindings.length === 0 ? undefined : snapshotOf();
  if (snapshot !== undefined) {
    if (snapshotFindings.some(({ kind }) => kind === "snapshot-differs")) await keepCopy(disk, paths.snapshot);
    await replaceSnapshot(disk, paths, examined, snapshot);
    mended.push(...snapshotFindings);
  }
  await naming(paths.folder, () => disk.syncFolder(paths.folder));
  return mended;
}

/** As a writer does that opens it: a cut tail goes into a file of its own before it is cut off. */
async function repairLog(disk: Disk, logPath: string, { log }: ExaminedState): Promise<void> {
  if (log === undefined) return;
  const { wholeBytes, sizeBytes, needsNewline } = log;
  await naming(logPath, async () => {
    const file = await disk.open(logPath, "append");
    try {
      if (wholeBytes < sizeBytes) {
        const tail = await readRange(file, wholeBytes, sizeBytes);
        await writeNewFile(disk, freeName(disk, `${logPath}.torn`), tail);
        await disk.syncFolder(path.dirname(logPath));
        await file.truncate(wholeBytes);
      }
      if (needsNewline) await file.write(Buffer.from("\n"), wholeBytes);
      await file.datasync();
    } finally {
      await file.close();
    }
  });
}

/** With the stamp of the log's last write: a repair is no update, and moves nothing in the list. */
async function replaceSnapshot(
  disk: Disk,
  paths: { readonly log: string; readonly snapshot: string },
  { log, document }: ExaminedState,
  snapshot: Snapshot,
): Promise<void> {
  if (log === undefined) return;
  const adapter = new SnapshotAdapter(disk, paths.snapshot);
  await adapter.read();
  const logBytes = disk.stat(paths.log)?.sizeBytes ?? log.sizeBytes;
  const stamp = Math.max(log.stamp, document?.stamp ?? 0);
  await adapter.write({ ...document, format: FORMAT, stamp, logBytes, entries: log.seqNext, snapshot });
}

/** The bytes as they were, synced, in a file of their own. */
async function keepCopy(disk: Disk, file: string): Promise<void> {
  await naming(file, async () => {
    const bytes = await reading(disk, file, (opened) => readRange(opened, 0, opened.stat().sizeBytes));
    await writeNewFile(disk, freeName(disk, `${file}.before-repair`), bytes);
    await disk.syncFolder(path.dirname(file));
  });
}

function freeName(disk: Disk, base: string): string {
  let number = 1;
  while (disk.stat(`${base}-${number}`) !== undefined) number++;
  return `${base}-${number}`;
}
