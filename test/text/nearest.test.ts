import { expect, it } from "vitest";
import { nearest } from "../../src/text/nearest.js";

const commands = ["help", "list", "delete", "resume", "new", "rename", "model", "history"];

it.each([
  ["hlep", "help"],
  ["lst", "list"],
  ["resmue", "resume"],
  ["DELETE", "delete"],
  ["hstory", "history"],
  ["nwe", "new"],
])("takes %s for %s", (word, meant) => {
  expect(nearest(word, commands)).toBe(meant);
});

it("suggests nothing where nothing is near", () => {
  expect(nearest("quantum", commands)).toBeUndefined();
  expect(nearest("", commands)).toBeUndefined();
  expect(nearest("x", ["y"])).toBeUndefined();
});
