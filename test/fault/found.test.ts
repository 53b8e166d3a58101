import { describe, expect, it } from "vitest";
import type { Entry } from "../../src/store/store.js";
import { entries, entry, snapshot } from "../store/states.js";
import { type Call, CrashMachine, type Image } from "./crash-machine.js";
import { ROOT, storeOf } from "./play.js";

// What the search found in the store, each by name.

const LOG = `${ROOT}/a/log.jsonl`;

/** The entries of conversation a after each power cut that may come now; undefined where it is gone. */
async function afterEveryPowerCut(machine: CrashMachine): Promise<(readonly Entry[] | undefined)[]> {
  const found: (readonly Entry[] | undefined)[] = [];
  for (const image of machine.powerCuts()) {
    const record = await storeOf(new CrashMachine(image).process()).read("a");
    expect((record?.damage ?? []).filter(({ problem }) => !problem.startsWith("the last record was cut off"))).toEqual(
      [],
    );
    found.push(record?.entries);
  }
  return found;
}

function fails(machine: CrashMachine, ...failing: [name: Call["name"], path: string, code: string][]): void {
  machine.fault = (call) => {
    const hit = failing.find(([name, path]) => call.name === name && call.path === path);
    return hit === undefined ? undefined : { code: hit[2], keepBytes: call.bytes ?? 0 };
  };
}

function works(machine: CrashMachine): void {
  machine.fault = () => undefined;
}

async function made(machine: CrashMachine, count: number) {
  const process = machine.process();
  const store = storeOf(process);
  await store.write("a", entries(0, count), snapshot({ historyLength: count }), { create: true });
  return { process, store };
}

describe("what was acknowledged stays", () => {
  it("when the store's own folder could not be made durable at the first try", async () => {
    const machine = new CrashMachine();
    const store = storeOf(machine.process());
    fails(machine, ["syncFolder", "/", "EIO"]);
    const create = () => store.write("a", entries(0, 2), snapshot(), { create: true });
    await expect(create()).rejects.toMatchObject({ code: "EIO" });
    works(machine);
    await create();
    for (const found of await afterEveryPowerCut(machine)) expect(found).toEqual(entries(0, 2));
  });

  it("when the maker of the store's folder was killed before that was durable", async () => {
    const machine = new CrashMachine();
    const killed = machine.process();
    machine.onStep = () => {
      if (machine.calls === 1) killed.kill();
    };
    await expect(storeOf(killed).write("a", [], snapshot(), { create: true })).rejects.toMatchObject({ code: "DEAD" });
    await made(machine, 2);
    for (const found of await afterEveryPowerCut(machine)) expect(found).toEqual(entries(0, 2));
  });

  it("when the maker of the conversation was killed between its rename and the sync of the root", async () => {
    const machine = new CrashMachine();
    const killed = machine.process();
    machine.onStep = () => {
      if (storeFolders(machine).includes("a")) killed.kill();
    };
    const create = storeOf(killed).write("a", entries(0, 2), snapshot({ historyLength: 2 }), { create: true });
    await expect(create).rejects.toMatchObject({ code: "DEAD" });
    machine.onStep = () => undefined;
    await storeOf(machine.process()).write("a", [entry(2)], undefined);
    for (const found of await afterEveryPowerCut(machine)) expect(found).toEqual(entries(0, 3));
  });

  it("when a killed writer's record was there but not durable, and the next writer's landed alone", async () => {
    const machine = new CrashMachine();
    const { process, store } = await made(machine, 2);
    const before = machine.liveImage().get(LOG)?.length ?? 0;
    machine.onStep = () => {
      if ((machine.liveImage().get(LOG)?.length ?? 0) > before) process.kill();
    };
    await expect(store.write("a", [entry(2)], undefined)).rejects.toMatchObject({ code: "DEAD" });
    const images: Image[] = [];
    machine.onStep = () => void images.push(...machine.powerCuts());
    await storeOf(machine.process()).write("a", [entry(3)], undefined);
    for (const image of images) {
      const record = await storeOf(new CrashMachine(image).process()).read("a");
      expect(record?.entries).toEqual(entries(0, record?.entries.length ?? 0));
    }
    for (const found of await afterEveryPowerCut(machine)) expect(found).toEqual(entries(0, 4));
  });

  it("when a sync failed, nothing could be cut back, and the conversation was closed and opened again", async () => {
    const machine = new CrashMachine();
    const { store } = await made(machine, 2);
    fails(machine, ["datasync", LOG, "EIO"], ["truncate", LOG, "EIO"]);
    await expect(store.write("a", [entry(2)], undefined)).rejects.toMatchObject({ code: "EIO" });
    await store.unlock("a");
    works(machine);
    await store.write("a", entries(2, 4), undefined);
    for (const found of await afterEveryPowerCut(machine)) expect(found).toEqual(entries(0, 4));
  });

  it("when a first save was taken back, and the power went before that was durable: all of it or nothing", async () => {
    const machine = new CrashMachine();
    const store = storeOf(machine.process());
    fails(machine, ["syncFolder", ROOT, "EIO"]);
    const create = store.write("a", entries(0, 2), snapshot({ historyLength: 2 }), { create: true });
    await expect(create).rejects.toMatchObject({ code: "EIO" });
    for (const found of await afterEveryPowerCut(machine)) expect([undefined, entries(0, 2)]).toContainEqual(found);
  });
});

describe("nothing stays for ever", () => {
  it("of a hidden folder whose maker died before it had a lock", async () => {
    const machine = new CrashMachine();
    const killed = machine.process();
    machine.onStep = () => {
      if (storeFolders(machine).some((name) => name.startsWith(".new-"))) killed.kill();
    };
    const create = storeOf(killed).write("a", [], snapshot(), { create: true });
    await expect(create).rejects.toMatchObject({ code: "DEAD" });
    machine.onStep = () => undefined;
    await made(machine, 1);
    expect(storeFolders(machine)).toEqual(["a"]);
  });
});

function storeFolders(machine: CrashMachine): string[] {
  return [...machine.liveImage()].flatMap(([path, content]) => {
    return content === undefined && path.startsWith(`${ROOT}/`) ? [path.slice(ROOT.length + 1)] : [];
  });
}
