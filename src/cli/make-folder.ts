import { constants } from "node:fs";
import { access, chmod, mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "../errors.js";
import { folderUnusable } from "./folders.js";

/**
 * Makes sure that a folder can be written, or made where it does not exist yet, without making it: so a chat that cannot
 * save says so before anything is sent, and one that sends nothing leaves nothing behind.
 *
 * @throws PerdureError FOLDER_UNUSABLE, naming the path
 */
export async function checkWritable(folder: string): Promise<void> {
  const existing = await nearestExisting(folder);
  try {
    await access(existing, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const why = codeOf(cause) === "EROFS" ? "is on a read-only file system" : "cannot be written";
    throw folderUnusable(`conversations cannot be saved in ${folder}: ${existing} ${why}`, cause);
  }
}

async function nearestExisting(folder: string): Promise<string> {
  for (let path = folder; ; path = dirname(path)) {
    try {
      if ((await stat(path)).isDirectory()) return path;
    } catch (cause) {
      const code = codeOf(cause);
      if (code === "ENOENT" && dirname(path) !== path) continue;
      if (code !== "ENOTDIR") {
        throw folderUnusable(`conversations cannot be saved in ${folder}: ${path} cannot be read (${code})`, cause);
      }
      continue;
    }
    throw folderUnusable(`conversations cannot be saved in ${folder}: ${path} is not a folder`);
  }
}

/** Makes a folder and those above it that are missing, owner-only whatever the umask. Existing ones stay as they are. */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await makeOne(folder);
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await makeOne(folder);
  }
}

async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    throw error;
  }
  await chmod(folder, 0o700);
}
