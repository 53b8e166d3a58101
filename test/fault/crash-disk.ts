import { posix } from "node:path";
import type { Disk, DiskFile, DiskStat, FolderItem } from "../../src/store/disk.js";
import type { Call, CrashMachine } from "./crash-machine.js";
import { CrashFile, CrashFolder, type CrashNode } from "./crash-node.js";

/** What a call of a process that was killed says; nobody is there to hear it. */
export const DEAD = "DEAD";

const BOOT_ID = "/proc/sys/kernel/random/boot_id";

/** One process's way to the disk of a {@link CrashMachine}. */
export class CrashDisk implements Disk {
  constructor(
    private readonly machine: CrashMachine,
    private readonly owner: { readonly isAlive: boolean },
  ) {}

  async open(path: string, mode: "read" | "append" | "create" | "update"): Promise<DiskFile> {
    if (path === BOOT_ID) return new OpenFile(this, path, new CrashFile(Buffer.from(this.machine.bootId)), false);
    const found = this.node(path);
    if (found instanceof CrashFolder) throw systemError("EISDIR", path);
    if (found !== undefined && mode === "create") throw systemError("EEXIST", path);
    if (found !== undefined) return new OpenFile(this, path, found, mode === "append");
    if (mode === "read" || mode === "append") throw systemError("ENOENT", path);
    const file = new CrashFile();
    this.change({ name: "open", path }, () => this.parent(path).apply({ add: [posix.basename(path), file] }));
    return new OpenFile(this, path, file, mode === "create");
  }

  stat(path: string): DiskStat | undefined {
    const node = this.node(path);
    return node === undefined ? undefined : statOf(node);
  }

  realpath(path: string): string {
    return posix.resolve("/", path);
  }

  async list(path: string): Promise<FolderItem[]> {
    return [...this.folder(path).live].map(([name, node]) => ({ name, isFolder: node instanceof CrashFolder }));
  }

  async makeFolder(path: string): Promise<void> {
    if (this.node(path) !== undefined) throw systemError("EEXIST", path);
    const add = () => this.parent(path).apply({ add: [posix.basename(path), new CrashFolder()] });
    this.change({ name: "makeFolder", path }, add);
  }

  async protect(path: string): Promise<void> {
    this.folder(path);
  }

  async rename(from: string, to: string): Promise<void> {
    const node = this.node(from);
    if (node === undefined) throw systemError("ENOENT", from);
    const target = this.node(to);
    if (target instanceof CrashFolder && (node instanceof CrashFile || target.live.size > 0))
      throw systemError("ENOTEMPTY", to);
    if (posix.dirname(from) !== posix.dirname(to)) throw new Error("only within one folder");
    this.change({ name: "rename", path: to }, () => {
      this.parent(from).apply({ remove: posix.basename(from), add: [posix.basename(to), node] });
    });
  }

  async syncFolder(path: string): Promise<void> {
    const folder = this.folder(path);
    this.change(
      { name: "syncFolder", path },
      () => folder.sync(),
      () => folder.failSync(),
    );
  }

  /** One name after the other: each is a moment in which a crash can come. */
  async remove(path: string): Promise<void> {
    const node = this.node(path);
    if (node === undefined) return;
    if (node instanceof CrashFolder) for (const name of node.live.keys()) await this.remove(posix.join(path, name));
    this.change({ name: "remove", path }, () => this.parent(path).apply({ remove: posix.basename(path) }));
  }

  node(path: string): CrashNode | undefined {
    let node: CrashNode | undefined = this.machine.root;
    for (const name of path.split("/").filter((part) => part !== "")) {
      node = node instanceof CrashFolder ? node.live.get(name) : undefined;
    }
    return node;
  }

  private folder(path: string): CrashFolder {
    const node = this.node(path);
    if (node instanceof CrashFolder) return node;
    throw systemError(node === undefined ? "ENOENT" : "ENOTDIR", path);
  }

  private parent(path: string): CrashFolder {
    return this.folder(posix.dirname(path));
  }

  /** A call that changes something: it may fail, and after it the power may go. The dead change nothing any more. */
  change(
    call: Omit<Call, "n">,
    act: () => void,
    fail: (fault: { readonly keepBytes?: number }) => void = () => undefined,
  ): void {
    if (!this.owner.isAlive) throw systemError(DEAD, call.path);
    const fault = this.machine.fault({ ...call, n: this.machine.calls++ });
    if (fault === undefined) act();
    else fail(fault);
    this.machine.onStep();
    if (fault !== undefined) throw systemError(fault.code, call.path);
  }
}

export class OpenFile implements DiskFile {
  constructor(
    private readonly disk: CrashDisk,
    private readonly path: string,
    private readonly file: CrashFile,
    private readonly appends: boolean,
  ) {}

  stat(): DiskStat {
    return statOf(this.file);
  }

  async read(buffer: Uint8Array, position: number): Promise<number> {
    return this.readSync(buffer, position);
  }

  readSync(buffer: Uint8Array, position: number): number {
    return position < this.file.live.length ? this.file.live.copy(buffer, 0, position) : 0;
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    this.writeSync(bytes, position);
  }

  async writeDurably(bytes: Uint8Array, position: number): Promise<void> {
    await this.write(bytes, position);
    await this.datasync();
  }

  writeSync(bytes: Uint8Array, position: number): void {
    const write = (count: number) => {
      const at = this.appends ? this.file.live.length : position;
      if (count > 0) this.file.apply({ kind: "write", at, bytes: Buffer.from(bytes.subarray(0, count)) });
    };
    const call = { name: "write", path: this.path, bytes: bytes.length } as const;
    this.disk.change(
      call,
      () => write(bytes.length),
      ({ keepBytes }) => write(keepBytes ?? 0),
    );
  }

  async truncate(sizeBytes: number): Promise<void> {
    this.disk.change({ name: "truncate", path: this.path }, () => this.file.apply({ kind: "truncate", sizeBytes }));
  }

  async datasync(): Promise<void> {
    this.disk.change(
      { name: "datasync", path: this.path },
      () => this.file.sync(),
      () => this.file.failSync(),
    );
  }

  async sync(): Promise<void> {
    this.disk.change(
      { name: "sync", path: this.path },
      () => this.file.sync(),
      () => this.file.failSync(),
    );
  }

  async close(): Promise<void> {}
}

function statOf(node: CrashNode): DiskStat {
  const isFolder = node instanceof CrashFolder;
  const sizeBytes = isFolder ? 0 : node.live.length;
  const version = `${node.identity}:${isFolder ? "" : node.changes}`;
  return { identity: String(node.identity), sizeBytes, isFolder, version };
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: it failed, '${path}'`), { code });
}
