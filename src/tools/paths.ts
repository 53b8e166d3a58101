import { lstat, readdir, readlink, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { ToolError } from "../agent/tool.js";
import { hasCode, problemOf } from "../errors.js";
import { nearest } from "../text/nearest.js";

export interface Location {
  /** Absolute, every link followed: what the system would open. */
  readonly path: string;
  /** True when that is the working folder or in it. */
  readonly inside: boolean;
}

const LINKS_MAX = 40;

/**
 * Where a path that a model gave really leads. Relative to `cwd`, `~` is the home folder. What does not exist yet is
 * placed by its nearest existing parent; a link that dangles by where it points: writing to it would create that.
 *
 * @throws {ToolError} the working folder is gone, the path cannot be one
 */
export async function locate(path: string, cwd: string): Promise<Location> {
  if (path.includes("\0")) throw new ToolError("a path cannot hold a NUL character");
  const folder = await workingFolder(cwd);
  const real = await realLocation(resolve(folder, expandHome(path)), LINKS_MAX);
  return { path: real, inside: isWithin(real, folder) };
}

/** The real path of the working folder. */
export async function workingFolder(cwd: string): Promise<string> {
  try {
    const real = await realpath(cwd);
    if ((await stat(real)).isDirectory()) return real;
  } catch (error) {
    if (!hasCode(error, "ENOENT", "ENOTDIR")) throw toolError(`the working folder ${cwd} cannot be used`, error);
  }
  throw new ToolError(`the working folder ${cwd} is gone (deleted or renamed); nothing can be done in it`);
}

export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** How a path is shown: relative when it is inside the folder. */
export function shownPath(path: string, folder: string): string {
  return isWithin(path, folder) ? relative(folder, path) || "." : path;
}

/** `ToolError` with the system's reason in words. */
export function toolError(what: string, error: unknown): ToolError {
  return new ToolError(`${what}: ${problemOf(error)}`, { cause: error });
}

/** What the person or the model most likely meant by a path that is not there. */
export async function notFound(path: string): Promise<ToolError> {
  const siblings = await readdir(dirname(path)).catch(() => undefined);
  if (siblings === undefined) return new ToolError(`${path} does not exist, and neither does its folder`);
  const meant = nearest(basename(path), siblings);
  const hint = meant === undefined ? "" : `; did you mean ${join(dirname(path), meant)}?`;
  return new ToolError(`${path} does not exist${hint}`);
}

function expandHome(path: string): string {
  if (path === "~") return homedir();
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
}

async function realLocation(path: string, linksLeft: number): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (hasCode(error, "ELOOP")) throw new ToolError(`${path} is a loop of links`);
    if (!hasCode(error, "ENOENT", "ENOTDIR")) throw toolError(`${path} cannot be reached`, error);
  }
  const target = await danglingTarget(path);
  if (target !== undefined) {
    if (linksLeft === 0) throw new ToolError(`${path} is a loop of links`);
    return realLocation(resolve(dirname(path), target), linksLeft - 1);
  }
  const parent = dirname(path);
  return parent === path ? path : join(await realLocation(parent, linksLeft), basename(path));
}

async function danglingTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw toolError(`${path} cannot be reached`, error);
  }
}
