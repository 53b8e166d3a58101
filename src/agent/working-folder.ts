import { resolve } from "node:path";

/** The folder the program works in now, absolute. */
export function workingFolder(): string {
  return resolve(".");
}
