import { spawnSync } from "node:child_process";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** A real file system of its own that is soon full. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all the space there is. */
  fill(): void;
  free(): void;
  readOnly(on: boolean): void;
  unmount(): void;
}

/** Undefined where it cannot be mounted: not root, not Linux. */
export async function mountSmallDisk(folder: string, size = "1m"): Promise<SmallDisk | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (!mount("-t", "tmpfs", "-o", `size=${size},mode=0700`, "tmpfs", folder)) return undefined;
  const filler = join(folder, "filler");
  return {
    folder,
    fill() {
      const file = openSync(filler, "a");
      const block = Buffer.alloc(4096, "x");
      try {
        for (;;) writeSync(file, block);
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler),
    readOnly: (on) => {
      // A second mount of it above the first: files that are open for writing would keep the first one from changing.
      const done = on
        ? mount("--bind", folder, folder) && mount("-o", "remount,bind,ro", folder)
        : spawnSync("umount", [folder]).status === 0;
      if (!done) throw new Error(`${folder} cannot be made ${on ? "read-only" : "writable"}`);
    },
    unmount() {
      while (spawnSync("umount", ["-l", folder], { stdio: "ignore" }).status === 0);
    },
  };
}

function mount(...args: string[]): boolean {
  return spawnSync("mount", args).status === 0;
}
