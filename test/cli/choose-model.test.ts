import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chooseModel, type ModelCircumstances } from "../../src/cli/choose-model.js";
import { readRememberedModel, rememberedModelPath, rememberModel } from "../../src/cli/remembered-model.js";
import { availableModels } from "../../src/model/default-models.js";

const anthropic = { ANTHROPIC_API_KEY: "a" };
const openai = { OPENAI_API_KEY: "o" };
const google = { GEMINI_API_KEY: "g" };

function choose(env: Record<string, string>, more: Partial<ModelCircumstances> = {}) {
  const available = availableModels(env);
  return chooseModel({
    flag: undefined,
    env,
    interactive: false,
    print: true,
    remembered: undefined,
    available,
    ...more,
  });
}

describe("the model", () => {
  it("is the one of --model before everything else", () => {
    const env = { ...anthropic, CHAT_MODEL: "openai/x" };
    expect(choose(env, { flag: "offline", recorded: "anthropic/y" })).toEqual({ kind: "model", model: "offline" });
  });

  it("is the conversation's own when it is resumed, as long as its key is there", () => {
    const env = { ...anthropic, ...openai, CHAT_MODEL: "openai/x" };
    expect(choose(env, { recorded: "anthropic/y" })).toEqual({ kind: "model", model: "anthropic/y" });
    expect(choose({ CHAT_MODEL: "openai/x" }, { recorded: "anthropic/y" })).toEqual({
      kind: "model",
      model: "openai/x",
    });
    expect(choose({}, { recorded: "ollama/qwen3" })).toEqual({ kind: "model", model: "ollama/qwen3" });
  });

  it("is a real one once there is a key, also when the conversation began offline", () => {
    expect(choose(anthropic, { recorded: "offline/phrases" })).toMatchObject({
      model: expect.stringMatching(/^anthropic\//),
    });
  });

  it("is CHAT_MODEL, then the one whose key is there", () => {
    expect(choose({ ...openai, CHAT_MODEL: " ollama/qwen3 " })).toEqual({ kind: "model", model: "ollama/qwen3" });
    expect(choose({ ...openai, CHAT_MODEL: "" })).toMatchObject({ model: expect.stringMatching(/^openai\//) });
    expect(choose(google, { interactive: true })).toMatchObject({
      kind: "model",
      model: expect.stringMatching(/^google\//),
    });
  });

  it("is asked for only on a terminal with several keys, and only until it is remembered", () => {
    const env = { ...google, ...openai, ...anthropic };
    const asked = choose(env, { interactive: true });
    expect(asked.kind === "ask" && asked.choices.map(({ provider }) => provider)).toEqual([
      "anthropic",
      "openai",
      "google",
    ]);
    expect(choose(env)).toMatchObject({ kind: "model", model: expect.stringMatching(/^anthropic\//) });
    expect(choose(env, { interactive: true, remembered: "google/z" })).toEqual({ kind: "model", model: "google/z" });
    expect(choose({ ...anthropic, ...openai }, { interactive: true, remembered: "google/z" }).kind).toBe("ask");
  });

  it("is the offline one without a key on a terminal, said in one line with the way to a real one", () => {
    const choice = choose({}, { interactive: true, print: false });
    expect(choice).toMatchObject({ kind: "offline", model: "offline" });
    expect(choice.kind === "offline" && choice.notice).toMatch(/^[^\n]*ANTHROPIC_API_KEY[^\n]*$/);
  });

  it("is the offline one for lines that are piped in, too: only print mode's answer is read by a program", () => {
    expect(choose({}, { print: false })).toMatchObject({ kind: "offline", model: "offline" });
  });

  it("is missing without a key in print mode", () => {
    expect(() => choose({})).toThrow(expect.objectContaining({ code: "MODEL_KEY_MISSING" }));
    expect(() => choose({}, { recorded: "offline/phrases" })).toThrow("-m offline");
  });
});

describe("the model that was chosen", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "perdure-model-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("is nothing before, and remembered after, in a file for the owner alone", async () => {
    const config = join(folder, "new/config");
    expect(await readRememberedModel(config)).toEqual({ model: undefined });
    await rememberModel(config, "openai/x");
    await rememberModel(config, "google/y");
    expect(await readRememberedModel(config)).toEqual({ model: "google/y" });
    expect(statSync(rememberedModelPath(config)).mode & 0o777).toBe(0o600);
    expect(readdirSync(config)).toEqual(["model.json"]);
  });

  it.each([
    ["empty", ""],
    ["cut", '{"format":1,"mod'],
    ["something else", "[1]"],
    ["without a model", '{"format":1}'],
    ["from a newer version", '{"format":2,"model":"a/b"}'],
  ])("is left out, and its file named, when that is %s", async (_, content) => {
    writeFileSync(rememberedModelPath(folder), content);
    const { model, problem } = await readRememberedModel(folder);
    expect(model).toBeUndefined();
    expect(problem).toContain(rememberedModelPath(folder));
    expect(readFileSync(rememberedModelPath(folder), "utf8")).toBe(content);
  });

  it("keeps fields it does not know, a link a link, and a newer version's file as it is", async () => {
    const target = join(folder, "elsewhere.json");
    const config = join(folder, "config");
    await rememberModel(config, "a/a");
    rmSync(rememberedModelPath(config));
    writeFileSync(target, '{"format":1,"model":"a/b","later":[1]}');
    chmodSync(target, 0o644);
    symlinkSync(target, rememberedModelPath(config));
    await rememberModel(config, "c/d");
    expect(JSON.parse(readFileSync(target, "utf8"))).toEqual({ format: 1, model: "c/d", later: [1] });
    expect(statSync(target).mode & 0o777).toBe(0o600);
    writeFileSync(target, '{"format":2,"model":"a/b"}');
    await rememberModel(config, "e/f");
    expect(readFileSync(target, "utf8")).toBe('{"format":2,"model":"a/b"}');
  });
});
