/**
 * What a disk has of a file or folder: what is durable (one of `bases`: after a failed sync nobody can know which), and
 * what was done since the last sync, of which a power cut keeps all, nothing, a part, or the later without the earlier.
 */
export type CrashNode = CrashFile | CrashFolder;

type FileChange =
  | { readonly kind: "write"; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: "truncate"; readonly sizeBytes: number }
  /** What the length becomes when the bytes of a write do not land: zeros after the old end, never over old bytes. */
  | { readonly kind: "extend"; readonly sizeBytes: number };

let identities = 0;

export class CrashFile {
  readonly identity = ++identities;
  changes = 0;
  private bases: Buffer[];
  private pending: FileChange[] = [];
  private cuts: Buffer[] | undefined;

  constructor(public live: Buffer = Buffer.alloc(0)) {
    this.bases = [live];
  }

  apply(change: FileChange): void {
    this.changes++;
    this.cuts = undefined;
    this.live = changed(this.live, change);
    const last = this.pending.at(-1);
    const overwrites =
      change.kind === "write" &&
      last?.kind === "write" &&
      last.at === change.at &&
      last.bytes.length === change.bytes.length;
    if (overwrites) this.pending.pop();
    this.pending.push(change);
  }

  /** Whatever of it was on its way is there now. What a failed sync left unknown stays so, unless it was written over. */
  sync(): void {
    if (this.pending.length > 0) this.bases = unique(this.bases.map((base) => this.pending.reduce(changed, base)));
    this.pending = [];
    this.cuts = undefined;
  }

  /** A sync that failed: the kernel forgets what was on its way, so a later sync does nothing for it. */
  failSync(): void {
    this.bases = this.afterPowerCut();
    this.pending = [];
  }

  /** Every content that a power cut may leave. */
  afterPowerCut(): Buffer[] {
    this.cuts ??= unique(
      this.bases.flatMap((base) => landings(this.pending).map((landed) => landed.reduce(changed, base))),
    );
    return this.cuts;
  }
}

interface FolderChange {
  readonly remove?: string;
  readonly add?: readonly [name: string, node: CrashNode];
}

export class CrashFolder {
  readonly identity = ++identities;
  private base: ReadonlyMap<string, CrashNode>;
  private pending: FolderChange[] = [];

  constructor(public live: ReadonlyMap<string, CrashNode> = new Map()) {
    this.base = live;
  }

  apply(change: FolderChange): void {
    this.live = changedFolder(this.live, change);
    this.pending.push(change);
  }

  sync(): void {
    this.base = this.live;
    this.pending = [];
  }

  /** Names are journaled: they stay on their way, and a later sync gets them there. */
  failSync(): void {}

  afterPowerCut(): ReadonlyMap<string, CrashNode>[] {
    const all = subsets(this.pending).map((landed) => landed.reduce(changedFolder, this.base));
    const seen = new Set<string>();
    return all.filter((entries) => {
      const key = [...entries]
        .map(([name, node]) => `${name}=${node.identity}`)
        .sort()
        .join();
      return !seen.has(key) && seen.add(key);
    });
  }
}

function changed(content: Buffer, change: FileChange): Buffer {
  if (change.kind === "truncate") return resized(content, change.sizeBytes);
  if (change.kind === "extend") return resized(content, Math.max(content.length, change.sizeBytes));
  const grown = resized(content, Math.max(content.length, change.at + change.bytes.length));
  change.bytes.copy(grown, change.at);
  return grown;
}

/** A copy; what is new is zeros. */
function resized(content: Buffer, sizeBytes: number): Buffer {
  const copy = Buffer.alloc(sizeBytes);
  content.copy(copy, 0, 0, Math.min(sizeBytes, content.length));
  return copy;
}

function changedFolder(entries: ReadonlyMap<string, CrashNode>, change: FolderChange): ReadonlyMap<string, CrashNode> {
  const copy = new Map(entries);
  if (change.remove !== undefined) copy.delete(change.remove);
  if (change.add !== undefined) copy.set(...change.add);
  return copy;
}

/** Which changes reach the device, and how much of the last write that does. */
function landings(pending: readonly FileChange[]): FileChange[][] {
  return subsets(pending).flatMap((landed) => {
    const last = landed.at(-1);
    if (last?.kind !== "write") return [landed];
    return [landed, ...partsOf(last).map((parts) => [...landed.slice(0, -1), ...parts])];
  });
}

/** A write of which a part landed: cut, at and around each line's end too; or its length without (all of) its bytes. */
function partsOf({ at, bytes }: FileChange & { kind: "write" }): FileChange[][] {
  const cuts = new Set([1, bytes.length >> 1, bytes.length - 1]);
  for (let newline = bytes.indexOf(10); newline !== -1 && cuts.size < 7; newline = bytes.indexOf(10, newline + 1)) {
    cuts.add(newline).add(newline + 1);
  }
  const parts = [...cuts].filter((cut) => cut > 0 && cut < bytes.length).map((cut) => bytes.subarray(0, cut));
  const extend: FileChange = { kind: "extend", sizeBytes: at + bytes.length };
  const half: FileChange = { kind: "write", at, bytes: bytes.subarray(0, bytes.length >> 1) };
  return [...parts.map((part): FileChange[] => [{ kind: "write", at, bytes: part }]), [extend], [half, extend]];
}

/** In their order. All of them where they are few; else every beginning, every single one, and all but one. */
export function subsets<T>(items: readonly T[]): T[][] {
  if (items.length <= 4) {
    return Array.from({ length: 1 << items.length }, (_, bits) => items.filter((_item, index) => bits & (1 << index)));
  }
  const beginnings = Array.from({ length: items.length + 1 }, (_, end) => items.slice(0, end));
  const singles = items.map((item) => [item]);
  const withoutOne = items.map((_, index) => items.filter((_item, other) => other !== index));
  return [...beginnings, ...singles, ...withoutOne];
}

function unique(contents: readonly Buffer[]): Buffer[] {
  if (contents.length < 2) return [...contents];
  const seen = new Map(contents.map((content) => [content.toString("latin1"), content]));
  return [...seen.values()];
}
