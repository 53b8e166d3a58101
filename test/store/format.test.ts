import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { append, entry, logLines, logPath, saved, seqs, snapshot, snapshotPath } from "./states.js";

describe("ids", () => {
  const illegal = [
    "",
    ".",
    "..",
    "../victim",
    "/tmp/victim",
    "a/b",
    "a.b",
    "a b",
    "é",
    "a\n",
    "a\0",
    "%00",
    "x".repeat(129),
    7,
    null,
  ];
  it.each(illegal)("%j is refused before any file is touched", async (id) => {
    const root = path.join(await tempFolder(), "store");
    const store = new FileStore(root);
    const refusal = { code: "STATE_ID_INVALID" };
    const given = id as string;
    await expect(store.write(given, [entry(0)], snapshot(), { create: true })).rejects.toMatchObject(refusal);
    await expect(store.write(given, [], undefined)).rejects.toMatchObject(refusal);
    await expect(store.read(given)).rejects.toMatchObject(refusal);
    await expect(store.delete(given)).rejects.toMatchObject(refusal);
    await expect(store.lock(given)).rejects.toMatchObject(refusal);
    expect(() => store.callPath(given, "c")).toThrow("not the id");
    expect(await readdir(path.dirname(root))).toEqual([]);
  });

  it.each(["a", "-x", "_", "CON", "stamp", "x".repeat(128), "constructor", "__proto__"])("%s is one", async (id) => {
    const store = new FileStore(await tempFolder());
    await saved(store, id, 1);
    expect(await seqs(store, id)).toEqual([0]);
    expect((await store.list()).map((row) => row.id)).toEqual([id]);
    await store.delete(id);
  });

  it("whatever a model calls its calls, each has a file of its own inside the conversation", async () => {
    const store = new FileStore(await tempFolder());
    const callIds = [
      "call_1",
      "",
      ".",
      "..",
      "../../victim",
      "/etc",
      "functions.bash:0",
      "a|b",
      "é",
      "x".repeat(5000),
      "\0",
    ];
    const calls = path.join(store.key, "a", "calls");
    const files = callIds.map((callId) => store.callPath("a", callId));
    for (const file of files) expect(path.dirname(path.dirname(file))).toBe(calls);
    expect(files[0]).toBe(path.join(calls, "call_1", "output"));
    expect(new Set(files).size).toBe(callIds.length);
    expect(store.callPath("a", "..")).toBe(files[3]);
  });

  it("the id in the log must be that of its folder", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    const text = (await readFile(logPath(store, "a"), "utf8")).replace('"id":"a"', '"id":"../../victim"');
    await writeFile(logPath(store, "a"), text);
    await expect(store.read("a")).rejects.toMatchObject({
      code: "STATE_DAMAGED",
      message: expect.stringContaining("victim"),
    });
    await expect(store.write("a", [entry(1)], snapshot())).rejects.toMatchObject({ code: "STATE_DAMAGED" });
    await store.unlock("a");
    expect(await readFile(logPath(store, "a"), "utf8")).toBe(text);
  });
});

describe("formats", () => {
  it.each(["log", "snapshot"])("a newer one of the %s is refused and left as it is", async (which) => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 2);
    const file = which === "log" ? logPath(store, "a") : snapshotPath(store, "a");
    const text = (await readFile(file, "utf8")).replace('"format":1', '"format":2');
    await writeFile(file, text);
    const refusal = { code: "STATE_NEWER", message: expect.stringContaining(file) };
    await expect(store.read("a")).rejects.toMatchObject(refusal);
    await expect(store.write("a", [entry(2)], snapshot())).rejects.toMatchObject(refusal);
    await store.unlock("a");
    expect(await readFile(file, "utf8")).toBe(text);
    expect((await store.list())[0]?.problem).toContain("newer");
  });

  it("fields and kinds that others put there stay in both files", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    await append(logPath(store, "a"), '{"seq":1,"at":"x","kind":"later","turn":0,"odd":[{"a":1}]}\n');
    const header = (await readFile(logPath(store, "a"), "utf8")).replace('"format":1', '"format":1,"made":"by hand"');
    await writeFile(logPath(store, "a"), header);
    await writeFile(
      snapshotPath(store, "a"),
      (await readFile(snapshotPath(store, "a"), "utf8")).replace("{", '{"odd":1,'),
    );
    await store.write("a", [entry(2)], snapshot());
    await store.unlock("a");
    expect((await store.read("a"))?.entries[1]).toEqual({ seq: 1, at: "x", kind: "later", turn: 0, odd: [{ a: 1 }] });
    expect((await logLines(store, "a"))[0]).toContain('"made":"by hand"');
    expect(JSON.parse(await readFile(snapshotPath(store, "a"), "utf8"))).toMatchObject({ odd: 1, entries: 3 });
  });

  it("are what docs/format says", async () => {
    const store = new FileStore(await tempFolder(), { clock: () => 1_767_323_045_678 });
    await store.write("a", [entry(0), entry(1)], snapshot(), { create: true });
    await store.write("a", [entry(2, { text: "\u2028" })], snapshot());
    await store.unlock("a");
    const at = '"at":"2026-01-02T03:04:05.678Z","kind":"user","turn":0';
    expect((await readFile(logPath(store, "a"), "utf8")).split("\n")).toEqual([
      '{"format":1,"id":"a","createdAt":"2026-01-02T03:04:05.678Z"}',
      `{"seq":0,${at},"text":"message 0"}`,
      `{"seq":1,${at},"text":"message 1","stamp":1767323045678}`,
      `{"seq":2,${at},"text":"\u2028","stamp":1767323045679}`,
      "",
    ]);
    expect(JSON.parse(await readFile(snapshotPath(store, "a"), "utf8"))).toEqual({
      format: 1,
      stamp: 1_767_323_045_679,
      logBytes: (await readFile(logPath(store, "a"))).length,
      entries: 3,
      snapshot: snapshot(),
    });
  });
});

describe("what is in the way", () => {
  it("a file where the store should be is named", async () => {
    const root = path.join(await tempFolder(), "file");
    await writeFile(root, "");
    const store = new FileStore(root);
    await expect(store.write("a", [], snapshot(), { create: true })).rejects.toThrow(root);
    await expect(store.list()).rejects.toMatchObject({ code: "STATE_UNREADABLE" });
    expect(await readFile(root, "utf8")).toBe("");
  });

  it("a folder that has the id is never taken over", async () => {
    const store = new FileStore(await tempFolder());
    await mkdir(path.join(store.key, "a"));
    await expect(store.write("a", [], snapshot(), { create: true })).rejects.toMatchObject({ code: "STATE_EXISTS" });
    expect(await readdir(path.join(store.key, "a"))).toEqual([]);
  });
});

describe("long histories", () => {
  it("20,000 entries come back whole and in order", async () => {
    const store = new FileStore(await tempFolder());
    const count = 20_000;
    const all = Array.from({ length: count }, (_, seq) => entry(seq, { text: `${seq} ${"x".repeat(900)}` }));
    await store.write("a", all, snapshot(), { create: true });
    await store.write("a", [entry(count)], undefined);
    await store.unlock("a");
    const record = await store.read("a");
    expect(record?.entries).toHaveLength(count + 1);
    expect(record?.entries.every(({ seq }, index) => seq === index)).toBe(true);
    expect(record?.entries[12_345]).toEqual(all[12_345]);
    expect(record).not.toHaveProperty("damage");
  });
});
