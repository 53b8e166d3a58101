import { randomBytes } from "node:crypto";
import { open, readFile, realpath, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, problemOf } from "../errors.js";
import { makeFolder } from "./make-folder.js";

const FORMAT = 1;

export interface RememberedModel {
  readonly model: string | undefined;
  /** One line for the person: the file is there but says nothing that can be used. It is left as it is. */
  readonly problem?: string;
}

export function rememberedModelPath(configFolder: string): string {
  return join(configFolder, "model.json");
}

/** The model that was chosen at a first start. A file that cannot be read is named, never a reason not to start. */
export async function readRememberedModel(configFolder: string): Promise<RememberedModel> {
  const path = rememberedModelPath(configFolder);
  const unusable = (why: string) => ({
    model: undefined,
    problem: `${path} ${why}: the model chosen before is not used (remove the file to choose anew)`,
  });
  try {
    const content = objectOf(JSON.parse(await readFile(path, "utf8")));
    if (content === undefined) return unusable("is damaged");
    if (isNewer(content)) return unusable("was written by a newer version");
    return typeof content.model === "string" ? { model: content.model } : unusable("names no model");
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return { model: undefined };
    return unusable(error instanceof SyntaxError ? "is damaged" : `cannot be read (${problemOf(error)})`);
  }
}

/**
 * Keeps the choice. Durable on return; owner-only; unknown fields stay. A damaged file is replaced: a person has just
 * chosen again; a newer version's is not.
 *
 * @throws NodeJS.ErrnoException
 */
export async function rememberModel(configFolder: string, model: string): Promise<void> {
  await makeFolder(configFolder);
  const path = rememberedModelPath(configFolder);
  // A link stays a link: what it leads to is replaced.
  const target = await realpath(path).catch(() => path);
  const before = objectOf(await readFile(target, "utf8").then(JSON.parse, () => undefined));
  if (before !== undefined && isNewer(before)) return;
  const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.chmod(0o600);
      await file.writeFile(`${JSON.stringify({ ...before, format: FORMAT, model })}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const folder = await open(dirname(target), "r");
  await folder.sync().finally(() => folder.close());
}

interface Content {
  readonly [field: string]: unknown;
}

function isNewer(content: Content): boolean {
  return typeof content.format === "number" && content.format > FORMAT;
}

function objectOf(value: unknown): Content | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}
