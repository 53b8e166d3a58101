import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";
import { hasCode } from "../../src/errors.js";
import type { ModelServer } from "./model-server.js";
import { endProcess, processesWith } from "./processes.js";
import { openTerminal, type Terminal } from "./terminal.js";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** The program under test; CHAT_PROGRAM names another copy. */
export const program = process.env.CHAT_PROGRAM ?? join(root, "bin", "chat");

/** How the program is told about the model server: a provider's own variables, or flags. */
export type Provider = "anthropic" | "openai" | "google" | "none";

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly pid: number;
  readonly done: Promise<Finished>;
  readonly stdin: NodeJS.WritableStream;
  /** What has been printed so far. */
  stdout(): string;
  stderr(): string;
  closeStdout(): void;
}

export interface OpenOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A command that starts the program, which is appended: `["/bin/sh", "-c", 'umask 0; exec "$@"', "sh"]`. */
  readonly prefix?: readonly string[];
}

/** A person's computer: an empty home, a folder to work in, and `chat` in it. */
export interface Home {
  readonly folder: string;
  readonly home: string;
  readonly work: string;
  readonly env: Readonly<Record<string, string>>;
  /** `chat ARGS` in a terminal. */
  open(args?: readonly string[], options?: OpenOptions): Terminal;
  /** `chat ARGS` without a terminal, to its end. Without `input` stdin is empty. */
  run(args: readonly string[], options?: { input?: string } & Omit<OpenOptions, "columns" | "rows">): Promise<Finished>;
  /** The same, to be followed while it runs. */
  start(args: readonly string[], options?: Omit<OpenOptions, "columns" | "rows">): Running;
  /** Rows of `chat list --json`. */
  list(): Promise<Array<Record<string, unknown> & { id: string }>>;
  /** Every regular file under the home, absolute. */
  files(): string[];
  /** The files that hold these bytes. */
  filesWith(text: string): string[];
  /** The contents of those files, read once: a running program may remove or rename them at any moment. */
  textsWith(text: string): string[];
  /** A second computer with the same files, as they are on disk now. */
  copy(): Home;
}

const opened: Array<{ folder: string; terminals: Terminal[] }> = [];

afterEach(() => {
  for (const { folder, terminals } of opened.splice(0)) {
    for (const terminal of terminals) terminal.kill("SIGKILL");
    for (const { pid } of processesWith(folder)) endProcess(pid);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
});

/** A fresh home whose `chat` knows the server as this provider. All of it is gone after the test. */
export function createHome(server: ModelServer | undefined, provider: Provider = "anthropic"): Home {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "chat-e2e-")));
  mkdirSync(join(folder, "home"));
  mkdirSync(join(folder, "work"));
  return homeIn(folder, providerEnv(server, provider));
}

export const testKey = "sk-CANARY-4f2a9c";

function providerEnv(server: ModelServer | undefined, provider: Provider): Record<string, string> {
  if (server === undefined || provider === "none") return {};
  if (provider === "google") return { GOOGLE_GENERATIVE_AI_API_KEY: testKey, GOOGLE_GEMINI_BASE_URL: server.url };
  if (provider === "anthropic") return { ANTHROPIC_API_KEY: testKey, ANTHROPIC_BASE_URL: server.url };
  return { OPENAI_API_KEY: testKey, OPENAI_BASE_URL: `${server.url}/v1` };
}

function homeIn(folder: string, providers: Readonly<Record<string, string>>): Home {
  if (!existsSync(program)) throw new Error(`${program} is not there: build it with \`npm run build\``);
  const home = join(folder, "home");
  const work = join(folder, "work");
  const env = {
    HOME: home,
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    ...providers,
  };
  const terminals: Terminal[] = [];
  opened.push({ folder, terminals });

  const start: Home["start"] = (args, options = {}) => {
    const [file = process.execPath, ...rest] = [...(options.prefix ?? []), process.execPath, program, ...args];
    const child = spawn(file, rest, {
      cwd: options.cwd ?? work,
      env: { ...env, ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on("data", (data: Buffer) => stdout.push(data));
    child.stderr.on("data", (data: Buffer) => stderr.push(data));
    // A program that leaves without reading its input is its right.
    child.stdin.on("error", () => {});
    const done = new Promise<Finished>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) =>
        resolve({ code, signal, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }),
      );
    });
    return {
      pid: child.pid ?? 0,
      done,
      stdin: child.stdin,
      stdout: () => Buffer.concat(stdout).toString(),
      stderr: () => Buffer.concat(stderr).toString(),
      closeStdout: () => child.stdout.destroy(),
    };
  };
  const run: Home["run"] = (args, options = {}) => {
    const running = start(args, options);
    running.stdin.end(options.input ?? "");
    return running.done;
  };
  const files = (): string[] => filesUnder(home);
  return {
    folder,
    home,
    work,
    env,
    start,
    run,
    files,
    open(args = [], options = {}) {
      const { columns, rows } = options;
      const [file = process.execPath, ...rest] = [...(options.prefix ?? []), process.execPath, program, ...args];
      const terminal = openTerminal({
        file,
        args: rest,
        env: { ...env, ...options.env },
        cwd: options.cwd ?? work,
        ...(columns === undefined ? {} : { columns }),
        ...(rows === undefined ? {} : { rows }),
      });
      terminals.push(terminal);
      return terminal;
    },
    async list() {
      const { code, stdout, stderr } = await run(["list", "--json"]);
      if (code !== 0) throw new Error(`chat list --json: exit ${code}\n${stdout}${stderr}`);
      return rowsOf(stdout);
    },
    filesWith: (text) => files().filter((file) => whileThere(() => readFileSync(file), Buffer.alloc(0)).includes(text)),
    textsWith: (text) =>
      files()
        .map((file) => whileThere(() => readFileSync(file, "utf8"), ""))
        .filter((content) => content.includes(text)),
    copy() {
      const copied = realpathSync(mkdtempSync(join(tmpdir(), "chat-e2e-")));
      cpSync(folder, copied, { recursive: true });
      return homeIn(copied, providers);
    },
  };
}

/** The rows of `list --json`: one array, or one object a line. */
function rowsOf(stdout: string): Array<Record<string, unknown> & { id: string }> {
  const text = stdout.trim();
  if (text === "") return [];
  return text.startsWith("[") ? JSON.parse(text) : text.split("\n").map((line) => JSON.parse(line));
}

function filesUnder(folder: string): string[] {
  const entries = whileThere(() => readdirSync(folder, { withFileTypes: true }), []);
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesUnder(path);
    return entry.isFile() ? [path] : [];
  });
}

/** What was listed a moment ago may be gone: the program under test runs meanwhile. */
function whileThere<T>(look: () => T, gone: T): T {
  try {
    return look();
  } catch (error) {
    if (hasCode(error, "ENOENT")) return gone;
    throw error;
  }
}
