import type { Damage, Entry, SavedRecord } from "../store/store.js";
import type { EntryBody, HistoryEntry, SeqRange } from "./entries.js";
import { isMalformed, isReplayable } from "./entry-check.js";
import { Facts } from "./facts.js";
import { ContextFold } from "./fold.js";
import { closingText } from "./interrupt.js";
import { draftReply } from "./restore-draft.js";
import { covers, type Skip, skippedRanges } from "./skips.js";
import { overlaySnapshot } from "./snapshot.js";
import { damagedError } from "./state-errors.js";

export interface Restored {
  readonly history: HistoryEntry[];
  readonly facts: Facts;
  readonly fold: ContextFold;
  readonly createdAt: string | undefined;
  readonly damage: readonly Damage[];
  readonly savedLength: number;
  /** To be recorded in this order: what had streamed, notices of what is missing, results for the calls that have none. */
  readonly closing: readonly EntryBody[];
  /** Calls that are left open, for an agent to find out what became of them. */
  readonly openCallIds: readonly string[];
}

export interface RestoreOptions {
  /** close: calls without a result get one that says that nobody knows. keep: they stay open (see `Agent.recover`). */
  readonly openCalls?: "close" | "keep";
}

/** More lost entries than this in one place is a position that was damaged itself. */
const gapMax = 10_000_000;

/** What a State is made of, from a store's record. Nothing is written. */
export function restore(id: string, record: SavedRecord, options: RestoreOptions = {}): Restored {
  const { snapshot } = record;
  const { history, notices, missing, malformed, unreplayed, turn } = placeEntries(id, record.entries);
  const savedLength = history.length;
  const skips: Skip[] = notices.flatMap(({ seq, skip }) => (skip === undefined ? [] : [{ seq, skip }]));
  let skipped = skippedRanges(skips);
  const isSkipped = (seq: number) => covers(skipped, seq);

  const covered = snapshot !== undefined && isLength(snapshot.historyLength) ? snapshot.historyLength : undefined;
  const unreplayable = malformed.filter((seq) => !isSkipped(seq));
  const halfWritten = covered !== undefined && covered > 0 && unreplayable.some((seq) => seq >= covered);

  const fold = new ContextFold(history);
  fold.advance();
  const streamed = halfWritten ? undefined : draftReply(history, record.draft, isSkipped);
  const closing: EntryBody[] = streamed === undefined ? [] : [streamed];
  const startedInSkip = new Set<string>();
  let replayed = savedLength;
  if (halfWritten && covered < savedLength) {
    replayed = covered;
    const skip = { from: covered, to: savedLength - 1 };
    skipped = skippedRanges([...skips, { seq: savedLength, skip }]);
    const skippedEntries = history.slice(covered);
    for (const entry of skippedEntries) {
      if (entry.kind === "call_started" && isReplayable(entry)) startedInSkip.add(entry.callId);
    }
    closing.push(halfWrittenNotice(skip, callNames(history.slice(0, covered), skippedEntries)));
  }

  const facts = new Facts();
  for (let seq = 0; seq <= replayed; seq += 1) {
    if (seq === Math.min(covered ?? -1, replayed) && snapshot !== undefined) overlaySnapshot(facts, snapshot);
    const entry = history[seq];
    if (entry !== undefined && seq < replayed && !unreplayed.has(seq) && !isSkipped(seq)) facts.apply(entry);
  }
  if (covered === undefined && snapshot !== undefined) overlaySnapshot(facts, snapshot);
  // Turns count on from the last one there was, also when its steps are left out.
  facts.turn = Math.max(facts.turn, turn);

  const unread = [...missing, ...unreplayable].filter((seq) => seq < replayed).sort((a, b) => a - b);
  const lost = untoldRanges(unread, notices, savedLength, covered);
  if (lost.length > 0) closing.push(lostNotice(lost));
  const folded = closing.some((body) => body.kind === "notice" && body.skip) ? foldBefore(history, replayed) : fold;
  // After half-written steps nothing can be taken up: what happened in them is told as a whole.
  const keeps = options.openCalls === "keep" && folded === fold;
  const openCallIds = keeps ? folded.pendingCalls.map((call) => call.id) : [];
  for (const call of keeps ? [] : folded.pendingCalls) {
    const started = folded.isStarted(call.id) || startedInSkip.has(call.id);
    const text = started ? closingText.unknown : closingText.notStarted;
    const outcome = started ? "unknown" : "not_run";
    closing.push({ kind: "result", callId: call.id, name: call.name, text, isError: true, outcome });
  }
  const { openShell } = facts;
  if (openShell !== undefined && !keeps) {
    const { callId, command } = openShell;
    closing.push({ kind: "shell", command, output: closingText.unknown, exitCode: null, callId, outcome: "unknown" });
  }
  const createdAt = text(snapshot?.createdAt) ?? text(record.entries[0]?.at);
  return { history, facts, fold, createdAt, savedLength, closing, openCallIds, damage: record.damage ?? [] };
}

interface Placed {
  /** Index = seq: entries in their places, and placeholders where some were lost. */
  readonly history: HistoryEntry[];
  readonly notices: HistoryEntry<"notice">[];
  readonly missing: number[];
  readonly malformed: number[];
  /** The malformed ones, and kinds that this version does not know. */
  readonly unreplayed: ReadonlySet<number>;
  /** The highest of all. */
  readonly turn: number;
}

/** One pass over what may be a very long history. */
function placeEntries(id: string, entries: readonly Entry[]): Placed {
  const history: HistoryEntry[] = [];
  const notices: HistoryEntry<"notice">[] = [];
  const missing: number[] = [];
  const malformed: number[] = [];
  const unreplayed = new Set<number>();
  let turn = 0;
  for (const entry of inOrder(entries)) {
    if (!isLength(entry.seq) || entry.seq < history.length) continue;
    if (entry.seq - history.length > gapMax) {
      throw damagedError(id, `entry ${entry.seq} comes after entry ${history.length - 1}`);
    }
    while (history.length < entry.seq) {
      missing.push(history.length);
      history.push({ seq: history.length, at: entry.at, turn: entry.turn, kind: "missing" });
    }
    if (!isReplayable(entry)) {
      unreplayed.add(entry.seq);
      if (isMalformed(entry)) malformed.push(entry.seq);
    } else if (entry.kind === "notice") notices.push(entry);
    if (typeof entry.turn === "number" && entry.turn > turn) turn = entry.turn;
    // A kind this version does not know is kept as it is; whoever reads history switches on `kind`.
    history.push(entry as HistoryEntry);
  }
  return { history, notices, missing, malformed, unreplayed, turn };
}

function inOrder(entries: readonly Entry[]): readonly Entry[] {
  const isSorted = entries.every((entry, index) => index === 0 || entry.seq > (entries[index - 1]?.seq ?? -1));
  return isSorted ? entries : [...entries].sort((a, b) => a.seq - b.seq);
}

/** Ranges of entries that cannot be read and that no notice has told of yet. */
function untoldRanges(
  unread: readonly number[],
  notices: readonly HistoryEntry<"notice">[],
  length: number,
  covered: number | undefined,
): SeqRange[] {
  const ranges: SeqRange[] = [];
  for (const seq of unread) {
    const last = ranges.at(-1);
    if (last !== undefined && last.to === seq - 1) last.to = seq;
    else ranges.push({ from: seq, to: seq });
  }
  if (covered !== undefined && covered > length && covered - length <= gapMax) {
    ranges.push({ from: length, to: covered - 1 });
  }
  const told = notices.flatMap((notice) => notice.missing ?? []);
  return ranges.filter((range) => !told.some((known) => known.from <= range.from && range.to <= known.to));
}

/** The context at the last complete save: the notice that leaves the rest out is not recorded yet. */
function foldBefore(history: readonly HistoryEntry[], length: number): ContextFold {
  const fold = new ContextFold(history.slice(0, length));
  fold.advance();
  return fold;
}

/** Calls that may have run in steps that are left out: `bash (call_4_0)`. */
function callNames(before: readonly HistoryEntry[], skipped: readonly HistoryEntry[]): string[] {
  const names = new Map<string, string>();
  for (const call of foldBefore(before, before.length).pendingCalls) names.set(call.id, call.name);
  const pending = new Set(names.keys());
  const started = new Set<string>();
  for (const entry of skipped) {
    if (!isReplayable(entry)) continue;
    if (entry.kind === "reply") for (const call of entry.calls) names.set(call.id, call.name);
    if (entry.kind === "call_started" || entry.kind === "result") {
      started.add(entry.callId);
      if (!names.has(entry.callId)) names.set(entry.callId, entry.name);
    }
  }
  for (const entry of before)
    if (isReplayable(entry) && entry.kind === "call_started" && pending.has(entry.callId)) started.add(entry.callId);
  return [...started].map((callId) => `${names.get(callId) ?? "a tool"} (${callId})`);
}

function halfWrittenNotice(skip: SeqRange, calls: readonly string[]): EntryBody {
  const text = [
    "Saving failed halfway: the steps after the last complete save cannot be replayed and are missing from this conversation.",
    calls.length === 0
      ? "No tool call had started in them."
      : `These tool calls may or may not have run: ${calls.join(", ")}. Check whether they took effect before relying on them or running them again.`,
  ].join(" ");
  return { kind: "notice", text, skip };
}

function lostNotice(missing: SeqRange[]): EntryBody {
  const shown = missing.slice(0, 20).map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`));
  const more = missing.length > shown.length ? ` and ${missing.length - shown.length} more places` : "";
  const text = `A part of this conversation could not be read and is missing: history entries ${shown.join(", ")}${more}.`;
  return { kind: "notice", text, missing };
}

function isLength(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
