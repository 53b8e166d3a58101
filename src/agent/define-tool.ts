import type { JsonObject, JsonValue } from "../json.js";
import { checkNowWith, isStandardSchema, jsonSchemaOf } from "./schema.js";
import {
  type PlainSchema,
  type RecoverContext,
  type Recovered,
  type StandardSchema,
  type Tool,
  type ToolAccess,
  type ToolContext,
  ToolError,
  type ToolOutput,
  type WhenUnknown,
} from "./tool.js";

interface ToolParts<I> {
  /** 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** For the model: what it does, and when to use it. */
  readonly description: string;
  /** What the call would do, for permissions. */
  access?(input: I, context: ToolContext): ToolAccess | Promise<ToolAccess>;
  /** Text, or a value that the model gets as JSON. Throw {@link ToolError} to give it an error in your words. */
  run(input: I, context: ToolContext): ToolOutput | JsonValue | undefined | Promise<ToolOutput | JsonValue | undefined>;
  /** What may happen when nobody knows how a call ended: see {@link Tool}. Default: never. */
  readonly whenUnknown?: WhenUnknown;
  /** What became of a call that was open when an earlier process ended: see {@link Tool}. */
  recover?(input: I, context: RecoverContext): Promise<Recovered>;
  /** The call's result is durable: see {@link Tool}. */
  settle?(call: Pick<ToolContext, "callId" | "outputPath">, outputFile: string | undefined): Promise<void>;
}

/**
 * Makes a tool. The input is checked before it runs: with a schema of zod (or another library that speaks Standard
 * Schema) completely, and typed; with a plain JSON Schema only to be an object.
 *
 * @throws {PerdureError} SCHEMA_UNSUPPORTED
 */
export function defineTool<T>(parts: ToolParts<T> & { readonly input: StandardSchema<T> }): Tool;
export function defineTool(parts: ToolParts<JsonObject> & { readonly input?: PlainSchema }): Tool;
export function defineTool<T>(parts: ToolParts<T> & { readonly input?: StandardSchema<T> | PlainSchema }): Tool {
  const schema = parts.input;
  const access = parts.access?.bind(parts);
  const recover = parts.recover?.bind(parts);
  const settle = parts.settle?.bind(parts);
  return {
    name: parts.name,
    description: parts.description,
    inputSchema: schemaOf(schema),
    parse: (input) => (isStandardSchema(schema) ? parseWith(schema, input) : parsePlain(input)),
    // `parse` made the input what `run` takes.
    ...(access === undefined ? {} : { access: (input: unknown, context: ToolContext) => access(input as T, context) }),
    run: async (input, context) => toOutput(await parts.run(input as T, context)),
    ...(parts.whenUnknown === undefined ? {} : { whenUnknown: parts.whenUnknown }),
    ...(recover === undefined
      ? {}
      : { recover: (input: unknown, context: RecoverContext) => recover(input as T, context) }),
    ...(settle === undefined ? {} : { settle }),
  };
}

function schemaOf(schema: unknown): JsonObject {
  if (isStandardSchema(schema)) {
    const { $schema: _, ...rest } = jsonSchemaOf(schema);
    return rest;
  }
  return (schema as PlainSchema | undefined) ?? { type: "object", properties: {} };
}

function parseWith(schema: StandardSchema<unknown>, input: JsonValue): unknown {
  const checked = checkNowWith(schema, input);
  if (checked.problems === undefined) return checked.value;
  throw new ToolError(`The input is not right: ${checked.problems.join("; ")}`);
}

function parsePlain(input: JsonValue): JsonObject {
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input;
  throw new ToolError(
    `The input is not right: it must be an object, not ${input === null ? "null" : Array.isArray(input) ? "an array" : `a ${typeof input}`}`,
  );
}

function toOutput(result: ToolOutput | JsonValue | undefined): ToolOutput {
  if (typeof result === "string") return { text: result };
  if (result === undefined) return { text: "" };
  if (isToolOutput(result)) return result;
  return { text: JSON.stringify(result) };
}

/** `{ text }` with the fields of a ToolOutput and no others; anything else is a value of the tool's own. */
function isToolOutput(result: ToolOutput | JsonValue): result is ToolOutput {
  if (typeof result !== "object" || result === null || Array.isArray(result)) return false;
  const known = ["text", "isError", "omittedBytes", "outputFile", "exitCode", "durationMs"];
  return "text" in result && typeof result.text === "string" && Object.keys(result).every((key) => known.includes(key));
}
