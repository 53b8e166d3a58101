import { PerdureError } from "../errors.js";

const legal = /^[A-Za-z0-9_-]{1,128}$/;

/** Letters, digits, `_` and `-`, 1 to 128 of them: nothing that could lead a path out of the store. */
export function isStateId(value: unknown): value is string {
  return typeof value === "string" && legal.test(value);
}

/** @throws {PerdureError} STATE_ID_INVALID */
export function checkStateId(value: unknown): asserts value is string {
  if (isStateId(value)) return;
  const shown =
    typeof value === "string" ? JSON.stringify(value.length > 160 ? `${value.slice(0, 160)}…` : value) : typeof value;
  throw new PerdureError({
    code: "STATE_ID_INVALID",
    problem: `${shown} is not the id of a conversation`,
    fix: "use 1 to 128 letters, digits, _ and -",
    example: "review-pr-42",
  });
}
