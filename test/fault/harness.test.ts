import { describe, expect, it } from "vitest";
import { CrashMachine } from "./crash-machine.js";
import { InvariantBroken } from "./invariants.js";
import { scenarios } from "./scenario.js";
import { Search } from "./search.js";
import { searchAll } from "./search-all.js";
import { seededBugs } from "./seeded-bugs.js";

const all = await scenarios();

describe("the search for lost words", () => {
  it.each(seededBugs)("finds this bug: $name", async ({ seed, breaks }) => {
    const undo = seed();
    try {
      const broken = await firstBroken();
      expect(broken).toBeInstanceOf(InvariantBroken);
      expect(breaks).toContain(broken?.invariant);
    } finally {
      undo();
    }
  });

  it("finds nothing once the bugs are out again", async () => {
    const search = new Search();
    for (const scenario of all) await search.clean(scenario);
    await search.check();
    expect(search.tally.checked).toBeGreaterThan(100);
  });
});

describe("a power cut on the disk of the search", () => {
  it("keeps what was synced; of the rest all, nothing, a part, or its length alone", async () => {
    const machine = new CrashMachine(new Map([["/", undefined]]));
    const { disk } = machine.process();
    const file = await disk.open("/a", "create");
    await file.write(Buffer.from("old"), 0);
    await file.sync();
    expect(contents(machine, "/a")).toEqual(["old", undefined]);
    await disk.syncFolder("/");
    await file.write(Buffer.from("new"), 3);
    expect(contents(machine, "/a")).toEqual(["old", "old\0\0\0", "oldn", "oldn\0\0", "oldne", "oldnew"]);
    await file.datasync();
    expect(contents(machine, "/a")).toEqual(["oldnew"]);
  });

  it("keeps or loses what a failed sync was to bring, whatever is synced afterwards", async () => {
    const machine = new CrashMachine(
      new Map([
        ["/", undefined],
        ["/a", Buffer.from("old")],
      ]),
    );
    const { disk } = machine.process();
    const file = await disk.open("/a", "append");
    await file.write(Buffer.from("N"), 0);
    machine.fault = () => ({ code: "EIO" });
    await expect(file.datasync()).rejects.toMatchObject({ code: "EIO" });
    machine.fault = () => undefined;
    await file.datasync();
    expect(contents(machine, "/a")).toEqual(["old", "old\0", "oldN"]);
    await file.truncate(3);
    await file.write(Buffer.from("M"), 3);
    await file.datasync();
    expect(contents(machine, "/a")).toEqual(["oldM"]);
  });

  it("keeps a rename whole or not at all, until its folder is synced", async () => {
    const machine = new CrashMachine(
      new Map([
        ["/", undefined],
        ["/a", Buffer.from("A")],
      ]),
    );
    const { disk } = machine.process();
    await disk.rename("/a", "/b");
    const names = () => [...machine.powerCuts()].map((image) => [...image.keys()].join(" ")).sort();
    expect(names()).toEqual(["/ /a", "/ /b"]);
    await disk.syncFolder("/");
    expect(names()).toEqual(["/ /b"]);
  });
});

function contents(machine: CrashMachine, path: string): (string | undefined)[] {
  const found = [...machine.powerCuts()].map((image) => image.get(path)?.toString());
  return [...new Set(found)].sort();
}

async function firstBroken(): Promise<InvariantBroken | undefined> {
  try {
    for (const scenario of all) await searchAll(new Search(), scenario);
  } catch (error) {
    if (error instanceof InvariantBroken) return error;
    throw error;
  }
  return undefined;
}
