import { nearest } from "../text/nearest.js";
import { type OptionTable, type Positional, readWords, type Words } from "./options.js";
import { quoted, shellWord, usageError } from "./usage-error.js";

export type OutputFormat = "text" | "json" | "stream-json";

export interface PermissionArguments {
  /** Everything runs without asking, except what `deny` names. */
  readonly yes: boolean;
  /** Names of tools. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly readOnly: boolean;
  readonly noTools: boolean;
}

export interface ChatArguments {
  readonly command: "chat";
  /** `ref` undefined: the most recently updated conversation. */
  readonly start:
    | { readonly kind: "new" }
    | { readonly kind: "resume"; readonly ref: string | undefined }
    /** A copy of it is gone on with. */
    | { readonly kind: "fork"; readonly ref: string | undefined };
  readonly message: string | undefined;
  readonly print: boolean;
  readonly outputFormat: OutputFormat;
  readonly model: string | undefined;
  readonly baseUrl: string | undefined;
  readonly name: string | undefined;
  /** As given: a text, or `@FILE`. */
  readonly system: string | undefined;
  readonly store: string | undefined;
  readonly cwd: string | undefined;
  readonly permissions: PermissionArguments;
  /** Do not go on with a cut-off turn. */
  readonly wait: boolean;
  readonly noLock: boolean;
}

/** What the command line asks for. `store`: a folder, as given. */
export type Arguments =
  | ChatArguments
  | { readonly command: "list"; readonly json: boolean; readonly store: string | undefined }
  | {
      readonly command: "show";
      readonly id: string;
      readonly json: boolean;
      readonly follow: boolean;
      readonly store: string | undefined;
    }
  | {
      readonly command: "rename";
      readonly id: string;
      readonly text: string;
      readonly store: string | undefined;
      readonly noLock: boolean;
    }
  | {
      readonly command: "delete";
      readonly ids: readonly string[];
      readonly yes: boolean;
      readonly store: string | undefined;
      readonly noLock: boolean;
    }
  | {
      readonly command: "doctor";
      /** Undefined: all of them. */
      readonly id: string | undefined;
      readonly repair: boolean;
      readonly json: boolean;
      readonly store: string | undefined;
      readonly noLock: boolean;
    }
  | { readonly command: "version" }
  | { readonly command: "help" };

type Subcommand = "list" | "show" | "rename" | "delete" | "doctor";

const SUBCOMMANDS: readonly Subcommand[] = ["list", "show", "rename", "delete", "doctor"];

/** The names `--allow` and `--deny` take: a misspelt one would protect nothing. */
export const TOOL_NAMES: readonly string[] = ["bash", "read", "write", "edit", "list", "search"];

const OUTPUT_FORMATS: readonly OutputFormat[] = ["text", "json", "stream-json"];
const HELP: OptionTable = { help: { kind: "flag", short: "h" } };
const STORE: OptionTable = { store: { kind: "value", sample: "~/conversations" } };

const NO_LOCK: OptionTable = { "no-lock": { kind: "flag" } };

const CHAT_OPTIONS: OptionTable = {
  ...HELP,
  ...STORE,
  ...NO_LOCK,
  version: { kind: "flag" },
  resume: { kind: "optional", short: "r", sample: "k7f2" },
  continue: { kind: "flag", short: "c" },
  fork: { kind: "optional", sample: "k7f2" },
  print: { kind: "flag", short: "p" },
  "output-format": { kind: "value", sample: "json" },
  model: { kind: "value", short: "m", sample: "anthropic/claude-sonnet-4-5" },
  "base-url": { kind: "value", sample: "http://localhost:8080/v1" },
  name: { kind: "value", short: "n", sample: '"the parser"' },
  system: { kind: "value", sample: "@prompt.md" },
  cwd: { kind: "value", sample: "../project" },
  yes: { kind: "flag" },
  allow: { kind: "list", sample: "bash,write" },
  deny: { kind: "list", sample: "bash" },
  "read-only": { kind: "flag" },
  "no-tools": { kind: "flag" },
  wait: { kind: "flag" },
};

const SUBCOMMAND_OPTIONS: Readonly<Record<Subcommand, OptionTable>> = {
  list: { ...HELP, ...STORE, json: { kind: "flag" } },
  show: { ...HELP, ...STORE, json: { kind: "flag" }, follow: { kind: "flag", short: "f" } },
  rename: { ...HELP, ...STORE, ...NO_LOCK },
  delete: { ...HELP, ...STORE, ...NO_LOCK, yes: { kind: "flag", short: "y" } },
  doctor: { ...HELP, ...STORE, ...NO_LOCK, json: { kind: "flag" }, repair: { kind: "flag" } },
};

/** Two options that contradict each other. */
const CONFLICTS: ReadonlyArray<readonly [string, string]> = [
  ["continue", "resume"],
  ["yes", "read-only"],
  ["yes", "no-tools"],
  ["allow", "no-tools"],
];

/**
 * Reads a command line (without `node` and the program).
 *
 * @throws PerdureError USAGE
 */
export function parseArguments(argv: readonly string[]): Arguments {
  const subcommand = subcommandOf(argv);
  if (subcommand !== undefined) return parseSubcommand(subcommand.name, subcommand.rest);
  const words = readWords(argv, CHAT_OPTIONS);
  if (words.has("help")) return { command: "help" };
  if (words.has("version")) return { command: "version" };
  return parseChat(words);
}

/** Only an exact first word is a subcommand; `--store DIR`, which all of them take, may stand before it. */
function subcommandOf(argv: readonly string[]): { name: Subcommand; rest: string[] } | undefined {
  let first = 0;
  while (argv[first] === "--store" || argv[first]?.startsWith("--store=") === true) {
    first += argv[first] === "--store" ? 2 : 1;
  }
  const name = SUBCOMMANDS.find((each) => each === argv[first]);
  return name === undefined ? undefined : { name, rest: [...argv.slice(0, first), ...argv.slice(first + 1)] };
}

function parseSubcommand(name: Subcommand, argv: readonly string[]): Arguments {
  const words = readSubcommandWords(name, argv);
  if (words.has("help")) return { command: "help" };
  const store = words.value("store");
  const [id, text, ...more] = words.positionals.map((positional) => positional.text);
  if (name === "list") {
    if (id !== undefined) throw usageError(`list takes no words, but got ${quoted(id)}`, "leave it out", "chat list");
    return { command: "list", json: words.has("json"), store };
  }
  const noLock = words.has("no-lock");
  if (id === undefined && name === "doctor") {
    return { command: "doctor", id, repair: words.has("repair"), json: words.has("json"), store, noLock };
  }
  if (id === undefined) {
    throw usageError(`${name} needs the id of a conversation`, "`chat list` shows the ids", SUBCOMMAND_EXAMPLES[name]);
  }
  if (words.positionals.some((positional) => positional.text.trim() === "")) {
    throw usageError(
      `${name} got an empty word`,
      "give an id and a text that are not blank",
      SUBCOMMAND_EXAMPLES[name],
    );
  }
  if (name === "delete") {
    return {
      command: "delete",
      ids: words.positionals.map(({ text: each }) => each),
      yes: words.has("yes"),
      store,
      noLock,
    };
  }
  if (name === "show" || name === "doctor") {
    if (text !== undefined) {
      throw usageError(
        `${name} takes one id, but got ${quoted(text)} too`,
        name === "show" ? "show one at a time" : "name one, or none for all of them",
        `chat ${name} ${shellWord(id)}`,
      );
    }
    const json = words.has("json");
    if (name === "show") return { command: "show", id, json, follow: words.has("follow"), store };
    return { command: "doctor", id, repair: words.has("repair"), json, store, noLock };
  }
  if (text === undefined || more.length > 0) {
    const meant = text === undefined ? "the parser" : [text, ...more].join(" ");
    throw usageError(
      text === undefined ? "rename needs the new name" : "rename takes an id and one text, but got several words",
      "put the name in quotes after the id",
      `chat rename ${shellWord(id)} ${JSON.stringify(meant)}`,
    );
  }
  return { command: "rename", id, text, store, noLock };
}

const SUBCOMMAND_EXAMPLES: Readonly<Record<Subcommand, string>> = {
  list: "chat list",
  show: "chat show k7f2",
  rename: 'chat rename k7f2 "the parser"',
  delete: "chat delete k7f2",
  doctor: "chat doctor",
};

function readSubcommandWords(name: Subcommand, argv: readonly string[]): Words {
  const table = SUBCOMMAND_OPTIONS[name];
  const unknownHere = Object.keys(CHAT_OPTIONS).filter((option) => !Object.hasOwn(table, option));
  const short = (option: string) => CHAT_OPTIONS[option]?.short;
  const end = argv.indexOf("--");
  const given = (end === -1 ? argv : argv.slice(0, end)).find((word) =>
    unknownHere.some((option) => word === `--${option}` || word === `-${short(option) ?? option}`),
  );
  if (given !== undefined) {
    throw usageError(
      `${given} does not go with the subcommand ${name}`,
      `leave it out; to send the word ${quoted(name)} as a message, put it behind \`--\``,
      `chat ${given === "-p" || given === "--print" ? "-p " : ""}-- ${name}`,
    );
  }
  return readWords(argv, table);
}

function parseChat(words: Words): ChatArguments {
  for (const [one, other] of CONFLICTS) {
    if (words.has(one) && words.has(other)) {
      throw usageError(`--${one} and --${other} contradict each other`, "leave one of them out");
    }
  }
  const forks = words.has("fork");
  const resumes = words.has("resume") || words.has("continue");
  if (words.has("wait") && !resumes && !forks) {
    throw usageError("--wait goes with -c or -r only", "leave it out, or say what to resume", "chat -c --wait");
  }
  if (words.has("name") && resumes && !forks) {
    throw usageError(
      "--name names a new conversation, and -c and -r resume one",
      "rename it instead",
      `chat rename ${shellWord(words.value("resume") ?? "k7f2")} ${JSON.stringify(words.value("name") ?? "")}`,
    );
  }
  const start = resumes ? ({ kind: "resume", ref: words.value("resume") } as const) : ({ kind: "new" } as const);
  return {
    command: "chat",
    ...(forks ? forkOf(words) : { start, message: messageOf(words.positionals) }),
    print: words.has("print"),
    outputFormat: outputFormatOf(words),
    model: words.value("model"),
    baseUrl: words.value("base-url"),
    name: words.value("name"),
    system: words.value("system"),
    store: words.value("store"),
    cwd: words.value("cwd"),
    permissions: permissionsOf(words),
    wait: words.has("wait"),
    noLock: words.has("no-lock"),
  };
}

/** The word behind --fork is the id, unless -c or an id behind -r says which one: then it is the message. */
function forkOf(words: Words): Pick<ChatArguments, "start" | "message"> {
  const [resumed, word] = [words.value("resume"), words.value("fork")];
  const isMessage = word !== undefined && (resumed !== undefined || words.has("continue"));
  const first = isMessage ? [{ text: word, index: -1, afterTerminator: false }] : [];
  return {
    start: { kind: "fork", ref: isMessage ? resumed : (resumed ?? word) },
    message: messageOf([...first, ...words.positionals]),
  };
}

function messageOf(positionals: readonly Positional[]): string | undefined {
  const [first, ...more] = positionals;
  if (first === undefined) return undefined;
  if (more.length > 0) {
    const all = positionals.map(({ text }) => text).join(" ");
    throw usageError(
      `a message is one word or one quoted text, but got ${positionals.length} words: ${quoted(all)}`,
      "put the message in quotes",
      `chat ${JSON.stringify(all.length > 60 ? `${all.slice(0, 60)}…` : all)}`,
    );
  }
  if (first.text.trim() === "") {
    throw usageError(`the message is empty: ${quoted(first.text)}`, "write something, or leave it out", 'chat "hello"');
  }
  return first.text;
}

function outputFormatOf(words: Words): OutputFormat {
  const value = words.value("output-format");
  if (value === undefined) return "text";
  const format = OUTPUT_FORMATS.find((each) => each === value);
  if (format === undefined) {
    throw usageError(
      `there is no output format ${quoted(value)}`,
      `use one of ${OUTPUT_FORMATS.join(", ")}`,
      `chat -p --output-format ${nearest(value, OUTPUT_FORMATS) ?? "json"} "hello"`,
    );
  }
  if (!words.has("print")) {
    throw usageError("--output-format goes with -p only", "add -p", `chat -p --output-format ${format} "hello"`);
  }
  return format;
}

function permissionsOf(words: Words): PermissionArguments {
  const [allow, deny] = [toolNames(words, "allow"), toolNames(words, "deny")];
  const both = allow.find((name) => deny.includes(name));
  if (both !== undefined) {
    throw usageError(`${both} is both in --allow and in --deny`, "name it in one of them");
  }
  return { yes: words.has("yes"), allow, deny, readOnly: words.has("read-only"), noTools: words.has("no-tools") };
}

function toolNames(words: Words, option: "allow" | "deny"): string[] {
  const names = words.list(option);
  if (words.has(option) && names.length === 0) {
    throw usageError(
      `--${option} names no tool`,
      `name some of ${TOOL_NAMES.join(", ")}`,
      `chat --${option} bash,write`,
    );
  }
  for (const name of names) {
    if (TOOL_NAMES.includes(name)) continue;
    const near = nearest(name, TOOL_NAMES);
    throw usageError(
      `--${option}: there is no tool ${quoted(name)}`,
      near === undefined
        ? `the tools are ${TOOL_NAMES.join(", ")}`
        : `did you mean ${near}? The tools are ${TOOL_NAMES.join(", ")}`,
      `chat --${option} ${near ?? "bash,write"}`,
    );
  }
  return names;
}
