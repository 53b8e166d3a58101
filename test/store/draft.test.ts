import { appendFile, cp, mkdir, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { FaultyDisk } from "./faulty-disk.js";
import { entry, snapshot } from "./states.js";

let folder: string;
let root: string;
let disk: FaultyDisk;
let store: FileStore;
beforeEach(async () => {
  folder = await tempFolder();
  root = path.join(folder, "store");
  disk = new FaultyDisk();
  store = new FileStore(root, { disk });
  await store.write("a", [entry(0), entry(1)], snapshot(), { create: true });
  disk.calls.length = 0;
});

const fileOf = (id = "a") => path.join(root, id, "streaming");
/** As another process finds it. */
async function left(): Promise<FileStore> {
  const copy = path.join(await tempFolder(), "copy");
  await cp(root, copy, { recursive: true });
  return new FileStore(copy);
}

describe("what a reply has said while it streams", () => {
  it("is in a file that only its owner may read, one line for each piece, and is not synced", async () => {
    await store.writeDraft("a", { requestSeq: 1, text: "One " });
    await store.writeDraft("a", { requestSeq: 1, text: "One two" });
    await store.writeDraft("a", { requestSeq: 1, text: "One two" });
    expect((await stat(fileOf())).mode & 0o777).toBe(0o600);
    expect(await readFile(fileOf(), "utf8")).toBe('{"format":1,"requestSeq":1}\n{"text":"One "}\n{"text":"two"}\n');
    expect(disk.calls.map((call) => call.replace(root, ""))).toEqual([
      "open /a/streaming",
      "write /a/streaming",
      "write /a/streaming",
    ]);
  });

  it("is gone with the file when it is removed, and with the conversation", async () => {
    await store.writeDraft("a", { requestSeq: 1, text: "One" });
    await store.writeDraft("a", undefined);
    expect(await readdir(path.join(root, "a"))).not.toContain("streaming");
    await store.writeDraft("a", { requestSeq: 1, text: "One" });
    await store.delete("a");
    expect((await readdir(root)).filter((name) => name !== ".stamp")).toEqual([]);
  });

  it("is written by the one process that has the conversation, and stays when that lets go of it", async () => {
    await store.writeDraft("a", { requestSeq: 1, text: "One" });
    await store.unlock("a");
    const other = new FileStore(root, { disk: new FaultyDisk() });
    expect((await other.read("a"))?.draft).toEqual({ requestSeq: 1, text: "One" });
    await other.lock("a");
    await expect(store.writeDraft("a", { requestSeq: 1, text: "One two" })).rejects.toMatchObject({
      code: "STATE_LOCKED",
    });
    await other.unlock("a");
  });

  it("of a conversation that is not there is refused", async () => {
    await expect(store.writeDraft("b", { requestSeq: 0, text: "x" })).rejects.toMatchObject({
      code: "STATE_NOT_FOUND",
    });
    await expect(store.writeDraft("..", undefined)).rejects.toMatchObject({ code: "STATE_ID_INVALID" });
  });

  it("takes the place of what another process left", async () => {
    await store.writeDraft("a", { requestSeq: 1, text: "of a process that died" });
    const copy = await left();
    await copy.writeDraft("a", { requestSeq: 5, text: "new" });
    expect((await copy.read("a"))?.draft).toEqual({ requestSeq: 5, text: "new" });
    expect(await readFile(path.join(copy.key, "a", "streaming"), "utf8")).not.toContain("died");
  });
});

describe("what had streamed when the process was killed", () => {
  it("is read as far as its last whole line, wherever the file was cut", async () => {
    const pieces = ["One ", "zwei €", "\u2028three", "👩‍👩‍👧\n", " five"];
    let text = "";
    const whole: { bytes: number; text: string }[] = [];
    for (const piece of pieces) {
      text += piece;
      await store.writeDraft("a", { requestSeq: 1, text });
      whole.push({ bytes: (await stat(fileOf())).size, text });
    }
    const { size } = await stat(fileOf());
    for (let bytes = size; bytes >= 0; bytes--) {
      await truncate(fileOf(), bytes);
      const record = await new FileStore(root, { disk: new FaultyDisk() }).read("a");
      const expected = whole.filter((each) => each.bytes <= bytes).at(-1)?.text;
      expect({ bytes, text: record?.draft?.text }).toEqual({ bytes, text: expected });
      expect(record?.damage).toBeUndefined();
      expect(record?.entries).toHaveLength(2);
    }
  });

  it("is the beginning of what was streamed, for any pieces and any cut", async () => {
    const piece = fc.string({ unit: "binary", minLength: 0, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), fc.nat(), fc.nat(100), async (pieces, seq, percent) => {
        const all = pieces.join("");
        let acked = "";
        let ackedBytes = 0;
        let text = "";
        await store.writeDraft("a", undefined);
        for (const [index, next] of pieces.entries()) {
          text += next;
          await store.writeDraft("a", { requestSeq: seq, text });
          const { size } = await stat(fileOf());
          if (index < (pieces.length * percent) / 100) [acked, ackedBytes] = [text, size];
        }
        if (pieces.length > 0) {
          const { size } = await stat(fileOf());
          await truncate(fileOf(), ackedBytes + Math.floor(((size - ackedBytes) * percent) / 101));
        }
        const read = (await store.read("a"))?.draft?.text ?? "";
        expect(read.startsWith(acked)).toBe(true);
        expect(all.startsWith(read)).toBe(true);
        await store.unlock("a");
      }),
      { numRuns: 60 },
    );
  });

  it("is read up to a place that is damaged, the place is named, and its bytes are kept", async () => {
    await store.writeDraft("a", { requestSeq: 1, text: "good" });
    await appendFile(fileOf(), '\0\0\0\0\n{"text":"after"}\n');
    const copy = await left();
    const record = await copy.read("a");
    expect(record?.draft).toEqual({ requestSeq: 1, text: "good" });
    expect(record?.damage).toMatchObject([{ line: 3, problem: expect.stringContaining("line 3: it is not readable") }]);
    await copy.writeDraft("a", { requestSeq: 3, text: "next" });
    expect((await copy.read("a"))?.draft).toEqual({ requestSeq: 3, text: "next" });
    expect((await copy.read("a"))?.damage).toBeUndefined();
    expect(await readFile(path.join(copy.key, "a", "streaming.damaged-1"), "utf8")).toContain("after");
  });

  it.each([
    ["empty", ""],
    ["NUL bytes", "\0".repeat(50)],
    ["half a header", '{"format":1,"requ'],
  ])("nothing, when the file holds %s", async (_, content) => {
    await writeFile(fileOf(), content);
    const record = await store.read("a");
    expect(record?.draft).toBeUndefined();
    expect(record?.damage).toBeUndefined();
    expect(record?.entries).toHaveLength(2);
  });

  it.each([
    ["a header that is none", '{"x":1}\n{"text":"x"}\n', 1],
    ["bytes that are no header", "\0\0\n", 1],
    ["a first line of text that is none", '{"format":1,"requestSeq":1}\n[1]\n', 2],
  ])("is named as damage, and the conversation opens, with %s", async (_, content, line) => {
    await writeFile(fileOf(), content);
    const record = await store.read("a");
    expect(record?.draft).toBeUndefined();
    expect(record?.damage).toMatchObject([{ path: fileOf(), line }]);
    expect(record?.entries).toHaveLength(2);
  });

  it("hides nothing when it cannot be read at all", async () => {
    await mkdir(fileOf());
    const record = await store.read("a");
    expect(record?.entries).toHaveLength(2);
    expect(record?.damage).toMatchObject([{ path: fileOf(), problem: expect.stringContaining("not a file") }]);
    await store.writeDraft("a", { requestSeq: 1, text: "goes on" });
    expect((await store.read("a"))?.draft?.text).toBe("goes on");
  });

  it("keeps lines and fields that a newer version may add, and refuses a newer format untouched", async () => {
    await writeFile(
      fileOf(),
      '{"format":1,"requestSeq":1,"new":2}\n{"text":"a","at":1}\n{"reasoning":"r"}\n{"text":"b"}\n',
    );
    expect((await store.read("a"))?.draft).toEqual({ requestSeq: 1, text: "ab" });
    const newer = '{"format":2,"requestSeq":1}\n';
    await writeFile(fileOf(), newer);
    await expect(store.read("a")).rejects.toMatchObject({ code: "STATE_NEWER" });
    await expect(store.writeDraft("a", { requestSeq: 1, text: "x" })).rejects.toMatchObject({ code: "STATE_NEWER" });
    expect(await readFile(fileOf(), "utf8")).toBe(newer);
  });
});

describe("when a draft cannot be written", () => {
  it.each([0, 1, 5, 12])(
    "after %i bytes: nothing that was there is lost, and the next one has all of it",
    async (keepBytes) => {
      await store.writeDraft("a", { requestSeq: 1, text: "One " });
      const fault = { call: "write", path: /streaming$/, code: "ENOSPC", keepBytes } as const;
      disk.faults.add(fault);
      await expect(store.writeDraft("a", { requestSeq: 1, text: "One two " })).rejects.toMatchObject({
        code: "ENOSPC",
      });
      expect((await (await left()).read("a"))?.draft?.text).toBe("One ");
      disk.faults.delete(fault);
      await store.writeDraft("a", { requestSeq: 1, text: "One two three" });
      const record = await (await left()).read("a");
      expect(record?.draft?.text).toBe("One two three");
      expect(record?.damage).toBeUndefined();
    },
  );

  it("the first of a reply: the next one begins it", async () => {
    for (const call of ["open", "write"] as const) {
      const fault = { call, path: /streaming$/, code: "EIO", keepBytes: 9 } as const;
      disk.faults.add(fault);
      await expect(store.writeDraft("a", { requestSeq: 1, text: "One" })).rejects.toMatchObject({ code: "EIO" });
      disk.faults.delete(fault);
      await store.writeDraft("a", { requestSeq: 1, text: "One" });
      const record = await (await left()).read("a");
      expect(record?.draft).toEqual({ requestSeq: 1, text: "One" });
      expect(record?.damage).toBeUndefined();
      await store.writeDraft("a", undefined);
    }
  });

  it("saves go on as ever", async () => {
    disk.faults.add({ call: "open", path: /streaming$/, code: "EACCES" });
    await expect(store.writeDraft("a", { requestSeq: 1, text: "One" })).rejects.toMatchObject({ code: "EACCES" });
    await store.write("a", [entry(2)], undefined);
    expect((await (await left()).read("a"))?.entries).toHaveLength(3);
  });
});
