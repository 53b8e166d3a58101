import { expect, it } from "vitest";
import { exitCodeOf, exitCodeOfSignal } from "../../src/cli/exit-code.js";
import { PerdureError } from "../../src/errors.js";
import { TRY_AGAIN_CODES } from "../../src/model/model-error.js";

const withCode = (code: string) => new PerdureError({ code, problem: "p", fix: "f" });

it("is 2 for wrong usage and a missing key", () => {
  expect(["USAGE", "MODEL_KEY_MISSING"].map((code) => exitCodeOf(withCode(code)))).toEqual([2, 2]);
});

it("is 75 where the same command may work later", () => {
  for (const code of ["STATE_LOCKED", ...TRY_AGAIN_CODES]) expect(exitCodeOf(withCode(code))).toBe(75);
});

it("is 128 and the number of the signal", () => {
  expect(["SIGHUP", "SIGINT", "SIGTERM"].map(exitCodeOfSignal)).toEqual([129, 130, 143]);
  expect(exitCodeOfSignal("answered")).toBeUndefined();
  expect(exitCodeOfSignal("toString")).toBeUndefined();
});

it("is 1 for everything else", () => {
  for (const code of ["STATE_NOT_FOUND", "STATE_AMBIGUOUS", "STATE_DAMAGED", "MODEL_KEY_REFUSED", "ENOSPC"]) {
    expect(exitCodeOf(withCode(code))).toBe(1);
  }
  expect([exitCodeOf(new Error("x")), exitCodeOf(undefined), exitCodeOf("x")]).toEqual([1, 1, 1]);
});
