import { PerdureError } from "../errors.js";
import type { JsonObject } from "../json.js";
import type { StandardSchema } from "./tool.js";

/** A value, or what is wrong with it: one line each, naming the field. */
export type Checked<T> =
  | { readonly value: T; readonly problems?: undefined }
  | { readonly problems: readonly string[] };

export async function checkWith<T>(schema: StandardSchema<T>, value: unknown): Promise<Checked<T>> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return { value: result.value };
  return { problems: result.issues.map(describeIssue) };
}

/** As {@link checkWith}, for schemas that need no waiting. */
export function checkNowWith<T>(schema: StandardSchema<T>, value: unknown): Checked<T> {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise)
    throw schemaError("the schema checks its values asynchronously", "use one that does not");
  return result.issues === undefined ? { value: result.value } : { problems: result.issues.map(describeIssue) };
}

/** @throws {PerdureError} SCHEMA_UNSUPPORTED */
export function jsonSchemaOf(schema: StandardSchema<unknown>): JsonObject {
  const { jsonSchema } = schema["~standard"];
  if (jsonSchema === undefined) {
    throw schemaError(
      "the schema cannot say what it is in JSON Schema",
      "use a library that implements ~standard.jsonSchema (zod 4.2 and newer), or give a plain JSON Schema",
    );
  }
  return JSON.parse(JSON.stringify(jsonSchema.input({ target: "draft-07" }))) as JsonObject;
}

export function isStandardSchema(schema: unknown): schema is StandardSchema<unknown> {
  return (typeof schema === "object" || typeof schema === "function") && schema !== null && "~standard" in schema;
}

type Issue = {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { key: PropertyKey }> | undefined;
};

function describeIssue(issue: Issue): string {
  const path = (issue.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}

function schemaError(problem: string, fix: string): PerdureError {
  return new PerdureError({ code: "SCHEMA_UNSUPPORTED", problem, fix, example: "z.object({ title: z.string() })" });
}
