import { createHash } from "node:crypto";
import { createReadStream, type Stats } from "node:fs";
import { mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { RecoverContext, Recovered, ToolContext } from "../agent/tool.js";
import { hasCode } from "../errors.js";

const FORMAT = 1;
/** A larger file is told by its size, its time and its inode instead of by what it holds. */
const HASHED_BYTES_MAX = 64 * 1024 * 1024;

/** What a call is about to do to a file: enough to say later whether it did. */
interface Intent {
  readonly path: string;
  /** `sha256:…`, `stat:…` for a large file, `absent`. */
  readonly before: string;
  readonly after: string;
  /** The call's result, when it took effect. */
  readonly text: string;
}

type Call = Pick<ToolContext, "outputPath">;

/**
 * Keeps the intent in the call's own folder; durable on return. Where it cannot be kept (no conversation, a full disk) the
 * file is written all the same, and nobody can say later whether it was.
 */
export async function keepIntent(
  call: Call,
  path: string,
  before: Stats | undefined,
  after: Buffer,
  text: string,
): Promise<void> {
  const file = intentPath(call);
  if (file === undefined) return;
  try {
    const intent: Intent = { path, before: await fingerprint(path, before), after: sha256(after), text };
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const handle = await open(file, "w", 0o600);
    try {
      await handle.writeFile(`${JSON.stringify({ format: FORMAT, ...intent })}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    await rm(file, { force: true }).catch(() => undefined);
  }
}

/** Whether the write took effect, from the intent and what the file holds now. */
export async function recoverWrite(context: RecoverContext): Promise<Recovered> {
  const file = intentPath(context);
  if (file === undefined) return "unknown";
  const intent = await readIntent(file);
  // The intent comes before the write. That there is none may also be what a lost machine left.
  if (intent === undefined) return context.wasStarted && context.restarted ? "unknown" : "not_run";
  const stats = await stat(intent.path).catch((error: unknown) => {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  });
  if ((await fingerprint(intent.path, stats, "hashed")) === intent.after) return { text: intent.text };
  if ((await fingerprint(intent.path, stats)) === intent.before) return "not_run";
  return { unknown: `${intent.path} is neither what it was nor what it was to become: it was changed meanwhile` };
}

export async function forgetIntent(call: Call): Promise<void> {
  const file = intentPath(call);
  if (file !== undefined) await rm(dirname(file), { recursive: true, force: true });
}

function intentPath(call: Call): string | undefined {
  return call.outputPath === undefined ? undefined : join(dirname(call.outputPath), "intent.json");
}

async function readIntent(file: string): Promise<Intent | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return isIntent(value) ? value : undefined;
  } catch (error) {
    // Half of it: the write had not begun.
    if (error instanceof SyntaxError || hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

function isIntent(value: unknown): value is Intent {
  if (typeof value !== "object" || value === null) return false;
  return ["path", "before", "after", "text"].every((key) => typeof Reflect.get(value, key) === "string");
}

async function fingerprint(path: string, stats: Stats | undefined, how?: "hashed"): Promise<string> {
  if (stats === undefined) return "absent";
  if (how === undefined && stats.size > HASHED_BYTES_MAX) return `stat:${stats.size}:${stats.mtimeMs}:${stats.ino}`;
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return `sha256:${hash.digest("hex")}`;
}

function sha256(content: Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
