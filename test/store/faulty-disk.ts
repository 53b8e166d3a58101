import type { Disk, DiskFile } from "../../src/store/disk.js";
import { nodeDisk } from "../../src/store/node-disk.js";

/** One call that fails: `keepBytes` of a write reach the disk before it does. */
export interface Fault {
  readonly call: "write" | "datasync" | "sync" | "truncate" | "rename" | "syncFolder" | "open" | "remove" | "list";
  readonly path: RegExp;
  readonly code: string;
  readonly keepBytes?: number;
}

/** The real disk, but for calls that a test makes fail; each fault holds until it is taken out. */
export class FaultyDisk implements Disk {
  readonly faults = new Set<Fault>();
  readonly calls: string[] = [];
  readonly stat = nodeDisk.stat;
  readonly makeFolder = nodeDisk.makeFolder;
  readonly protect = nodeDisk.protect;

  realpath(path: string): string {
    return nodeDisk.realpath(path);
  }

  async open(path: string, mode: Parameters<Disk["open"]>[1]): Promise<DiskFile> {
    if (mode !== "read") this.check("open", path);
    const file = await nodeDisk.open(path, mode);
    const check = this.check.bind(this);
    const faulty: DiskFile = {
      stat: () => file.stat(),
      read: (buffer, position) => file.read(buffer, position),
      readSync: (buffer, position) => file.readSync(buffer, position),
      writeSync: (bytes, position) => file.writeSync(bytes, position),
      close: () => file.close(),
      async write(bytes, position) {
        const fault = check("write", path, false);
        await file.write(fault === undefined ? bytes : bytes.subarray(0, fault.keepBytes ?? 0), position);
        if (fault !== undefined) throw systemError(fault, path);
      },
      async writeDurably(bytes, position) {
        await faulty.write(bytes, position);
        await faulty.datasync();
      },
      async truncate(sizeBytes) {
        check("truncate", path);
        await file.truncate(sizeBytes);
      },
      async datasync() {
        check("datasync", path);
        await file.datasync();
      },
      async sync() {
        check("sync", path);
        await file.sync();
      },
    };
    return faulty;
  }

  async list(path: string): ReturnType<Disk["list"]> {
    this.check("list", path);
    return nodeDisk.list(path);
  }

  async rename(from: string, to: string): Promise<void> {
    this.check("rename", to);
    await nodeDisk.rename(from, to);
  }

  async syncFolder(path: string): Promise<void> {
    this.check("syncFolder", path);
    await nodeDisk.syncFolder(path);
  }

  async remove(path: string): Promise<void> {
    this.check("remove", path);
    await nodeDisk.remove(path);
  }

  private check(call: Fault["call"], path: string, fail = true): Fault | undefined {
    this.calls.push(`${call} ${path}`);
    const fault = [...this.faults].find((each) => each.call === call && each.path.test(path));
    if (fault !== undefined && fail) throw systemError(fault, path);
    return fault;
  }
}

function systemError({ code, call }: Fault, path: string): Error {
  return Object.assign(new Error(`${code}: it failed, ${call} '${path}'`), { code });
}
