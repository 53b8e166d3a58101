import { describe, expect, it } from "vitest";
import { parseAnswer } from "../../src/repl/answer.js";
import { parseInput } from "../../src/repl/input.js";

describe("what is entered", () => {
  it.each([
    ["hello", { kind: "message", text: "hello" }],
    ["  spaces stay ", { kind: "message", text: "  spaces stay " }],
    [":help", { kind: "command", name: "help", argument: "" }],
    [":Rename  my  thing ", { kind: "command", name: "rename", argument: "my  thing" }],
    ["!ls -la", { kind: "shell", command: "ls -la" }],
    ["::help", { kind: "message", text: ":help" }],
    [" :help", { kind: "message", text: ":help" }],
    [" !ls", { kind: "message", text: "!ls" }],
    [":)", { kind: "message", text: ":)" }],
    [":smile: hi", { kind: "message", text: ":smile: hi" }],
    ["!", { kind: "message", text: "!" }],
    [":delete x\n:delete y", { kind: "message", text: ":delete x\n:delete y" }],
    ["!rm a\nb", { kind: "message", text: "!rm a\nb" }],
    ["  \n ", { kind: "nothing" }],
  ])("%j is told apart", (entered, input) => {
    expect(parseInput(entered)).toEqual(input);
  });
});

describe("an answer to a permission question", () => {
  it.each([
    ["y", { kind: "once" }],
    [" YES ", { kind: "once" }],
    ["a", { kind: "always" }],
    ["n", { kind: "no" }],
    ["no.", { kind: "no" }],
    ["n because it deletes", { kind: "no", reason: "because it deletes" }],
    ["no, use make instead", { kind: "no", reason: "use make instead" }],
    ["n: später", { kind: "no", reason: "später" }],
  ])("%j is understood", (text, answer) => {
    expect(parseAnswer(text)).toEqual(answer);
  });

  it.each(["", "yy", "yes I think so", "not sure", "nein", "n_o", "ok", "sure", "always the same with you"])(
    "%j allows nothing and refuses nothing",
    (text) => {
      expect(parseAnswer(text)).toBeUndefined();
    },
  );
});
