import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { ToolError } from "../agent/tool.js";
import { hasCode } from "../errors.js";
import { toolError } from "./paths.js";

/** How much of a file is looked at to tell text from binary. */
const SAMPLE_BYTES = 8192;
const IMAGE_ENDINGS: readonly string[] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".tiff", ".heic"];

/** Undefined when there is nothing at the path. Throws for everything that is no regular file. */
export async function fileStats(path: string): Promise<Stats | undefined> {
  let stats: Stats;
  try {
    stats = await stat(path);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw toolError(`${path} cannot be reached`, error);
  }
  if (stats.isDirectory()) throw new ToolError(`${path} is a folder; the tool list shows what is in it`);
  // A pipe or a device may never end, or do something when it is opened.
  if (!stats.isFile()) throw new ToolError(`${path} is no regular file (a device, pipe or socket)`);
  return stats;
}

/** Opens a text file for reading. The caller closes it. Binary files are refused. */
export async function openText(path: string, stats: Stats): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw toolError(`${path} cannot be read`, error);
  });
  try {
    const sample = Buffer.alloc(SAMPLE_BYTES);
    const { bytesRead } = await file.read(sample, 0, SAMPLE_BYTES, 0);
    if (sample.subarray(0, bytesRead).includes(0)) throw binaryError(path, stats.size);
    return file;
  } catch (error) {
    await file.close();
    throw error instanceof ToolError ? error : toolError(`${path} cannot be read`, error);
  }
}

function binaryError(path: string, bytes: number): ToolError {
  const kind = IMAGE_ENDINGS.includes(extname(path).toLowerCase())
    ? "an image, and images"
    : "binary, and binary files";
  return new ToolError(`${path} is ${kind} cannot be read as text (${bytes.toLocaleString("en-US")} bytes)`);
}

/**
 * Replaces a file's content, whole or not at all: a temporary file beside it is renamed over it. Mode and owner stay.
 * Where a rename would break something (a hard link) or is not possible (a mount point, a folder that cannot be written),
 * the file itself is written.
 */
export async function writeFileWhole(path: string, content: Buffer, before: Stats | undefined): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    if (before !== undefined && before.nlink > 1) return await writeInPlace(path, content);
    await writeAndRename(path, content, before);
  } catch (error) {
    throw toolError(`${path} cannot be written`, error);
  }
}

async function writeAndRename(path: string, content: Buffer, before: Stats | undefined): Promise<void> {
  // A file that may not be written is not to be replaced either.
  if (before !== undefined) await (await open(path, "r+")).close();
  const name = `.${basename(path).slice(0, 200)}.${randomBytes(6).toString("hex")}.tmp`;
  const temporary = join(dirname(path), name);
  try {
    const file = await open(temporary, "wx", before === undefined ? 0o666 : 0o600);
    try {
      await file.writeFile(content);
      if (before !== undefined) {
        await file.chown(before.uid, before.gid).catch(() => {}); // only root can, and only for root it matters
        await file.chmod(before.mode & 0o7777);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    if (before !== undefined && hasCode(error, "EACCES", "EPERM", "EBUSY", "EXDEV")) {
      return writeInPlace(path, content);
    }
    throw error;
  }
}

async function writeInPlace(path: string, content: Buffer): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.truncate(0);
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}
