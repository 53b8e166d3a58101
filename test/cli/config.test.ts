import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { configPath, readConfig } from "../../src/cli/config.js";
import { tempFolder } from "../support/temp-folder.js";

let folder: string;
beforeEach(async () => {
  folder = await tempFolder();
});

const write = (text: string): void => writeFileSync(configPath(folder), text);

describe("the configuration", () => {
  it("keeps what runs when there is none, no folder for it, or when it does not say", () => {
    expect(readConfig(undefined)).toEqual({ hangup: "keep" });
    expect(readConfig(join(folder, "nowhere"))).toEqual({ hangup: "keep" });
    write('{ "format": 1 }');
    expect(readConfig(folder)).toEqual({ hangup: "keep" });
  });

  it("is read, with keys of other versions left alone", () => {
    write('{ "format": 1, "hangup": "end", "later": { "key": 1 } }');
    expect(readConfig(folder)).toEqual({ hangup: "end" });
  });

  it.each([
    ["{", /is no JSON/],
    ["[]", /holds \[\]/],
    ['{ "hangup": "END" }', /hangup is "END"/],
    ['{ "hangup": null }', /hangup is null/],
    ['{ "format": "1" }', /format is "1"/],
  ])("that says nothing usable is refused with its file and key: %s", (text, problem) => {
    write(text);
    const read = () => readConfig(folder);
    expect(read).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", problem: expect.stringMatching(problem) }));
    expect(read).toThrow(expect.objectContaining({ problem: expect.stringContaining(configPath(folder)) }));
  });

  it("of a newer version is refused", () => {
    write('{ "format": 2 }');
    expect(() => readConfig(folder)).toThrow(expect.objectContaining({ code: "CONFIG_NEWER" }));
  });

  it("that cannot be read is named", () => {
    mkdirSync(configPath(folder));
    expect(() => readConfig(folder)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });
});
