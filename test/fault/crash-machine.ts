import type { Disk } from "../../src/store/disk.js";
import type { HeldLock, TakeLock } from "../../src/store/lock.js";
import { CrashDisk } from "./crash-disk.js";
import { CrashFile, CrashFolder, type CrashNode } from "./crash-node.js";

/** One call that may change the disk: the n-th of its machine, from 0. */
export interface Call {
  readonly n: number;
  readonly name:
    | "write"
    | "datasync"
    | "sync"
    | "truncate"
    | "open"
    | "makeFolder"
    | "rename"
    | "syncFolder"
    | "remove";
  readonly path: string;
  readonly bytes?: number;
}

/** How a call fails. `keepBytes` of a write get there before it does. */
export interface CallFault {
  readonly code: string;
  readonly keepBytes?: number;
}

export interface Process {
  readonly disk: Disk;
  readonly takeLock: TakeLock;
  readonly owner: { readonly isAlive: boolean };
  /** kill -9: its locks are free, what it wrote is in the kernel's hands. */
  kill(): void;
}

/** Contents by path, `undefined` for a folder: all that a machine has after a power cut. */
export type Image = ReadonlyMap<string, Buffer | undefined>;

/**
 * A computer with a disk that keeps what is not synced apart. Its processes see everything that was written; a power cut
 * keeps what was synced, and of the rest whatever it pleases.
 */
export class CrashMachine {
  readonly root: CrashFolder;
  readonly bootId: string;
  /** Called after each call that changed something. */
  onStep: () => void = () => undefined;
  /** Asked before each such call. */
  fault: (call: Call) => CallFault | undefined = () => undefined;
  calls = 0;
  private readonly locks = new Map<CrashNode, object>();
  private static boots = 0;

  constructor(image: Image = new Map()) {
    this.bootId = `boot-${++CrashMachine.boots}`;
    this.root = folderOf(image, "/");
  }

  process(): Process {
    const owner = { isAlive: true };
    const disk = new CrashDisk(this, owner);
    const takeLock: TakeLock = async (path) => {
      await (await disk.open(path, "update")).close();
      const file = disk.node(path);
      if (file === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT" });
      const holder = this.locks.get(file);
      if (holder !== undefined) return { owner: undefined };
      this.locks.set(file, owner);
      const release = async () => {
        if (this.locks.get(file) === owner) this.locks.delete(file);
      };
      return { release } satisfies HeldLock;
    };
    const kill = () => {
      owner.isAlive = false;
      for (const [file, holder] of this.locks) if (holder === owner) this.locks.delete(file);
    };
    return { disk, takeLock, owner, kill };
  }

  /** Every state that a power cut may leave now. */
  *powerCuts(): Generator<Image> {
    for (const image of imagesOf(this.root, "/")) yield image;
  }

  /** One of them; `pick` says which of so many. */
  powerCut(pick: (count: number) => number): Image {
    return someImageOf(this.root, "/", pick);
  }

  /** What processes see now. */
  liveImage(): Image {
    return liveImageOf(this.root, "/");
  }
}

function someImageOf(folder: CrashFolder, path: string, pick: (count: number) => number): Image {
  const image = new Map<string, Buffer | undefined>([[path, undefined]]);
  for (const [name, node] of picked(folder.afterPowerCut(), pick)) {
    const at = path === "/" ? `/${name}` : `${path}/${name}`;
    if (node instanceof CrashFile) image.set(at, picked(node.afterPowerCut(), pick));
    else for (const each of someImageOf(node, at, pick)) image.set(...each);
  }
  return image;
}

function picked<T>(ways: readonly T[], pick: (count: number) => number): T {
  const way = ways[pick(ways.length)];
  if (way === undefined) throw new Error("there is always a way");
  return way;
}

function liveImageOf(folder: CrashFolder, path: string): Image {
  const image = new Map<string, Buffer | undefined>([[path, undefined]]);
  for (const [name, node] of folder.live) {
    const at = path === "/" ? `/${name}` : `${path}/${name}`;
    if (node instanceof CrashFile) image.set(at, node.live);
    else for (const each of liveImageOf(node, at)) image.set(...each);
  }
  return image;
}

const texts = new WeakMap<Buffer, string>();
const names = new Map<string, string>();

/** The same for equal images: random parts of names and the numbers of writes do not count. */
export function keyOf(image: Image): string {
  let key = "";
  for (const [path, content] of image) {
    if (path.endsWith("/.stamp")) continue;
    key += `${withoutRandom(path)}\0${content === undefined ? "/" : withoutStamps(content)}\0`;
  }
  return key;
}

function withoutRandom(path: string): string {
  let name = names.get(path);
  if (name === undefined) {
    name = path.replace(/[0-9a-f]{12}/g, "*");
    names.set(path, name);
  }
  return name;
}

function withoutStamps(content: Buffer): string {
  let text = texts.get(content);
  if (text === undefined) {
    text = content.toString("latin1").replace(/"stamp":\d+/g, "");
    texts.set(content, text);
  }
  return text;
}

function folderOf(image: Image, path: string): CrashFolder {
  const prefix = path === "/" ? "/" : `${path}/`;
  const entries = new Map<string, CrashNode>();
  for (const [at, content] of image) {
    if (!at.startsWith(prefix) || at === path || at.slice(prefix.length).includes("/")) continue;
    const name = at.slice(prefix.length);
    entries.set(name, content === undefined ? folderOf(image, at) : new CrashFile(content));
  }
  return new CrashFolder(entries);
}

function* imagesOf(folder: CrashFolder, path: string): Generator<Image> {
  for (const entries of folder.afterPowerCut()) {
    const children = [...entries].map(([name, node]): [string, CrashNode] => [
      path === "/" ? `/${name}` : `${path}/${name}`,
      node,
    ]);
    for (const below of combinations(children)) yield new Map([[path, undefined], ...below]);
  }
}

function* combinations(children: readonly [string, CrashNode][]): Generator<[string, Buffer | undefined][]> {
  const [first, ...rest] = children;
  if (first === undefined) {
    yield [];
    return;
  }
  const [path, node] = first;
  const ways =
    node instanceof CrashFile
      ? fileImages(path, node)
      : [...(HIDDEN.test(path) ? hiddenImages(node, path) : imagesOf(node, path))].map((image) => [...image]);
  for (const others of combinations(rest)) for (const way of ways) yield [...way, ...others];
}

const HIDDEN = /\/\.(new|deleted)-[^/]*$/;

/** Nobody looks into a hidden folder but to remove it: all of it or nothing is enough. */
function hiddenImages(folder: CrashFolder, path: string): Image[] {
  return [new Map([[path, undefined]]), liveImageOf(folder, path)];
}

function fileImages(path: string, file: CrashFile): [string, Buffer][][] {
  return waysOf(path, file).map((content) => [[path, content]]);
}

/** Fewer where more teach nothing, to keep the number of images down. */
function waysOf(path: string, file: CrashFile): Buffer[] {
  // Nobody reads what is in a temporary file, nor a stamp from before a power cut.
  if (/\/\.stamp$|\.tmp$/.test(path)) return [file.live];
  const ways = file.afterPowerCut();
  // A draft is never synced, and nothing else depends on it.
  return path.endsWith("/streaming") ? [file.live, ...ways.slice(0, 1), ...ways.slice(-1)] : ways;
}
