import path from "node:path";
import { hasCode } from "../errors.js";
import type { Disk } from "../store/disk.js";
import { repairMode } from "../store/examine-files.js";
import { unreadable } from "../store/examine-log.js";
import { examineRoot } from "../store/examine-root.js";
import { type ExaminedState, examineState, snapshotDiffers } from "../store/examine-state.js";
import type { Finding } from "../store/finding.js";
import { statePaths } from "../store/layout.js";
import { listStates } from "../store/list-states.js";
import { type HeldLock, isHeld, type LockOwner, type TakeLock } from "../store/lock.js";
import { probeLock } from "../store/lock-probe.js";
import { nodeDisk } from "../store/node-disk.js";
import { repairModes, repairState } from "../store/repair-state.js";
import type { SavedState } from "../store/store.js";
import { naming } from "../store/store-errors.js";
import { examineCalls, orphanRunners } from "./examine-calls.js";
import { snapshotDifferences, snapshotFromLog } from "./snapshot-differences.js";

/** What a check found about one conversation, and what became of it. */
export interface StateReport {
  readonly id: string;
  /** Open in another process: only read, whatever was asked. `owner` as far as its lock file tells. */
  readonly open: { readonly owner: LockOwner | undefined } | undefined;
  /** What there is (after a repair: still is). */
  readonly findings: readonly Finding[];
  readonly mended: readonly Finding[];
}

export interface RootReport {
  readonly findings: readonly Finding[];
  readonly mended: readonly Finding[];
}

/** Checks the conversations of one store's folder. Only `repair…` writes. */
export class Doctor {
  private readonly disk: Disk = nodeDisk;
  readonly root: string;

  /** @param takeLock how a repair becomes the one writer of a conversation */
  constructor(
    root: string,
    private readonly takeLock: TakeLock,
  ) {
    this.root = this.disk.realpath(root);
  }

  /** Rows as the list has them, without the tidying that a list does. */
  async rows(): Promise<SavedState[]> {
    const { ids } = await examineRoot(this.disk, this.root);
    return (await listStates(this.disk, this.root, ids)).map(({ state }) => state);
  }

  async examineRoot(): Promise<RootReport> {
    const { ids, findings } = await examineRoot(this.disk, this.root);
    return { findings: [...findings, ...orphanRunners(this.root, ids)], mended: [] };
  }

  /** Removes what dead processes left beside the conversations. */
  async repairRoot(): Promise<RootReport> {
    const { findings } = await this.examineRoot();
    const mended = repairModes(findings);
    for (const finding of findings.filter(({ kind }) => kind === "leftover")) {
      await naming(finding.path, () => this.disk.remove(finding.path));
      mended.push(finding);
    }
    if (mended.length > 0) await naming(this.root, () => this.disk.syncFolder(this.root));
    return { findings: (await this.examineRoot()).findings, mended };
  }

  async examine(id: string): Promise<StateReport> {
    const lock = await probeLock(statePaths(this.root, id).lock);
    const open = lock.state === "held" ? { owner: lock.owner } : undefined;
    return { id, open, findings: (await this.look(id, open !== undefined)).findings, mended: [] };
  }

  /** Mends what can be mended, as the conversation's one writer. One that is open elsewhere is only looked at. */
  async repair(id: string): Promise<StateReport> {
    const before = await this.examine(id);
    if (before.open !== undefined || !before.findings.some(({ canRepair }) => canRepair)) return before;
    const lock = await this.lock(id);
    if (!isHeld(lock)) return { ...before, open: { owner: lock.owner } };
    try {
      const mended = repairModes((await this.look(id, false)).findings);
      mended.push(...(await this.mend(id, (await this.look(id, false)).examined)));
      return { id, open: undefined, findings: (await this.look(id, false)).findings, mended };
    } finally {
      await lock.release();
    }
  }

  private mend(id: string, examined: ExaminedState): Promise<Finding[]> {
    const { log } = examined;
    return repairState(this.disk, this.root, id, examined, () =>
      log === undefined ? undefined : snapshotFromLog(id, log.entries, log.header?.createdAt),
    );
  }

  private async look(id: string, isOpen: boolean): Promise<{ examined: ExaminedState; findings: Finding[] }> {
    const { snapshot } = statePaths(this.root, id);
    const found = await examineState(this.disk, this.root, id, isOpen);
    const extra: Finding[] = [];
    if (found.log !== undefined) {
      const saved = found.document?.snapshot;
      const differs = saved === undefined ? [] : snapshotDifferences(id, found.log.entries, saved);
      if (differs.length > 0 && !found.findings.some(({ kind }) => kind === "snapshot-differs")) {
        extra.push(snapshotDiffers(snapshot, differs));
      }
      if (!isOpen) extra.push(...this.calls(id, found));
    }
    const findings = [...found.findings, ...extra];
    return { examined: { ...found, findings }, findings };
  }

  private calls(id: string, examined: ExaminedState): Finding[] {
    try {
      return examineCalls(this.root, id, examined);
    } catch (error) {
      // Entries whose positions are damaged too.
      if (hasCode(error, "STATE_DAMAGED")) return [unreadable(statePaths(this.root, id).log, error)];
      throw error;
    }
  }

  private async lock(id: string): Promise<HeldLock | { owner: LockOwner | undefined }> {
    const paths = statePaths(this.root, id);
    try {
      return await this.takeLock(paths.lock);
    } catch (error) {
      if (!hasCode(error, "EACCES", "EPERM")) throw error;
      // Even the lock may be shut away from its owner.
      repairMode(paths.folder);
      repairMode(path.join(paths.folder, "lock"));
      return this.takeLock(paths.lock);
    }
  }
}
