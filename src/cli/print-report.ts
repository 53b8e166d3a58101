import type { HistoryEntry } from "../agent/entries.js";
import type { ModelCall } from "../model/model.js";
import type { SessionInfo } from "../session/session.js";
import { printable, printableLine } from "../text/printable.js";
import type { OutputFormat } from "./arguments.js";
import { jsonLine, type Output } from "./output.js";
import type { PrintFailure, PrintOutcome } from "./print-outcome.js";

/** What print mode writes while it goes on, and at its end. */
export interface PrintReport {
  init(info: SessionInfo): void;
  /** A piece of a reply as it comes. */
  text(delta: string): void;
  reply(entry: HistoryEntry<"reply">): void;
  call(call: ModelCall): void;
  result(entry: HistoryEntry<"result">): void;
  notice(text: string): void;
  /** What a person must know while it goes on: also on standard error. */
  warning(text: string): void;
  error(failure: PrintFailure): void;
  /** The last thing written. `info` is undefined when no conversation could be opened. */
  end(info: SessionInfo | undefined, outcome: PrintOutcome): void;
}

export function createReport(format: OutputFormat, out: Output, err: Output): PrintReport {
  if (format === "stream-json") return new StreamReport(out, err);
  return new PlainReport(format, out, err);
}

/** text and json: the answer on standard output, what happens meanwhile on standard error. */
class PlainReport implements PrintReport {
  constructor(
    private readonly format: "text" | "json",
    private readonly out: Output,
    private readonly err: Output,
  ) {}

  init(): void {}
  text(): void {}

  reply(entry: HistoryEntry<"reply">): void {
    // Said before a call: not the answer, but worth reading.
    if (entry.calls.length > 0 && entry.text.trim() !== "") this.err.line(printable(entry.text.trim()));
    if (entry.cutOff !== undefined) this.err.line(`(the reply was cut off: ${printableLine(entry.cutOff)})`);
  }

  call(call: ModelCall): void {
    this.err.line(`> ${printableLine(`${call.name} ${inputText(call)}`, 200)}`);
  }

  result(entry: HistoryEntry<"result">): void {
    const first = entry.text.trim().split("\n")[0] ?? "";
    // A call that did not run to its end says so itself: `(refused: …)`.
    const outcome = first.startsWith("(") ? "" : `${entry.outcome}${first === "" ? "" : ": "}`;
    this.err.line(`  ${outcome}${printableLine(first, 160)}`);
  }

  notice(text: string): void {
    this.err.line(printableLine(text));
  }

  warning(text: string): void {
    this.err.line(`chat: ${printableLine(text)}`);
  }

  error(failure: PrintFailure): void {
    showFailure(this.err, failure);
  }

  end(info: SessionInfo | undefined, outcome: PrintOutcome): void {
    if (this.format === "json") {
      this.out.line(jsonLine({ conversationId: savedId(info), ...resultFields(info, outcome) }));
      return;
    }
    const answered = outcome.isAnswered;
    const text = printable(outcome.text).replace(/\n+$/, "");
    // What a turn said before it failed is no answer.
    if (text !== "") (answered ? this.out : this.err).line(text);
    if (!answered && outcome.failure === undefined) this.err.line(`chat: no answer: ${printableLine(outcome.status)}`);
  }
}

/** stream-json: one object a line; standard error has errors only. */
class StreamReport implements PrintReport {
  #id: string | null = null;

  constructor(
    private readonly out: Output,
    private readonly err: Output,
  ) {}

  init({ id, name, model, cwd }: SessionInfo): void {
    this.#id = id;
    this.#line("init", { model, cwd, ...(name === undefined ? {} : { name }) });
  }

  text(delta: string): void {
    this.#line("text", { text: delta });
  }

  reply({ text, model, usage, cutOff }: HistoryEntry<"reply">): void {
    this.#line("message", { role: "assistant", text, model, usage, ...(cutOff === undefined ? {} : { cutOff }) });
  }

  call({ id, name, input }: ModelCall): void {
    this.#line("tool_use", { callId: id, name, input });
  }

  result({ callId, name, text, isError, outcome }: HistoryEntry<"result">): void {
    this.#line("tool_result", { callId, name, output: text, isError, outcome });
  }

  notice(text: string): void {
    this.#line("notice", { text });
  }

  warning(text: string): void {
    this.notice(text);
    this.err.line(`chat: ${printableLine(text)}`);
  }

  error(failure: PrintFailure): void {
    this.#line("error", failureFields(failure));
    showFailure(this.err, failure);
  }

  end(info: SessionInfo | undefined, outcome: PrintOutcome): void {
    // Another one when it had to be recovered.
    this.#id = savedId(info);
    this.#line("result", resultFields(info, outcome));
  }

  #line(type: string, fields: Record<string, unknown>): void {
    this.out.line(jsonLine({ type, conversationId: this.#id, ...fields }));
  }
}

/** The conversation that can be gone on with: null when nothing of it is on disk. */
function savedId(info: SessionInfo | undefined): string | null {
  return info?.saved === true ? info.id : null;
}

function resultFields(info: SessionInfo | undefined, outcome: PrintOutcome): Record<string, unknown> {
  const { status, text, usage, failure, exitCode } = outcome;
  return {
    status,
    text,
    usage,
    model: info?.model ?? null,
    exitCode,
    ...(failure === undefined ? {} : { error: failureFields(failure) }),
  };
}

function failureFields({ code, problem, fix }: PrintFailure): Record<string, unknown> {
  return { code: code ?? null, problem, fix: fix ?? null };
}

function showFailure(err: Output, { problem, fix }: PrintFailure): void {
  err.line(`chat: ${printable(problem)}`);
  if (fix !== undefined) err.line(`Fix: ${printable(fix)}`);
}

function inputText(call: ModelCall): string {
  const { input } = call;
  if (typeof input === "object" && input !== null && !Array.isArray(input)) {
    const values = Object.values(input);
    if (values.length === 1 && typeof values[0] === "string") return values[0];
  }
  return JSON.stringify(input);
}
