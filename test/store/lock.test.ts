import { closeSync, openSync } from "node:fs";
import { readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { findFlock, flockOfLibrary, flockOfProgram } from "../../src/store/flock.js";
import { isHeld, takeLockWith } from "../../src/store/lock.js";
import { nodeDisk } from "../../src/store/node-disk.js";
import { tempFolder } from "../support/temp-folder.js";
import { OtherProcess } from "./other-process.js";
import { entry, saved, seqs, snapshot } from "./states.js";

describe("one process writes a conversation at a time", () => {
  it("a second one is told who holds it and since when, and writes nothing", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    const other = await OtherProcess.start(store.key);
    await other.call("lock", "a");
    const refusal = {
      code: "STATE_LOCKED",
      message: expect.stringMatching(
        new RegExp(`conversation a is open in another process \\(pid ${other.pid}.*since 20`),
      ),
      owner: { pid: other.pid, since: expect.stringMatching(/^20.*Z$/) },
    };
    await expect(store.lock("a")).rejects.toMatchObject(refusal);
    await expect(store.write("a", [entry(1)], snapshot())).rejects.toMatchObject(refusal);
    await expect(store.delete("a")).rejects.toMatchObject(refusal);
    expect(await seqs(store, "a")).toEqual([0]);
    expect(await store.list()).toHaveLength(1);
  });

  it("holds it from the first write on, also of a conversation just made", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    const other = await OtherProcess.start(store.key);
    await other.call("write", "a", [entry(1)], undefined);
    await other.call("write", "b", [entry(0)], snapshot(), { create: true });
    for (const id of ["a", "b"]) await expect(store.lock(id)).rejects.toMatchObject({ code: "STATE_LOCKED" });
    await other.call("unlock", "a");
    await store.write("a", [entry(2)], undefined);
    expect(await seqs(store, "a")).toEqual([0, 1, 2]);
    await expect(other.call("write", "a", [entry(3)])).rejects.toMatchObject({ code: "STATE_LOCKED" });
    await store.unlock("a");
  });

  it("a holder that is killed holds it no more, although its children live", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    const other = await OtherProcess.start(store.key);
    await other.call("write", "a", [entry(1)]);
    const child = Number(await other.call("spawnSleep"));
    onTestFinished(() => void process.kill(child, "SIGKILL"));
    await other.end("SIGKILL");
    await store.write("a", [entry(2)], undefined);
    expect(await seqs(store, "a")).toEqual([0, 1, 2]);
    await store.unlock("a");
  });

  it("what a lock file says does not lock: only its holder does", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    const lockFile = path.join(store.key, "a", "lock");
    await writeFile(lockFile, JSON.stringify({ pid: 1, since: "2020-01-01T00:00:00.000Z" }));
    await store.lock("a");
    expect(JSON.parse(await readFile(lockFile, "utf8"))).toMatchObject({ pid: process.pid });
    await store.unlock("a");
  });

  it("locking twice is locking once, and two stores of one folder are one", async () => {
    const root = await tempFolder();
    await symlink(root, `${root}-link`);
    onTestFinished(() => rm(`${root}-link`));
    const store = new FileStore(root);
    const same = new FileStore(`${root}-link/../${path.basename(root)}-link`);
    expect(same.key).toBe(store.key);
    await saved(store, "a", 1);
    await store.lock("a");
    await same.lock("a");
    await same.write("a", [entry(1)], undefined);
    await store.write("a", [entry(2)], undefined);
    expect(await seqs(same, "a")).toEqual([0, 1, 2]);
    await same.unlock("a");
    const other = await OtherProcess.start(root);
    await other.call("lock", "a");
  });

  it("many processes that write at once: every write is there once, or was refused", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 0);
    const others = await Promise.all([1, 2, 3].map(() => OtherProcess.start(store.key)));
    let acknowledged = 0;
    await Promise.all(
      others.map(async (other) => {
        for (let attempt = 0; attempt < 30; attempt++) {
          try {
            await other.call("lock", "a");
            const record = await store.read("a");
            await other.call("write", "a", [entry(record?.entries.length ?? 0, { text: `by ${other.pid}` })]);
            acknowledged++;
            await other.call("unlock", "a");
          } catch (error) {
            expect(error).toMatchObject({ code: "STATE_LOCKED" });
          }
        }
      }),
    );
    expect(await seqs(store, "a")).toEqual(Array.from({ length: acknowledged }, (_, seq) => seq));
    expect(acknowledged).toBeGreaterThan(0);
  });

  it("an unknown conversation cannot be locked or written to", async () => {
    const store = new FileStore(await tempFolder());
    await expect(store.lock("a")).rejects.toMatchObject({ code: "STATE_NOT_FOUND" });
    await expect(store.write("a", [entry(0)], undefined)).rejects.toMatchObject({ code: "STATE_NOT_FOUND" });
    await store.unlock("a");
  });
});

describe("the ways to lock", () => {
  const ways = { "the C library": flockOfLibrary, "the program flock": async () => flockOfProgram };
  it.each(Object.entries(ways))("%s: held until released, busy for others", async (_, load) => {
    const flock = await load();
    const file = path.join(await tempFolder(), "lock");
    const first = await takeLockWith(flock, file);
    expect(isHeld(first)).toBe(true);
    for (const way of Object.values(ways)) {
      expect(await takeLockWith(await way(), file)).toMatchObject({ owner: { pid: process.pid } });
    }
    if (isHeld(first)) await first.release();
    const second = await takeLockWith(flock, file);
    expect(isHeld(second)).toBe(true);
    if (isHeld(second)) await second.release();
  });

  it("a lock file that is replaced while it is taken is not taken for the one that others meet", async () => {
    const file = path.join(await tempFolder(), "lock");
    const flock = await flockOfLibrary();
    let replaced = false;
    const lock = await takeLockWith(async (at) => {
      if (!replaced) {
        await rm(file);
        openSync(file, "w");
        replaced = true;
      }
      return flock(at);
    }, file);
    expect(isHeld(lock)).toBe(true);
    expect(await takeLockWith(flock, file)).toHaveProperty("owner");
    if (isHeld(lock)) await lock.release();
  });

  it("without the library the program is used; without both it is refused with the reasons", async () => {
    const file = path.join(await tempFolder(), "lock");
    const broken = () => Promise.reject(new Error("no such module"));
    const lock = await takeLockWith(await findFlock(broken), file);
    expect(isHeld(lock)).toBe(true);
    if (isHeld(lock)) await lock.release();
    const none = await findFlock(broken, () => Promise.reject(new Error("spawn flock ENOENT")));
    await expect(takeLockWith(none, file)).rejects.toMatchObject({
      code: "LOCK_UNAVAILABLE",
      message: expect.stringMatching(/no such module.*spawn flock ENOENT[\s\S]*--no-lock/),
    });
  });
});

describe("a file system without locks", () => {
  const noLocks = (at: string) => takeLockWith(() => Promise.reject(new Error("flock failed: ENOLCK")), at);

  it("is refused with the path, the reason and the ways out; nothing is made, and reading goes on", async () => {
    const root = await tempFolder();
    await saved(new FileStore(root), "a", 2);
    const store = new FileStore(root, { disk: { ...nodeDisk }, takeLock: noLocks });
    const refusal = {
      code: "LOCK_UNAVAILABLE",
      problem: expect.stringMatching(/lock cannot be locked: flock failed: ENOLCK/),
      fix: expect.stringMatching(/local disk.*--no-lock.*lock: "none"/),
    };
    await expect(store.write("b", [], snapshot(), { create: true })).rejects.toMatchObject(refusal);
    await expect(store.write("a", [entry(2)], undefined)).rejects.toMatchObject(refusal);
    await expect(store.lock("a")).rejects.toMatchObject(refusal);
    await expect(store.delete("a")).rejects.toMatchObject(refusal);
    expect((await store.list()).map(({ id }) => id)).toEqual(["a"]);
    expect(await seqs(store, "a")).toEqual([0, 1]);
    expect((await readdir(root)).sort()).toEqual([".stamp", "a"]);
  });

  it("can be used without a lock by who asks for that; what others change is still noticed", async () => {
    const root = await tempFolder();
    const store = new FileStore(root, { disk: { ...nodeDisk }, lock: "none" });
    await saved(store, "a", 2);
    const other = new FileStore(root, { disk: { ...nodeDisk }, lock: "none" });
    await store.write("a", [entry(2)], undefined);
    await other.write("a", [entry(3)], undefined);
    await expect(store.write("a", [entry(3, { text: "mine" })], undefined)).rejects.toMatchObject({
      code: "STATE_CHANGED_OUTSIDE",
    });
    expect(await seqs(store, "a")).toEqual([0, 1, 2, 3]);
    await store.unlock("a");
    await store.delete("a");
    expect(await other.list()).toEqual([]);
  });
});

describe("who is told to hold a lock", () => {
  it("is never one who gave it back or died, while the next one is about to write its name", async () => {
    const file = path.join(await tempFolder(), "lock");
    const flock = await flockOfLibrary();
    const first = await takeLockWith(flock, file);
    if (isHeld(first)) await first.release();
    expect(await readFile(file, "utf8")).toBe("");
    await writeFile(file, JSON.stringify({ pid: 2 ** 22 + 1, since: "2020-01-01T00:00:00.000Z" }));
    const fd = openSync(file, "r+");
    expect(await flock({ fd, path: file })).not.toBe("busy");
    const asking = takeLockWith(flock, file);
    await writeFile(file, JSON.stringify({ pid: process.pid, since: "2026-01-01T00:00:00.000Z" }));
    expect(await asking).toEqual({ owner: { pid: process.pid, since: "2026-01-01T00:00:00.000Z" } });
    closeSync(fd);
  });
});
