import { codeOf, problemOf } from "../errors.js";

/** What a person is told of an error. */
export interface ProblemParts {
  readonly problem: string;
  readonly fix: string | undefined;
  readonly code: string | undefined;
}

/** By shape, not by class: an error may come from another bundle, whose classes are its own. */
export function problemParts(error: unknown): ProblemParts {
  const problem =
    error instanceof Error && "problem" in error && typeof error.problem === "string"
      ? error.problem
      : problemOf(error);
  const fix = error instanceof Error && "fix" in error && typeof error.fix === "string" ? error.fix : undefined;
  return { problem, fix, code: codeOf(error) };
}
