import { cp, readdir, readFile, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { tempFolder } from "../support/temp-folder.js";
import { append, entry, logLines, logPath, saved, seqs } from "./states.js";

describe("when the last record was cut off", () => {
  it("sets the half record aside whatever byte it ends at, and the next record starts clean", async () => {
    const folder = await tempFolder();
    const original = new FileStore(path.join(folder, "original"));
    await saved(original, "a", 2);
    await original.write("a", [entry(2, { text: "costs 3 € \u2028 👩‍👧" })], undefined);
    await original.unlock("a");
    const bytes = await readFile(logPath(original, "a"));
    const lastStarts = bytes.lastIndexOf(10, bytes.length - 2) + 1;

    const checkCutAt = async (end: number) => {
      const store = new FileStore(path.join(folder, `cut-${end}`));
      await cp(original.key, store.key, { recursive: true });
      await truncate(logPath(store, "a"), end);

      // A record that only lost its newline is whole.
      const kept = end >= bytes.length - 1 ? [0, 1, 2] : [0, 1];
      expect(await seqs(store, "a")).toEqual(kept);
      await store.write("a", [entry(kept.length, { text: "after" })], undefined);
      await store.unlock("a");
      expect(await seqs(store, "a")).toEqual([...kept, kept.length]);
      await store.write("a", [entry(kept.length + 1)], undefined);
      await store.unlock("a");
      const record = await new FileStore(store.key).read("a");
      expect(record?.entries.map(({ seq }) => seq)).toEqual([...kept, kept.length, kept.length + 1]);
      expect(record?.damage).toBeUndefined();
      for (const line of await logLines(store, "a")) JSON.parse(line);

      const aside = (await readdir(path.join(store.key, "a"))).filter((name) => name.includes("torn"));
      expect(aside).toEqual(end > lastStarts && end < bytes.length - 1 ? ["log.jsonl.torn-1"] : []);
      const torn = aside[0];
      if (torn !== undefined) {
        expect(await readFile(path.join(store.key, "a", torn))).toEqual(bytes.subarray(lastStarts, end));
      }
    };
    await Promise.all(
      Array.from({ length: bytes.length + 1 - lastStarts }, (_, index) => checkCutAt(lastStarts + index)),
    );
  });

  it("holds for any records and any cut, again and again", async () => {
    const folder = await tempFolder();
    let run = 0;
    const text = fc.string({ unit: "binary", maxLength: 40 });
    const step = fc.record({
      texts: fc.array(text, { minLength: 1, maxLength: 3 }),
      cut: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        const store = new FileStore(path.join(folder, `run-${run++}`));
        await saved(store, "a", 1);
        const expected = [entry(0)];
        for (const { texts, cut } of steps) {
          const added = texts.map((text, index) => entry(expected.length + index, { text }));
          await store.write("a", added, undefined);
          await store.unlock("a");
          const bytes = await readFile(logPath(store, "a"));
          const lines = bytes
            .toString()
            .split("\n")
            .slice(-1 - added.length, -1);
          let position = bytes.length - Buffer.byteLength(`${lines.join("\n")}\n`);
          const end = position + Math.floor((bytes.length - position) * cut);
          await truncate(logPath(store, "a"), end);
          // What is whole stays: each line up to the cut, with or without its newline.
          for (const [index, whole] of added.entries()) {
            position += Buffer.byteLength(lines[index] ?? "");
            if (position <= end) expected.push(whole);
            position += 1;
          }
          expect((await store.read("a"))?.entries).toEqual(expected);
        }
        await store.write("a", [entry(expected.length)], undefined);
        await store.unlock("a");
        expect((await store.read("a"))?.entries).toEqual([...expected, entry(expected.length)]);
      }),
      { numRuns: 25 },
    );
  });

  it("names the tail before it is set aside, and reading alone leaves it where it is", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 2);
    await append(logPath(store, "a"), '{"seq":2,"at":"20');
    const bytes = await readFile(logPath(store, "a"));
    const damage = (await store.read("a"))?.damage;
    expect(damage).toHaveLength(1);
    expect(damage?.[0]).toMatchObject({ path: logPath(store, "a"), line: 4 });
    expect(damage?.[0]?.problem).toContain("17 bytes");
    expect(damage?.[0]?.problem).toContain(`${logPath(store, "a")}.torn-1`);
    await store.lock("a");
    await store.list();
    expect(await readFile(logPath(store, "a"))).toEqual(bytes);
    await store.unlock("a");
  });

  it("a run of NUL bytes at the end is one cut tail, until the next save sets it aside", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 2);
    await append(logPath(store, "a"), "\0".repeat(4096));
    for (let look = 0; look < 2; look++) {
      expect((await store.read("a"))?.damage).toMatchObject([
        { path: logPath(store, "a"), line: 4, problem: expect.stringContaining("4096 bytes") },
      ]);
    }
    await store.write("a", [entry(2)], undefined);
    await store.unlock("a");
    expect(await store.read("a")).not.toHaveProperty("damage");
    expect(await seqs(store, "a")).toEqual([0, 1, 2]);
  });

  it("sets aside a last line that has its newline but is not readable", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 2);
    await append(logPath(store, "a"), `${"\0".repeat(30)}\n`);
    await store.write("a", [entry(2)], undefined);
    expect(await seqs(store, "a")).toEqual([0, 1, 2]);
    expect(await readFile(`${logPath(store, "a")}.torn-1`, "latin1")).toBe(`${"\0".repeat(30)}\n`);
    await store.unlock("a");
  });

  it("never uses the same name twice for what it sets aside", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    for (const [index, tail] of ["first", "second"].entries()) {
      await append(logPath(store, "a"), tail);
      await store.write("a", [entry(1 + index)], undefined);
      await store.unlock("a");
      expect(await readFile(`${logPath(store, "a")}.torn-${index + 1}`, "utf8")).toBe(tail);
    }
    expect(await readFile(`${logPath(store, "a")}.torn-1`, "utf8")).toBe("first");
  });

  it("keeps a copy that an editor saved without the last newline", async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 2);
    await writeFile(logPath(store, "a"), (await readFile(logPath(store, "a"), "utf8")).trimEnd());
    expect(await store.read("a")).not.toHaveProperty("damage");
    await store.write("a", [entry(2)], undefined);
    await store.unlock("a");
    expect(await seqs(store, "a")).toEqual([0, 1, 2]);
  });
});
