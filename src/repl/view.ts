import type { ModelCall } from "../model/model.js";
import type { SessionEvent } from "../session/session.js";
import { createPrintable, printable, printableLine } from "../text/printable.js";
import { type Display, errorLines, GAP, line, lines, problemLines, spans } from "./display.js";
import { CallOutput, callHeader, resultLines } from "./render-call.js";
import { formatDuration } from "./time.js";

const NOTICES_REMEMBERED = 50;

/** Turns what happens in a conversation into what a person sees. Knows no terminal but its width. */
export class TurnView {
  readonly #columns: () => number;
  /** Calls that were announced and have no result yet, by id. */
  readonly #calls = new Map<string, ModelCall>();
  readonly #outputs = new Map<string, CallOutput>();
  readonly #askedDiffs = new Set<string>();
  /** Whose output was last on the screen: with parallel calls each change is marked. */
  #outputOf: string | undefined;
  readonly #running = new Map<string, string>();
  #last: "start" | "text" | "reply" | "call" | "line" = "start";
  #clean = createPrintable();
  /** Line breaks that wait for text after them: a reply's last ones are not drawn. */
  #breaks = "";
  #streamed = false;
  #cutOffShown = false;
  #shell = new CallOutput(createPrintable());
  #noticed: string[] = [];

  constructor(columns: () => number) {
    this.#columns = columns;
  }

  /** What the program is busy with, in a word or two. */
  get activity(): string {
    const names = [...this.#running.values()];
    return names.length === 0 ? "thinking" : `running ${printableLine(names.join(", "), 60)}`;
  }

  show(event: SessionEvent): Display[] {
    switch (event.type) {
      case "text":
        return this.#text(event.text);
      case "reply":
        return this.#reply(event);
      case "retry":
        return this.#line(
          line(
            `… ${printableLine(event.reason, 200)}; asking again in ${formatDuration(event.delayMs)} (attempt ${event.attempt})`,
            "yellow",
          ),
        );
      case "call_started":
      case "call_taken_up":
        this.#running.set(event.call.id, event.call.name);
        return this.#header(event.call);
      case "call_output":
        return this.#output(event.callId, event.chunk);
      case "call_result":
        return this.#result(event);
      case "ask":
        if (event.access?.action === "write" && event.access.subject.includes("\n"))
          this.#askedDiffs.add(event.call.id);
        this.#calls.set(event.call.id, event.call);
        return [];
      case "shell_output":
        return this.#line(...this.#shell.push(event.chunk));
      case "shell_end":
        return this.#shellEnd(event);
      case "shell_taken_up":
        this.shellBegins();
        return this.#line(spans(["cyan", "> !"], printableLine(event.command, Math.max(20, this.#columns() - 4))));
      case "trimmed": // The session says it in words.
        return [];
      case "compacted":
        return this.#line(line("the older part of the conversation is now a summary for the model", "dim"));
      case "agent_changed":
        return this.#line(...lines(event.message, "yellow"));
      case "notice":
        return this.#notice(event.text);
      case "entry":
        return event.entry.kind === "notice" ? this.#notice(event.entry.text) : [];
      case "error":
        return this.#line(...problemLines(event.problem, event.fix));
      case "saving_failed":
        return this.#line(...lines(event.text, "red"));
      case "saving_works":
        return this.#line(...lines(event.text, "green"));
      case "recovered":
        return this.#line(...lines(event.text, "yellow"));
      case "draft_failed":
        return this.#line(line("what streams is not on disk until it is whole:", "yellow"), ...errorLines(event.error));
      case "run_end":
        return this.#runEnd(event.reason);
      case "idle":
        return this.#idle();
      case "reasoning":
      case "busy":
      case "saved":
      case "save_failed":
      case "ask_withdrawn":
        return [];
    }
  }

  /** What the person entered stands right above: no gap before the answer. */
  personSpoke(): void {
    this.#last = "start";
    this.#outputOf = undefined;
  }

  /** The person's own command has begun. */
  shellBegins(): void {
    this.#running.set("", "the command");
  }

  #line(...items: Display[]): Display[] {
    if (items.length > 0) this.#last = "line";
    this.#breaks = "";
    return items;
  }

  #text(chunk: string): Display[] {
    let text = this.#clean(chunk);
    const begins = this.#last !== "text";
    if (begins) text = text.replace(/^\s*\n|^\s+$/, "");
    const end = /\n[\s]*$/.exec(text)?.index ?? text.length;
    const breaks = text.slice(end);
    text = text.slice(0, end);
    if (text === "") {
      if (!begins) this.#breaks += breaks;
      return [];
    }
    const shown: Display[] = [];
    if (begins && this.#last !== "start") shown.push(GAP);
    shown.push({ kind: "stream", text: this.#breaks + text });
    this.#breaks = breaks;
    this.#last = "text";
    this.#streamed = true;
    return shown;
  }

  #reply(event: Extract<SessionEvent, { type: "reply" }>): Display[] {
    for (const call of event.calls) this.#calls.set(call.id, call);
    // A model that does not stream: the reply is all there is.
    const shown = this.#streamed || event.text === "" ? [] : this.#text(event.text);
    this.#cutOffShown = event.cutOff !== undefined;
    if (event.cutOff !== undefined) {
      shown.push(...this.#line(line(`(cut off: ${printableLine(event.cutOff, 200)})`, "yellow")));
    }
    // What comes next is another reply.
    if (this.#last === "text") this.#last = "reply";
    this.#breaks = "";
    this.#streamed = false;
    this.#clean = createPrintable();
    return shown;
  }

  #header(call: ModelCall): Display[] {
    this.#calls.set(call.id, call);
    this.#outputOf = call.id;
    const gap = this.#last !== "start" && this.#last !== "call" ? [GAP] : [];
    this.#last = "call";
    this.#breaks = "";
    return [...gap, callHeader(call, this.#columns())];
  }

  #output(callId: string, chunk: string): Display[] {
    let output = this.#outputs.get(callId);
    if (output === undefined) {
      output = new CallOutput(createPrintable());
      this.#outputs.set(callId, output);
    }
    const shown = output.push(chunk);
    return shown.length === 0 ? [] : [...this.#turnTo(callId), ...shown];
  }

  /** With parallel calls: says whose lines come now. */
  #turnTo(callId: string): Display[] {
    if (this.#outputOf === callId) return [];
    const call = this.#calls.get(callId);
    return call === undefined ? [] : this.#header(call);
  }

  #result(event: Extract<SessionEvent, { type: "call_result" }>): Display[] {
    const { callId, result } = event;
    const output = this.#outputs.get(callId);
    const live = output !== undefined && !output.isEmpty;
    const shown = [
      ...this.#turnTo(callId),
      ...(output?.end() ?? []),
      ...resultLines(result, { live, diffShown: this.#askedDiffs.has(callId) }),
    ];
    this.#running.delete(callId);
    this.#outputs.delete(callId);
    this.#calls.delete(callId);
    this.#askedDiffs.delete(callId);
    // The next call's line follows directly; another one's output gets its name again.
    this.#last = "call";
    this.#outputOf = undefined;
    return shown;
  }

  #shellEnd({ exitCode, outcome }: Extract<SessionEvent, { type: "shell_end" }>): Display[] {
    const shown = this.#shell.end();
    this.#shell = new CallOutput(createPrintable());
    this.#running.clear();
    if (exitCode !== 0 && outcome === undefined)
      shown.push(line(exitCode === null ? "  (ended by a signal)" : `  (exit code ${exitCode})`, "yellow"));
    return this.#line(...shown);
  }

  /** The same notice comes as an event and as an entry. */
  #notice(text: string): Display[] {
    if (this.#noticed.includes(text)) return [];
    this.#noticed = [...this.#noticed.slice(-NOTICES_REMEMBERED), text];
    return this.#line(...lines(printable(text), "dim"));
  }

  #runEnd(reason: string): Display[] {
    if (reason === "interrupted") return this.#cutOffShown ? [] : this.#line(line("(interrupted)", "yellow"));
    if (reason === "limit")
      return this.#line(line("(stopped: the limit of steps is reached; :retry goes on)", "yellow"));
    return [];
  }

  #idle(): Display[] {
    this.#calls.clear();
    this.#running.clear();
    this.#outputs.clear();
    this.#askedDiffs.clear();
    this.#noticed = [];
    this.#last = "start";
    this.#breaks = "";
    this.#streamed = false;
    this.#cutOffShown = false;
    return [GAP];
  }
}
