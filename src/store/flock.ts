import { spawn } from "node:child_process";
import os from "node:os";
import { problemOf } from "../errors.js";

/**
 * Takes flock(2) on an open file without waiting: a function that gives it back, or "busy".
 * The kernel gives it back too when the process that took it ends, however it ends.
 */
export type Flock = (file: { fd: number; path: string }) => Promise<(() => Promise<void>) | "busy">;

const LOCK_EX_NB = 2 | 4;
const LOCK_UN = 8;

/** flock(2) of the C library, called through koffi. Rejects when that cannot be loaded here. */
export async function flockOfLibrary(): Promise<Flock> {
  const koffi = await loadKoffi();
  const flock = koffi.load(null).func("int flock(int fd, int operation)");
  return async ({ fd }) => {
    while (flock(fd, LOCK_EX_NB) !== 0) {
      const errno = koffi.errno();
      if (errno === os.constants.errno.EWOULDBLOCK) return "busy";
      if (errno !== os.constants.errno.EINTR) throw new Error(`flock failed: ${errnoName(errno)}`);
    }
    return async () => {
      flock(fd, LOCK_UN);
    };
  };
}

/**
 * koffi's native part alone where its package is found: 6 ms, where koffi's own way to it loads Node's ES module loader
 * and takes 22, before the prompt of every resume.
 */
async function loadKoffi(): Promise<Pick<typeof import("koffi"), "load" | "errno">> {
  try {
    const name = `@koromix/koffi-${process.platform}-${process.arch}`;
    const { default: native } = await import(name);
    if (typeof native.load === "function" && typeof native.errno === "function") return native;
  } catch {
    // Another platform, or installed in another way: koffi itself knows them all, and says why where it does not load.
  }
  return (await import("koffi")).default;
}

/**
 * The program flock(1) as a child that holds the lock for as long as its stdin, a pipe from us, is open: so the lock ends
 * with this process, if a moment later. A session of its own keeps Ctrl+C at the terminal from it.
 */
export const flockOfProgram: Flock = ({ path }) => {
  return new Promise((resolve, reject) => {
    const child = spawn("flock", ["-n", path, "sh", "-c", "echo held; exec cat"], {
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
      cwd: "/",
      env: { PATH: process.env.PATH },
    });
    let said = "";
    let complaint = "";
    const ended = new Promise<void>((done) => child.once("close", () => done()));
    child.once("error", (error) => reject(new Error(`the program flock does not run: ${problemOf(error)}`)));
    child.once("close", (exitCode) => {
      if (exitCode === 1 && complaint === "") resolve("busy");
      else reject(new Error(`the program flock failed: ${complaint.trim() || `exit code ${exitCode}`}`));
    });
    child.stderr.on("data", (chunk) => {
      complaint += String(chunk);
    });
    child.stdin.on("error", () => undefined);
    child.stdout.on("data", (chunk) => {
      said += String(chunk);
      if (!said.includes("\n")) return;
      letGo(child);
      resolve(async () => {
        child.ref();
        child.stdin.end();
        await ended;
      });
    });
  });
};

/** The first of the two that works here. Rejects with the reasons when none does. */
export function findFlock(
  load: () => Promise<Flock> = flockOfLibrary,
  fallback: Flock = flockOfProgram,
): Promise<Flock> {
  return load().catch((reason: unknown): Flock => {
    return async (file) => {
      try {
        return await fallback(file);
      } catch (error) {
        throw new Error(`koffi does not load (${problemOf(reason)}); ${problemOf(error)}`);
      }
    };
  });
}

/** So that a lock that is still held does not keep the process alive. */
function letGo(child: ReturnType<typeof spawn>): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) {
    if (stream !== null && "unref" in stream && typeof stream.unref === "function") stream.unref();
  }
}

function errnoName(errno: number): string {
  const found = Object.entries(os.constants.errno).find(([, number]) => number === errno);
  return found?.[0] ?? `errno ${errno}`;
}
