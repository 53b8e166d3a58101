import type { JsonObject, JsonValue } from "../json.js";
import type { ToolSpec } from "../model/model.js";

/** What a call would do, said before it runs, for the permissions. */
export interface ToolAccess {
  /** read: changes nothing. write: changes files. run: anything. */
  readonly action: "read" | "write" | "run";
  /** True when everything it touches is really (links followed) inside the working folder. A `run` never is. */
  readonly inside: boolean;
  /** What a person decides on, one or more lines: a command, a path, a diff. */
  readonly subject: string;
}

export interface ToolContext {
  readonly callId: string;
  /** The conversation's id. */
  readonly stateId: string;
  /**
   * Aborted by Ctrl+C, SIGTERM, an exception of the run; its reason says which. Then stop soon: throw (the reason will do)
   * or return what there is, which is kept before the words that close the call.
   */
  readonly signal: AbortSignal;
  /** The working folder, absolute. */
  readonly cwd: string;
  /** Live output for the screen, as it comes. Not the result. */
  onOutput(chunk: string): void;
  /** A file of this call's own in the conversation's folder, for output too long for history; undefined without one. */
  readonly outputPath: string | undefined;
}

/** For {@link Tool.recover}: an earlier process made the call. */
export interface RecoverContext extends ToolContext {
  /** Its start was recorded before the process ended. */
  readonly wasStarted: boolean;
  /** The machine was restarted since, or nobody can tell: files that were not synced may be lost. */
  readonly restarted: boolean;
}

/**
 * What became of a call: its result; or that it did not run and never will; or that nobody knows, with what is known.
 */
export type Recovered = ToolOutput | "not_run" | "unknown" | { readonly unknown: string };

/**
 * What may happen to a call when nobody knows how it ended. `run-again`: it runs once more (only for tools that change
 * nothing). `ask`: a person is asked whether it is to run once more. `never`: the model is told, and decides.
 */
export type WhenUnknown = "run-again" | "ask" | "never";

/** What a tool returns when plain text does not do. Text is cut to 64 KiB (head and tail) when it enters history. */
export interface ToolOutput {
  readonly text: string;
  readonly isError?: boolean;
  /** Bytes that are not in `text`, already counted by the tool. */
  readonly omittedBytes?: number;
  /** Where the whole output is. */
  readonly outputFile?: string;
  /** Of a command; null when a signal ended it. */
  readonly exitCode?: number | null;
  /** When the tool knows better than whoever waited for it: a call that was made by an earlier process, for one. */
  readonly durationMs?: number;
}

export interface Tool extends ToolSpec {
  /** Checks an input the model made (a copy of it). Throws ToolError, naming the field, when it is not right. */
  parse(input: JsonValue): unknown;
  /** Undefined: a tool that runs without asking (a library user's own tool, unless permissions say otherwise). */
  access?(input: unknown, context: ToolContext): ToolAccess | Promise<ToolAccess>;
  run(input: unknown, context: ToolContext): Promise<ToolOutput>;
  /** Default: never. */
  readonly whenUnknown?: WhenUnknown;
  /**
   * Finds out what became of a call that was open when an earlier process ended, and waits for it when it still runs. A
   * tool that has it is left to itself when the terminal goes away (SIGHUP): its signal is not aborted then.
   */
  recover?(input: unknown, context: RecoverContext): Promise<Recovered>;
  /** The call's result is durable: what was kept for {@link recover} may go, but not `outputFile`. */
  settle?(call: Pick<ToolContext, "callId" | "outputPath">, outputFile: string | undefined): Promise<void>;
}

/**
 * Throw it from a tool to give the model an error result with exactly this text. Any other error becomes an error result
 * `ErrorName: message`. Neither ends the run.
 */
export class ToolError extends Error {
  override readonly name = "ToolError";
}

/** A schema of a library that speaks Standard Schema and its JSON Schema part: zod 4.2 and newer, valibot, arktype. */
export interface StandardSchema<T> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): StandardResult<T> | Promise<StandardResult<T>>;
    readonly jsonSchema?: { input(options: { target: "draft-07" }): Record<string, unknown> };
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}
export type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | {
      readonly issues: ReadonlyArray<{
        readonly message: string;
        readonly path?: ReadonlyArray<PropertyKey | { key: PropertyKey }> | undefined;
      }>;
    };

/** A plain JSON Schema, for tools without a schema library. The input is then checked to be an object, no more. */
export type PlainSchema = JsonObject;
