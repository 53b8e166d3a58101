import type { JsonObject, JsonValue } from "../json.js";
import type { Snapshot } from "../store/store.js";
import { cleanText } from "./clean.js";
import type { AgentSummary } from "./entries.js";
import { isAgent } from "./entry-check.js";
import type { Facts } from "./facts.js";

/** The longest task a snapshot holds: rows of a list are read without the history, so they must stay small. */
const taskLengthMax = 1000;

/** The rest of a State, without its history: small, whatever the length of the history. */
export function snapshotOf(facts: Facts, createdAt: string, historyLength: number): Snapshot {
  const defined = {
    ...(facts.name === undefined ? {} : { name: facts.name }),
    ...(facts.stoppedBy === undefined ? {} : { stoppedBy: facts.stoppedBy }),
    ...(facts.model === undefined ? {} : { model: facts.model }),
    ...(facts.cwd === undefined ? {} : { cwd: facts.cwd }),
    ...(facts.agent === undefined ? {} : { agent: { ...facts.agent } }),
  };
  return {
    task: cleanText((facts.task ?? "").slice(0, taskLengthMax)),
    createdAt,
    historyLength,
    updatedAt: facts.updatedAt ?? createdAt,
    turn: facts.turn,
    messageCount: facts.messageCount,
    finished: facts.finished,
    usage: { ...facts.usage },
    data: dataOf(facts),
    ...defined,
  };
}

/** `data` as it was last recorded: a value of its own. */
export function dataOf(facts: Facts): JsonObject {
  return Object.fromEntries([...facts.data].map(([key, json]) => [key, JSON.parse(json) as JsonValue]));
}

/**
 * Puts a saved snapshot over the facts of the entries it covers. Without damage that changes nothing; where entries were
 * lost it knows better.
 */
export function overlaySnapshot(facts: Facts, snapshot: Snapshot): void {
  const text = (key: string) => (typeof snapshot[key] === "string" ? snapshot[key] : undefined);
  facts.task ??= snapshot.task === "" ? undefined : text("task");
  facts.name = text("name") ?? facts.name;
  facts.model = text("model") ?? facts.model;
  facts.cwd = text("cwd") ?? facts.cwd;
  facts.stoppedBy = text("stoppedBy") ?? facts.stoppedBy;
  if (typeof snapshot.turn === "number" && snapshot.turn > facts.turn) facts.turn = snapshot.turn;
  if (typeof snapshot.messageCount === "number" && snapshot.messageCount > facts.messageCount) {
    facts.messageCount = snapshot.messageCount;
  }
  if (snapshot.finished === true) facts.finished = true;
  if (isAgent(snapshot.agent)) facts.agent = snapshot.agent as AgentSummary;
  overlayUsage(facts, snapshot.usage);
  const data = snapshot.data;
  if (!isObject(data)) return;
  facts.data.clear();
  for (const [key, value] of Object.entries(data)) facts.data.set(key, JSON.stringify(value));
}

function overlayUsage(facts: Facts, usage: unknown): void {
  if (!isObject(usage)) return;
  const larger = (key: keyof Facts["usage"]) => {
    const saved = usage[key];
    return typeof saved === "number" && saved > facts.usage[key] ? saved : facts.usage[key];
  };
  facts.usage = {
    inputTokens: larger("inputTokens"),
    outputTokens: larger("outputTokens"),
    cachedInputTokens: larger("cachedInputTokens"),
    requests: larger("requests"),
  };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
