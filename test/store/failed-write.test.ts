import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { type Fault, FaultyDisk } from "./faulty-disk.js";
import { entries, entry, logPath, saved, seqs, snapshot, snapshotPath } from "./states.js";

const log = /log\.jsonl$/;
const lineBytes = 95;

/** Open to be written to, as after any save of its own: opening has steps that can fail, too. */
async function savedAndOpen(store: FileStore, id: string, count: number): Promise<void> {
  await saved(store, id, count);
  await store.write(id, [], snapshot({ task: id }));
}

async function faultyStore(): Promise<{ store: FileStore; disk: FaultyDisk }> {
  const disk = new FaultyDisk();
  return { store: new FileStore(await tempFolder(), { disk }), disk };
}

/** What another process finds: read with a disk of its own. */
function asOthersSee(store: FileStore): FileStore {
  return new FileStore(store.key);
}

describe("when an append fails", () => {
  const appendFaults: Fault[] = [
    ...[0, 1, 20, lineBytes, 150].map((keepBytes): Fault => ({ call: "write", path: log, code: "ENOSPC", keepBytes })),
    { call: "datasync", path: log, code: "EIO" },
  ];

  it.each(appendFaults)("$call $code after $keepBytes bytes: the next save writes all of it, once", async (fault) => {
    const { store, disk } = await faultyStore();
    await savedAndOpen(store, "a", 3);
    const before = await readFile(logPath(store, "a"));

    disk.faults.add(fault);
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(store.write("a", entries(3, 5), undefined)).rejects.toMatchObject({
        code: fault.code,
        message: expect.stringContaining(logPath(store, "a")),
      });
      expect(await readFile(logPath(store, "a"))).toEqual(before);
      expect(await seqs(store, "a")).toEqual([0, 1, 2]);
    }
    disk.faults.clear();

    await store.write("a", entries(3, 6), snapshot());
    await store.unlock("a");
    const record = await asOthersSee(store).read("a");
    expect(record?.entries).toEqual(entries(0, 6));
    expect(record).not.toHaveProperty("damage");
  });

  it.each(appendFaults)(
    "$call $code after $keepBytes bytes, and cutting back fails too: nothing is glued to it",
    async (fault) => {
      const { store, disk } = await faultyStore();
      await savedAndOpen(store, "a", 3);
      const cutFault: Fault = { call: "truncate", path: log, code: "EIO" };
      disk.faults.add(fault).add(cutFault);
      await expect(store.write("a", entries(3, 5), undefined)).rejects.toMatchObject({ code: fault.code });
      expect(await seqs(store, "a")).toEqual([0, 1, 2]);
      disk.faults.delete(fault);
      if ((fault.keepBytes ?? 1) > 0) {
        await expect(store.write("a", entries(3, 5), undefined)).rejects.toMatchObject({ code: "EIO" });
      }
      disk.faults.clear();
      await store.write("a", [entry(3, { text: "written again" })], undefined);
      await store.unlock("a");
      const record = await asOthersSee(store).read("a");
      expect(record?.entries).toEqual([...entries(0, 3), entry(3, { text: "written again" })]);
      expect(record).not.toHaveProperty("damage");
    },
  );

  it("writes the bytes again after a failed sync, instead of only syncing again", async () => {
    const { store, disk } = await faultyStore();
    await savedAndOpen(store, "a", 1);
    const fault: Fault = { call: "datasync", path: log, code: "EIO" };
    disk.faults.add(fault);
    await expect(store.write("a", [entry(1)], undefined)).rejects.toMatchObject({ code: "EIO" });
    disk.faults.clear();
    disk.calls.length = 0;
    await store.write("a", [entry(1)], undefined);
    const ofLog = disk.calls.filter((call) => log.test(call)).map((call) => call.split(" ")[0]);
    expect(ofLog).toEqual(["write", "datasync"]);
    await store.unlock("a");
  });

  it("one that could not be cut back before it was closed is read and written on, by this process and by others", async () => {
    const { store, disk } = await faultyStore();
    await savedAndOpen(store, "a", 2);
    disk.faults.add({ call: "write", path: log, code: "ENOSPC", keepBytes: 10_000 });
    disk.faults.add({ call: "truncate", path: log, code: "EIO" });
    await expect(store.write("a", [entry(2)], undefined)).rejects.toMatchObject({ code: "ENOSPC" });
    expect(await seqs(store, "a")).toEqual([0, 1]);
    await store.unlock("a");
    disk.faults.clear();
    const other = asOthersSee(store);
    await other.write("a", [entry(3)], undefined);
    await other.unlock("a");
    expect(await seqs(store, "a")).toEqual([0, 1, 2, 3]);
    await store.write("a", [entry(4)], undefined);
    await store.unlock("a");
    expect(await seqs(other, "a")).toEqual([0, 1, 2, 3, 4]);
  });

  it("a conversation that was closed after the failure opens clean", async () => {
    const { store, disk } = await faultyStore();
    await savedAndOpen(store, "a", 2);
    disk.faults.add({ call: "write", path: log, code: "ENOSPC", keepBytes: 30 });
    disk.faults.add({ call: "truncate", path: log, code: "EIO" });
    await expect(store.write("a", [entry(2)], undefined)).rejects.toMatchObject({ code: "ENOSPC" });
    await store.unlock("a");
    disk.faults.clear();
    await store.write("a", [entry(2)], undefined);
    await store.unlock("a");
    expect(await seqs(asOthersSee(store), "a")).toEqual([0, 1, 2]);
  });
});

describe("when a snapshot cannot be written", () => {
  const temp = /snapshot\.json\..*\.tmp$/;
  const faults: Fault[] = [
    { call: "open", path: temp, code: "ENOSPC" },
    { call: "write", path: temp, code: "ENOSPC", keepBytes: 10 },
    { call: "sync", path: temp, code: "EIO" },
    { call: "rename", path: /snapshot\.json$/, code: "EIO" },
  ];
  it.each(faults)("$call: the old one stays, the entries are kept, no temporary file is left", async (fault) => {
    const { store, disk } = await faultyStore();
    await saved(store, "a", 2);
    disk.faults.add(fault);
    await expect(store.write("a", [entry(2)], snapshot({ task: "new" }))).rejects.toMatchObject({ code: fault.code });
    expect(await asOthersSee(store).read("a")).toMatchObject({ snapshot: { task: "a" } });
    expect(await seqs(asOthersSee(store), "a")).toEqual([0, 1, 2]);
    expect(await readdir(path.dirname(snapshotPath(store, "a")))).toEqual(["lock", "log.jsonl", "snapshot.json"]);
    disk.faults.clear();
    await store.write("a", [entry(2)], snapshot({ task: "new" }));
    await store.unlock("a");
    expect(await asOthersSee(store).read("a")).toMatchObject({ snapshot: { task: "new" } });
    expect(await seqs(asOthersSee(store), "a")).toEqual([0, 1, 2]);
  });

  it("removes what a writer that died left beside it", async () => {
    const { store } = await faultyStore();
    await saved(store, "a", 1);
    const { writeFile } = await import("node:fs/promises");
    await writeFile(`${snapshotPath(store, "a")}.0123456789ab.tmp`, "half");
    await store.write("a", [], snapshot());
    await store.unlock("a");
    expect(await readdir(path.dirname(snapshotPath(store, "a")))).toEqual(["lock", "log.jsonl", "snapshot.json"]);
  });
});

describe("when a conversation cannot be made", () => {
  const faults: Fault[] = [
    { call: "open", path: /\.new-a-.*log\.jsonl$/, code: "EDQUOT" },
    { call: "write", path: /\.new-a-.*log\.jsonl$/, code: "ENOSPC", keepBytes: 40 },
    { call: "sync", path: /\.new-a-.*log\.jsonl$/, code: "EIO" },
    { call: "write", path: /\.new-a-.*snapshot\.json$/, code: "ENOSPC", keepBytes: 3 },
    { call: "syncFolder", path: /\.new-a-[^/]*$/, code: "EIO" },
    { call: "rename", path: /a$/, code: "EIO" },
    { call: "syncFolder", path: /perdure-test-[^/]*$/, code: "EIO" },
  ];
  it.each(faults)("$call of $path: nothing of it is there, and trying again makes it", async (fault) => {
    const { store, disk } = await faultyStore();
    disk.faults.add(fault);
    const create = () => store.write("a", entries(0, 2), snapshot(), { create: true });
    await expect(create()).rejects.toMatchObject({ code: fault.code });
    expect(await store.read("a")).toBeUndefined();
    expect(await store.list()).toEqual([]);
    // Hidden files may wait until their new name is durable.
    expect((await readdir(store.key)).filter((name) => !name.startsWith("."))).toEqual([]);
    disk.faults.clear();
    await create();
    expect(await seqs(store, "a")).toEqual([0, 1]);
    await store.unlock("a");
    expect((await readdir(store.key)).sort()).toEqual([".stamp", "a"]);
  });

  it("and cannot be hidden again either: the one who made it goes on, everybody else sees it whole", async () => {
    const { store, disk } = await faultyStore();
    disk.faults.add({ call: "syncFolder", path: /perdure-test-[^/]*$/, code: "EIO" });
    const noWayBack: Fault = { call: "rename", path: /\.new-a-/, code: "EIO" };
    disk.faults.add(noWayBack);
    const create = () => store.write("a", entries(0, 2), snapshot(), { create: true });
    for (let attempt = 0; attempt < 2; attempt++) await expect(create()).rejects.toMatchObject({ code: "EIO" });
    expect(await asOthersSee(store).list()).toMatchObject([{ id: "a", historyLength: 2 }]);
    await expect(asOthersSee(store).lock("a")).rejects.toMatchObject({ code: "STATE_LOCKED" });
    disk.faults.clear();
    await create();
    await store.write("a", [entry(2)], undefined);
    await store.unlock("a");
    expect(await seqs(asOthersSee(store), "a")).toEqual([0, 1, 2]);
    expect((await readdir(store.key)).sort()).toEqual([".stamp", "a"]);
  });

  it("is made all the same when what others left behind cannot be looked through", async () => {
    const { store, disk } = await faultyStore();
    disk.faults.add({ call: "list", path: /perdure-test-[^/]*$/, code: "EIO" });
    await store.write("a", entries(0, 1), snapshot(), { create: true });
    await store.write("a", entries(0, 2), undefined);
    await store.unlock("a");
    disk.faults.clear();
    expect(await seqs(store, "a")).toEqual([0, 1]);
  });

  it("syncs the files, their folder and the store's folder before it returns, in that order", async () => {
    const { store, disk } = await faultyStore();
    await store.write("a", [entry(0)], snapshot(), { create: true });
    await store.unlock("a");
    const named = disk.calls
      .filter((call) => !call.includes(".stamp") && !call.startsWith("list"))
      .map((call) =>
        call
          .replace(store.key, "")
          .replace(/\.new-a-\w+/, "NEW")
          .trimEnd(),
      );
    expect(named.slice(-3)).toEqual(["syncFolder /NEW", "rename /a", "syncFolder"]);
    for (const file of ["log.jsonl", "snapshot.json"]) {
      const writes = named.indexOf(`write /NEW/${file}`);
      const syncs = named.indexOf(`sync /NEW/${file}`);
      expect(writes).toBeGreaterThanOrEqual(0);
      expect(syncs).toBeGreaterThan(writes);
      expect(syncs).toBeLessThan(named.indexOf("syncFolder /NEW"));
    }
  });
});

it("goes on saving when the shared stamp cannot be written", async () => {
  const { store, disk } = await faultyStore();
  disk.faults.add({ call: "open", path: /\.stamp$/, code: "EACCES" });
  await saved(store, "a", 2);
  await saved(store, "b", 2);
  expect((await store.list()).map(({ id }) => id)).toEqual(["b", "a"]);
});

it("touches no disk when there is nothing to write", async () => {
  const { store, disk } = await faultyStore();
  await saved(store, "a", 1);
  disk.calls.length = 0;
  await store.write("a", [], undefined);
  expect(disk.calls).toEqual([]);
});

it("refuses a gap in seq as a bug of the caller, before anything is written", async () => {
  const { store } = await faultyStore();
  await saved(store, "a", 2);
  const before = await readFile(logPath(store, "a"));
  await expect(store.write("a", [entry(2), entry(4)], undefined)).rejects.toMatchObject({ code: "STATE_SEQ_GAP" });
  await expect(store.write("a", [entry(3)], snapshot())).rejects.toThrow("must have seq 2, not 3");
  await store.unlock("a");
  await expect(store.write("b", [entry(1)], snapshot(), { create: true })).rejects.toMatchObject({
    code: "STATE_SEQ_GAP",
  });
  expect(await readFile(logPath(store, "a"))).toEqual(before);
  expect(await store.read("b")).toBeUndefined();
});
