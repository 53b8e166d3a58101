/** The code of an `open` that met a folder, FIFO, socket or device. It never waits for what is at a FIFO's other end. */
export const NOT_A_FILE = "NOT_A_FILE";

/**
 * The only way a FileStore reaches its disk: one method for each thing that can fail or be lost. A test can put another
 * disk in its place that forgets, cuts or refuses at any of these points.
 *
 * Everything made through it is owner-only (files 0600, folders 0700) whatever the umask.
 *
 * `stat`, `readSync` and `writeSync` are synchronous on purpose: they are answered from memory in some microseconds, where
 * a trip to the thread pool costs 50 to 100. Whatever waits for the device (write, datasync, sync, rename, …) never blocks
 * the event loop: a screen goes on streaming while a slow disk syncs. See docs/decisions/006-asynchronous-sync.md.
 */
export interface Disk {
  /**
   * read: an existing file. append: an existing file; what is written goes to its end. create: a new one, EEXIST when
   * there is one. update: made when absent, written at a position. All but `read` make it owner-only.
   */
  open(path: string, mode: "read" | "append" | "create" | "update"): Promise<DiskFile>;
  /** Follows links. Undefined when there is nothing. */
  stat(path: string): DiskStat | undefined;
  /** Links resolved, also of a path whose last parts do not exist yet. */
  realpath(path: string): string;
  /** The names in a folder, with what each is. */
  list(path: string): Promise<FolderItem[]>;
  makeFolder(path: string): Promise<void>;
  /** Takes the rights of others away from a file or folder that is ours. */
  protect(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Makes what was created, renamed or removed in this folder durable. */
  syncFolder(path: string): Promise<void>;
  /** A file, or a folder with all it holds; nothing there is fine. */
  remove(path: string): Promise<void>;
}

export interface DiskFile {
  stat(): DiskStat;
  read(buffer: Uint8Array, position: number): Promise<number>;
  readSync(buffer: Uint8Array, position: number): number;
  /** All of it or an error (then part of it may be there). `position` is ignored by a file opened to append. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** As `write` and then `datasync`; where the system can, in one call. */
  writeDurably(bytes: Uint8Array, position: number): Promise<void>;
  /** For some bytes that need not be durable, over others that are there. */
  writeSync(bytes: Uint8Array, position: number): void;
  truncate(sizeBytes: number): Promise<void>;
  /** The bytes and the size. */
  datasync(): Promise<void>;
  /** The bytes, the size and everything else about the file. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface DiskStat {
  /** Device and inode: the same for the same file, whatever its name. */
  readonly identity: string;
  readonly sizeBytes: number;
  readonly isFolder: boolean;
  /** Another file has another one, and so has this one when its contents change. */
  readonly version: string;
}

export interface FolderItem {
  readonly name: string;
  /** Of a link: whether it leads to one. Undefined where that cannot be told: a link in a loop, or one into a locked folder. */
  readonly isFolder: boolean | undefined;
}
