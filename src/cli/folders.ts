import { statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { codeOf, PerdureError } from "../errors.js";

/** Absolute paths. Nothing is created here: see make-folder.ts. */
export interface Folders {
  /** Undefined only when --store is given and there is no home folder: then nothing is remembered beside conversations. */
  readonly data: string | undefined;
  readonly config: string | undefined;
  readonly state: string | undefined;
  /** The conversations. */
  readonly store: string;
  /** A file: what was typed. */
  readonly inputHistory: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Where everything is. `--store DIR` is the conversations' folder; `CHAT_HOME` is one folder for everything; else the
 * XDG folders, which default to the platform's usual places in the home folder. A relative XDG path is ignored, as its
 * specification says.
 *
 * @throws PerdureError FOLDER_UNUSABLE: there is no home folder to put things in
 */
export function folders(env: Environment, platform: NodeJS.Platform, store?: string): Folders {
  const { CHAT_HOME } = env;
  if (CHAT_HOME !== undefined && CHAT_HOME !== "") {
    const home = absolute(CHAT_HOME);
    return all(home, home, home, store);
  }
  const home = homeOf(env, platform);
  const place = (variable: string, ...fallback: string[]): string | undefined => {
    const value = env[variable];
    if (value !== undefined && isAbsolute(value)) return join(value, "perdure");
    return home.path === undefined ? undefined : join(home.path, ...fallback, "perdure");
  };
  const mac = platform === "darwin";
  const support = ["Library", "Application Support"];
  const data = place("XDG_DATA_HOME", ...(mac ? support : [".local", "share"]));
  const config = place("XDG_CONFIG_HOME", ...(mac ? support : [".config"]));
  const state = place("XDG_STATE_HOME", ...(mac ? support : [".local", "state"]));
  if (data === undefined && store === undefined) {
    throw folderUnusable(`there is no folder to save conversations in: ${home.problem}`);
  }
  return all(data, config, state, store);
}

function all(
  data: string | undefined,
  config: string | undefined,
  state: string | undefined,
  store: string | undefined,
): Folders {
  return {
    data,
    config,
    state,
    store: store === undefined ? join(data ?? "", "conversations") : absolute(store),
    inputHistory: state === undefined ? undefined : join(state, "input-history"),
  };
}

/** A home folder that does not exist is not made: who runs without one would find its conversations nowhere again. */
function homeOf(env: Environment, platform: NodeJS.Platform): { path: string | undefined; problem: string } {
  const variable = platform === "win32" ? "USERPROFILE" : "HOME";
  const path = env[variable];
  const none = (problem: string) => ({ path: undefined, problem });
  if (path === undefined || path === "") return none(`${variable} is not set`);
  if (!isAbsolute(path)) return none(`${variable} is ${path}, which is not an absolute path`);
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return none(`${variable} is ${path}, which does not exist`);
    if (!stat.isDirectory()) return none(`${variable} is ${path}, which is not a folder`);
  } catch (error) {
    return none(`${variable} is ${path}, which cannot be reached (${codeOf(error)})`);
  }
  return { path, problem: "" };
}

function absolute(path: string): string {
  try {
    return resolve(path);
  } catch (cause) {
    throw folderUnusable(`${path} is relative to the current folder, which is gone`, cause);
  }
}

export function folderUnusable(problem: string, cause?: unknown): PerdureError {
  return new PerdureError({
    code: "FOLDER_UNUSABLE",
    problem,
    fix: "name a folder that can be written, with --store DIR or in CHAT_HOME",
    example: "CHAT_HOME=/var/tmp/perdure chat",
    ...(cause === undefined ? {} : { cause }),
  });
}
