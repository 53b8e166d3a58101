import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RecoverContext } from "../../src/agent/tool.js";
import type { JsonObject } from "../../src/json.js";
import { Workplace } from "./setup.js";

let place: Workplace;
beforeEach(() => {
  place = new Workplace();
});
afterEach(() => place.close());

const edit = { path: "a.txt", oldText: "before", newText: "after" };
const write = { path: "a.txt", content: "after\n" };

/** The call as the process left it that made it: `undo` puts the file into the state of the crash. */
async function leftBy(name: string, input: JsonObject, undo: (path: string) => void = () => {}) {
  const tool = place.tools.find((each) => each.name === name);
  if (tool?.recover === undefined) throw new Error(`${name} cannot recover`);
  const context = place.context();
  const run = await tool.run(tool.parse(input), context);
  undo(join(place.cwd, "a.txt"));
  const found = (facts: Partial<RecoverContext> = {}) =>
    tool.recover?.(tool.parse(input), { ...context, wasStarted: true, restarted: false, ...facts });
  return { run, context, found, settle: () => tool.settle?.(context, undefined) };
}

describe.each([
  ["write", write],
  ["edit", edit],
] as const)("%s, when the process died", (name, input) => {
  beforeEach(() => {
    place.file("a.txt", "before\n");
  });

  it("after the file was written: it took effect, with the result of the run", async () => {
    const { run, found } = await leftBy(name, input);
    expect(await found()).toEqual(run);
  });

  it("before the file was written: it did not run", async () => {
    const { found } = await leftBy(name, input, (path) => writeFileSync(path, "before\n"));
    expect(await found()).toBe("not_run");
    expect(await found({ restarted: true })).toBe("not_run");
  });

  it("and somebody changed the file since: unknown, with the file named", async () => {
    const { found } = await leftBy(name, input, (path) => writeFileSync(path, "somebody else\n"));
    expect(await found()).toEqual({ unknown: expect.stringMatching(/a\.txt is neither what it was nor/) });
  });

  it("and somebody removed the file since: unknown", async () => {
    const { found } = await leftBy(name, input, (path) => rmSync(path));
    expect(await found()).toEqual({ unknown: expect.stringContaining("a.txt") });
  });

  it("before it had come to the file: it did not run, unless a restart may have lost what it wrote down", async () => {
    const { context, found } = await leftBy(name, input, (path) => writeFileSync(path, "before\n"));
    rmSync(dirname(context.outputPath ?? ""), { recursive: true });
    expect(await found()).toBe("not_run");
    expect(await found({ restarted: true })).toBe("unknown");
    expect(await found({ restarted: true, wasStarted: false })).toBe("not_run");
  });

  it("keeps what it writes down to its owner, and lets go of it when the result is durable", async () => {
    const { context, settle } = await leftBy(name, input);
    const folder = dirname(context.outputPath ?? "");
    expect(statSync(join(folder, "intent.json")).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    await settle();
    expect(existsSync(folder)).toBe(false);
  });
});

describe("write", () => {
  it("of a new file: it took effect when the file is there, and did not when it is not", async () => {
    const { run, found } = await leftBy("write", write);
    expect(await found()).toEqual(run);
    rmSync(join(place.cwd, "a.txt"));
    expect(await found()).toBe("not_run");
  });

  it("writes all the same where it cannot keep its intent", async () => {
    writeFileSync(join(place.root, "calls"), "a file in the way");
    expect(await place.run("write", write)).toMatchObject({ text: "created a.txt (6 bytes)" });
    expect(readFileSync(join(place.cwd, "a.txt"), "utf8")).toBe("after\n");
  });
});
