import { open, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import type { SavedRecord } from "../../src/store/store.js";
import { tempFolder } from "../support/temp-folder.js";
import { append, entry, logLines, logPath, saved, seqs, snapshot, snapshotPath } from "./states.js";

describe("damage in the middle of a log", () => {
  it("NUL bytes: everything on both sides is loaded, and the line is named", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 6);
    await overwriteLine(store, 4, (line) => "\0".repeat(line.length));
    const record = await store.read("a");
    expect(record?.entries.map(({ seq }) => seq)).toEqual([0, 1, 3, 4, 5]);
    expect(problems(record)).toEqual([
      expect.stringMatching(/^line 4: .*NUL bytes/),
      expect.stringMatching(/^line 5: entry 2 is missing before it/),
    ]);
    expect(record?.damage?.[0]).toMatchObject({ path: logPath(store, "a"), line: 4 });
  });

  it("NUL bytes over the end of a line too: the whole record after them is found", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 6);
    const bytes = await readFile(logPath(store, "a"));
    const starts = lineStarts(bytes);
    bytes.fill(0, starts[3], starts[4]);
    await writeFile(logPath(store, "a"), bytes);
    expect(await seqs(store, "a")).toEqual([0, 1, 3, 4, 5]);
  });

  it("a half record with the next one glued to it: the next one is found", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 4);
    const lines = await logLines(store, "a");
    lines.splice(2, 2, `${lines[2]?.slice(0, 30)}${lines[3]}`);
    await writeFile(logPath(store, "a"), `${lines.join("\n")}\n`);
    const record = await store.read("a");
    expect(record?.entries.map(({ seq }) => seq)).toEqual([0, 2, 3]);
    expect(problems(record)[0]).toMatch(/^line 3: its beginning is not readable/);
  });

  it("is never written over: the bytes are there after the next saves", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 6);
    await overwriteLine(store, 4, (line) => "\0".repeat(line.length));
    const damaged = await readFile(logPath(store, "a"));
    await store.write("a", [entry(6)], snapshot());
    await store.unlock("a");
    const after = await readFile(logPath(store, "a"));
    expect(after.subarray(0, damaged.length)).toEqual(damaged);
    expect(await seqs(store, "a")).toEqual([0, 1, 3, 4, 5, 6]);
  });

  it("a damaged header: the entries are loaded, and saving goes on", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 3);
    await overwriteLine(store, 1, (line) => "x".repeat(line.length));
    expect(problems(await store.read("a"))).toEqual(["line 1: the header is not readable"]);
    expect((await store.list())[0]?.problem).toBeUndefined();
    await store.write("a", [entry(3)], undefined);
    await store.unlock("a");
    expect(await seqs(store, "a")).toEqual([0, 1, 2, 3]);
  });

  it("a lost header line: the first line is an entry and is loaded", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    await writeFile(logPath(store, "a"), `${(await logLines(store, "a"))[1]}\n`);
    expect(problems(await store.read("a"))).toEqual(["line 1: the header before it is missing"]);
    expect((await store.list())[0]?.problem).toBeUndefined();
  });

  it("a repeated line: the first one is used, and the next entry does not take its place", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 4);
    const lines = await logLines(store, "a");
    await append(logPath(store, "a"), `${lines[2]?.replace("message 1", "another")}\n${lines[3]}\n`);
    await store.write("a", [entry(3), entry(4)], undefined);
    await store.unlock("a");
    const record = await store.read("a");
    expect(record?.entries).toEqual([0, 1, 2, 3, 4].map((seq) => entry(seq)));
    expect(problems(record)).toEqual([
      "line 6: entry 1 is there already; the first one is used",
      "line 7: entry 2 is there already; the first one is used",
    ]);
  });

  it("lines that changed places come back in order", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 4);
    const [header, ...lines] = await logLines(store, "a");
    await writeFile(logPath(store, "a"), `${[header, lines[0], lines[2], lines[1], lines[3]].join("\n")}\n`);
    const record = await store.read("a");
    expect(record?.entries.map(({ seq }) => seq)).toEqual([0, 1, 2, 3]);
    expect(problems(record).join()).toContain("entry 1 is out of order");
  });

  it("JSON that is no entry is named and passed over", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 2);
    await append(logPath(store, "a"), '{"x":1}\n[1]\n');
    await store.write("a", [entry(2)], undefined);
    await store.unlock("a");
    const record = await store.read("a");
    expect(record?.entries.map(({ seq }) => seq)).toEqual([0, 1, 2]);
    expect(problems(record)).toEqual(["line 4: it is JSON, but not an entry", "line 5: it is JSON, but not an entry"]);
  });

  it("bytes that are not UTF-8 are named", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 3);
    await overwriteLine(store, 3, (line) => line.replace("message", "mess\xffge"));
    const record = await store.read("a");
    expect(record?.entries[1]?.text).toBe("mess\ufffdge 1");
    expect(problems(record)).toEqual(["line 3: bytes that are not UTF-8 are shown as U+FFFD"]);
  });

  it("entries that the snapshot knows of and the log has not any more are named", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 4);
    await store.write("a", [], snapshot());
    await store.unlock("a");
    const bytes = await readFile(logPath(store, "a"));
    await truncate(logPath(store, "a"), lineStarts(bytes)[3] ?? 0);
    const record = await store.read("a");
    expect(record?.entries.map(({ seq }) => seq)).toEqual([0, 1]);
    expect(problems(record)).toEqual(["entries 2 to 3 are missing at its end"]);
    await store.write("a", [entry(2)], undefined);
    await store.unlock("a");
    expect(await seqs(store, "a")).toEqual([0, 1, 2]);
  });
});

describe("a log that cannot be read at all", () => {
  const contents: [string, string][] = [
    ["0 bytes", ""],
    ["413 NUL bytes", "\0".repeat(413)],
    ["JSON of something else", '{"x":1}'],
    ["text", "hello\nworld\n"],
  ];
  it.each(contents)("%s: refused with the path, and the bytes are left alone", async (_, content) => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 2);
    await writeFile(logPath(store, "a"), content);
    const refusal = { code: "STATE_DAMAGED", message: expect.stringContaining(logPath(store, "a")) };
    await expect(store.read("a")).rejects.toMatchObject(refusal);
    await expect(store.write("a", [entry(2)], undefined)).rejects.toMatchObject(refusal);
    await store.unlock("a");
    expect(await readFile(logPath(store, "a"), "utf8")).toBe(content);
    expect((await store.list())[0]?.problem).toContain(logPath(store, "a"));
  });

  it("a missing log is said to be missing", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 2);
    await rm(logPath(store, "a"));
    await expect(store.read("a")).rejects.toMatchObject({ code: "STATE_DAMAGED" });
    await expect(store.read("a")).rejects.toThrow("is missing");
  });
});

describe("a damaged snapshot", () => {
  it.each(["", "\0\0\0", "{", "[]", '{"format":1}', '{"format":1,"stamp":1,"logBytes":1,"entries":1,"snapshot":{}}'])(
    "%j: named and not used; the next one is written beside it",
    async (content) => {
      const store = new FileStore(await tempFolder());
      await saved(store, "a", 2);
      await writeFile(snapshotPath(store, "a"), content);
      const record = await store.read("a");
      expect(record?.entries).toHaveLength(2);
      expect(record?.snapshot).toBeUndefined();
      expect(record?.damage).toEqual([
        { path: snapshotPath(store, "a"), problem: expect.stringContaining("snapshot") },
      ]);
      expect((await store.list())[0]).toMatchObject({ id: "a", historyLength: 2 });

      await store.write("a", [], snapshot({ task: "rebuilt" }));
      await store.unlock("a");
      expect(await store.read("a")).toMatchObject({ snapshot: { task: "rebuilt" } });
      expect(await readFile(`${snapshotPath(store, "a")}.damaged-1`, "utf8")).toBe(content);
    },
  );
});

function problems(record: SavedRecord | undefined): string[] {
  return record?.damage?.map(({ problem }) => problem) ?? [];
}

function lineStarts(bytes: Buffer): number[] {
  const starts = [0];
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) starts.push(at + 1);
  return starts;
}

/** Other bytes of the same length in place of a line; `line` counts from 1. */
async function overwriteLine(store: FileStore, line: number, change: (line: string) => string): Promise<void> {
  const file = await open(logPath(store, "a"), "r+");
  const starts = lineStarts(await file.readFile());
  const from = starts[line - 1] ?? 0;
  const bytes = Buffer.alloc((starts[line] ?? 0) - 1 - from);
  await file.read(bytes, 0, bytes.length, from);
  await file.write(Buffer.from(change(bytes.toString("latin1")), "latin1"), 0, bytes.length, from);
  await file.close();
}
