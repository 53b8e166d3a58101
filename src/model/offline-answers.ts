import type { JsonObject, JsonValue } from "../json.js";
import { wellFormed } from "../text/well-formed.js";
import type { ModelMessage, ModelToolResult } from "./model.js";
import { phraseHelp } from "./offline-phrases.js";

export function helpAnswer(cwd: string | undefined): string {
  const where = cwd === undefined ? "" : ` The tools work in ${cwd}.`;
  return [
    `This is the offline model: no language model, only these phrases, each of which calls a real tool.${where}`,
    "",
    ...phraseHelp.map((phrase) => `- ${phrase}`),
    "",
    "Several lines are several calls at once; `and then` between two phrases does one after the other.",
  ].join("\n");
}

/** What is not understood is said back, so that nobody takes this for a language model. */
export function plainAnswer(message: string): string {
  const keys = "ANTHROPIC_API_KEY, OPENAI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY";
  return [
    "I am the offline model: I am not a language model and understand a few phrases only.",
    `You said: ${excerpt(message, 1, 200)}`,
    `Try \`help\` or \`run ls -la\`. For a real model set ${keys}, or start with --model ollama/NAME.`,
  ].join("\n");
}

export function resultsAnswer(results: readonly ModelToolResult[]): string {
  return results
    .map((result) => `${result.name} ${result.isError ? "failed" : "finished"}: ${shown(result)}`)
    .join("\n");
}

function shown(result: ModelToolResult): string {
  return excerpt(result.text, 5, 400);
}

/** A summary as a compaction wants it: what the person said, in order, and how much was done. */
export function summaryAnswer(messages: readonly ModelMessage[]): string {
  const said = messages.slice(0, -1).flatMap((message) => (message.role === "user" ? [message.text] : []));
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  const names = [...new Set(calls.map((call) => call.name))];
  const used = calls.length === 0 ? "No tool was called." : `${calls.length} tool calls: ${names.join(", ")}.`;
  return [
    "Summary by the offline model (no language model). The person said:",
    ...said.slice(-20).map((text) => `- ${excerpt(text, 1, 160)}`),
    used,
  ].join("\n");
}

function excerpt(text: string, linesMax: number, lengthMax: number): string {
  const lines = text.trim().split("\n");
  const first = lines.slice(0, linesMax).join("\n");
  const cut = first.length > lengthMax ? wellFormed(first.slice(0, lengthMax)) : first;
  return cut.length < text.trim().length ? `${cut} …` : cut;
}

/** The smallest value that fits a JSON Schema, always the same one. Keywords beyond the common ones are not looked at. */
export function schemaAnswer(schema: JsonValue, root: JsonValue = schema, depth = 0): JsonValue {
  if (!isObject(schema) || depth > 16) return null;
  const again = (inner: JsonValue): JsonValue => schemaAnswer(inner, root, depth + 1);
  if (typeof schema.$ref === "string") return again(resolve(schema.$ref, root));
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  for (const choices of [schema.enum, schema.examples]) {
    if (Array.isArray(choices) && choices[0] !== undefined) return choices[0];
  }
  for (const schemas of [schema.anyOf, schema.oneOf, schema.allOf]) {
    if (Array.isArray(schemas) && schemas[0] !== undefined) return again(schemas[0]);
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "string") return "offline".padEnd(numberIn(schema.minLength) ?? 0, ".");
  if (type === "number" || type === "integer") return smallest(schema);
  if (type === "boolean") return false;
  if (type === "array") {
    return Array.from({ length: numberIn(schema.minItems) ?? 0 }, () => again(schema.items ?? null));
  }
  if (type !== "object" && !isObject(schema.properties)) return null;
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.fromEntries(
    required.flatMap((name) => (typeof name === "string" ? [[name, again(properties[name] ?? null)]] : [])),
  );
}

function smallest(schema: JsonObject): number {
  const above = numberIn(schema.exclusiveMinimum);
  const least = numberIn(schema.minimum) ?? (above === undefined ? undefined : above + 1);
  const most = numberIn(schema.maximum);
  if (least !== undefined) return Math.max(0, least);
  return most === undefined ? 0 : Math.min(0, most);
}

function resolve(pointer: string, root: JsonValue): JsonValue {
  let value: JsonValue | undefined = root;
  for (const step of pointer.replace(/^#\/?/, "").split("/").filter(Boolean)) {
    value = isObject(value) ? value[step.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  }
  return value ?? null;
}

function numberIn(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
