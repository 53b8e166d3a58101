import type { Writable } from "node:stream";
import type { HistoryEntry } from "../agent/entries.js";
import { leavingLine } from "../session/leaving.js";
import type { Session, SessionEvent } from "../session/session.js";
import { printableLine } from "../text/printable.js";
import type { OutputFormat } from "./arguments.js";
import { Output } from "./output.js";
import { failureOf, PrintOutcome } from "./print-outcome.js";
import { createReport, type PrintReport } from "./print-report.js";
import { usageError } from "./usage-error.js";

export interface PrintOptions {
  readonly session: Session;
  readonly message: string | undefined;
  /** Started with -c or -r: a cut-off turn goes on before the message is sent, unless `wait`. */
  readonly resumed: boolean;
  readonly wait: boolean;
  readonly format: OutputFormat;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** What a person types to go on; said on standard error at the end, in text format. */
  readonly resumeCommand?: (id: string) => string;
}

const NOBODY_TO_ASK = "there is no terminal to ask on; start with --allow or --yes to let it run";

/**
 * Print mode: one turn, its answer on standard output. Never throws: what fails is reported in the format asked for. A
 * reader that goes away stops nothing: the turn finishes and is saved, and the exit code is the turn's.
 *
 * @returns the exit code
 */
export async function runPrint(options: PrintOptions): Promise<number> {
  const { session, format } = options;
  const out = new Output(options.stdout);
  const err = new Output(options.stderr);
  const outcome = new PrintOutcome();
  const report = createReport(format, out, err);
  // The reply that was recorded last: told when it is durable, or cut off.
  let reply: HistoryEntry<"reply"> | undefined;
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    report.end(session.info, outcome);
  };
  const off = session.on((event) => {
    outcome.see(event);
    if (event.type === "entry" && event.entry.kind === "reply") reply = event.entry;
    if (!ended) tell(report, session, event, reply);
    // A signal ends the process as soon as the conversation is saved: this may be the last chance to write.
    if (event.type === "idle" && event.reason.startsWith("aborted")) end();
  });
  const failed = (error: unknown): void => {
    outcome.fail(error);
    if (!ended) report.error(failureOf(error));
  };
  report.init(session.info);
  try {
    await talk(options, outcome);
  } catch (error) {
    failed(error);
  }
  try {
    await session.close();
  } catch (error) {
    failed(error);
  }
  off();
  end();
  const last = options.resumeCommand === undefined ? undefined : leavingLine(session.info, options.resumeCommand);
  if (format === "text" && last !== undefined) err.line(printableLine(last));
  await Promise.all([out.flush(), err.flush()]);
  return withOutput(outcome.exitCode, out, err);
}

/**
 * A failure before there is a conversation (an unknown id, no key), in the format asked for: who reads a stream waits
 * for its `result`.
 *
 * @returns the exit code
 */
export async function printFailure(
  error: unknown,
  options: Pick<PrintOptions, "format" | "stdout" | "stderr">,
): Promise<number> {
  const out = new Output(options.stdout);
  const err = new Output(options.stderr);
  const outcome = new PrintOutcome();
  const report = createReport(options.format, out, err);
  outcome.fail(error);
  report.error(failureOf(error));
  report.end(undefined, outcome);
  await Promise.all([out.flush(), err.flush()]);
  return outcome.exitCode;
}

async function talk({ session, message, resumed, wait }: PrintOptions, outcome: PrintOutcome): Promise<void> {
  const tookUp = resumed && (await session.takeUpCalls());
  const goesOn = resumed && !wait && (await session.continueCutOff());
  if (goesOn) await session.idle();
  if (message === undefined) {
    if (goesOn || tookUp) return;
    throw usageError(
      resumed ? "there is no message, and no turn of this conversation to go on with" : "-p has no message",
      "put one after it, or pipe it in",
      `chat ${resumed ? "-c " : ""}-p "what is in this folder?"`,
    );
  }
  // The message is not sent after a failure: the same command can be given again, and nothing is said twice.
  if (goesOn && outcome.status !== "ok") return;
  await session.send(message);
  await session.idle();
}

function tell(
  report: PrintReport,
  session: Session,
  event: SessionEvent,
  reply: HistoryEntry<"reply"> | undefined,
): void {
  switch (event.type) {
    case "text":
      report.text(event.text);
      return;
    case "entry":
      if (event.entry.kind === "result") report.result(event.entry);
      else if (event.entry.kind === "notice") report.notice(event.entry.text);
      return;
    case "reply":
      if (reply === undefined) return;
      if (reply.text !== "" || reply.calls.length === 0) report.reply(reply);
      for (const call of reply.calls) report.call(call);
      return;
    case "notice":
      report.notice(event.text);
      return;
    case "agent_changed":
      report.notice(event.message);
      return;
    case "compacted":
      report.notice("the older part of the conversation was summed up, to make room");
      return;
    case "retry":
      report.notice(`asking again in ${(event.delayMs / 1000).toFixed(1)} s: ${event.reason}`);
      return;
    case "saving_failed":
    case "saving_works":
    case "recovered":
      report.warning(event.text);
      return;
    case "draft_failed":
      report.notice(`what streams is not on disk until it is whole: ${failureOf(event.error).problem}`);
      return;
    case "error":
      report.error(event);
      return;
    case "ask":
      session.answer(event.askId, { kind: "no", reason: NOBODY_TO_ASK });
      return;
    default:
      return;
  }
}

/** A full disk under standard output: the conversation is saved, but who waits for the answer has not got it. */
function withOutput(exitCode: number, out: Output, err: Output): number {
  if (out.failure === undefined) return exitCode;
  err.line(`chat: the answer could not be written: ${out.failure.message}`);
  return exitCode === 0 ? 1 : exitCode;
}
