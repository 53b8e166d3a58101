import { PerdureError } from "../errors.js";
import type { JsonObject, JsonValue } from "../json.js";

/** Deeper than this, JSON.stringify itself may run out of stack. */
const depthMax = 1000;

export interface JsonProblem {
  readonly path: string;
  readonly problem: string;
}

/** The first part of a value that JSON would lose or change, with its path; undefined when there is none. */
export function findNotJson(value: unknown, path: string): JsonProblem | undefined {
  return find(value, path, new Set(), false);
}

/**
 * An answer as a store keeps it. Objects of classes become plain objects of their own fields, as a schema library's
 * results may be; a Date, Map, Set and what else JSON does not hold is refused.
 *
 * @throws {PerdureError} ANSWER_NOT_JSON, naming the path
 */
export function toJsonAnswer(value: unknown, path = "answer"): JsonValue {
  const problem = find(value, path, new Set(), true);
  if (problem !== undefined) {
    throw new PerdureError({
      code: "ANSWER_NOT_JSON",
      problem: `${problem.path} ${problem.problem}`,
      fix: "give JSON values: objects, arrays, strings, finite numbers, booleans and null",
      example: "finish({ title: 'Done', at: date.toISOString() })",
    });
  }
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}

/** @throws {PerdureError} STATE_DATA_NOT_JSON, naming the path: `data.items[3].when is a Date` */
export function checkData(data: unknown): asserts data is JsonObject {
  const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
  const problem = isObject ? findNotJson(data, "data") : { path: "data", problem: "is not an object" };
  if (problem === undefined) return;
  throw new PerdureError({
    code: "STATE_DATA_NOT_JSON",
    problem: `${problem.path} ${problem.problem}`,
    fix: "state.data holds JSON values only: objects, arrays, strings, finite numbers, booleans and null",
    example: `state.data.when = date.toISOString()`,
  });
}

function find(value: unknown, path: string, above: Set<object>, classesAllowed: boolean): JsonProblem | undefined {
  const found = (problem: string): JsonProblem => ({ path, problem });
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : found(`is ${value}`);
    case "undefined":
      return found("is undefined");
    case "object":
      break;
    default:
      return found(`is a ${typeof value}`);
  }
  if (value === null) return undefined;
  if (above.has(value)) return found("contains itself");
  if (above.size >= depthMax) return found(`is nested deeper than ${depthMax} levels`);
  const isArray = Array.isArray(value);
  const className = isArray ? undefined : classOf(value);
  if (className !== undefined && !(classesAllowed && isPlainEnough(value))) return found(`is a ${className}`);
  if ("toJSON" in value && typeof value.toJSON === "function") return found("has a toJSON method");
  if (Object.getOwnPropertySymbols(value).length > 0) return found("has a symbol as a key");
  above.add(value);
  const problem = isArray
    ? findInArray(value, path, above, classesAllowed)
    : findInObject(value, path, above, classesAllowed);
  above.delete(value);
  return problem;
}

function findInArray(items: readonly unknown[], path: string, above: Set<object>, classes: boolean) {
  for (let index = 0; index < items.length; index += 1) {
    const problem = find(items[index], `${path}[${index}]`, above, classes);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function findInObject(value: object, path: string, above: Set<object>, classes: boolean) {
  for (const [key, item] of Object.entries(value)) {
    const step = /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
    const problem = find(item, path + step, above, classes);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function classOf(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return undefined;
  // An object of another realm (a vm context) is as plain as one of ours.
  if (Object.prototype.toString.call(value) === "[object Object]" && Object.getPrototypeOf(prototype) === null) {
    return undefined;
  }
  const name = value.constructor?.name;
  return name === undefined || name === "" ? "class instance" : name;
}

/** Fields are all there is to it: nothing kept in internal slots, as Date, Map or Buffer have. */
function isPlainEnough(value: object): boolean {
  return Object.prototype.toString.call(value) === "[object Object]" && !(value instanceof Promise);
}
