import { describe, expect, it } from "vitest";
import { type ChatArguments, parseArguments } from "../../src/cli/arguments.js";
import { PerdureError } from "../../src/errors.js";

function chat(...argv: string[]): ChatArguments {
  const args = parseArguments(argv);
  if (args.command !== "chat") throw new Error(`got ${args.command}`);
  return args;
}

function refusal(...argv: string[]): PerdureError {
  try {
    parseArguments(argv);
  } catch (error) {
    if (error instanceof PerdureError && error.code === "USAGE") return error;
    throw error;
  }
  throw new Error(`accepted: ${argv.join(" ")}`);
}

describe("a conversation", () => {
  it("is new without arguments", () => {
    expect(chat()).toEqual({
      command: "chat",
      start: { kind: "new" },
      message: undefined,
      print: false,
      outputFormat: "text",
      model: undefined,
      baseUrl: undefined,
      name: undefined,
      system: undefined,
      store: undefined,
      cwd: undefined,
      permissions: { yes: false, allow: [], deny: [], readOnly: false, noTools: false },
      wait: false,
      noLock: false,
    });
  });

  it("starts with the one text that is given", () => {
    expect(chat("list files").message).toBe("list files");
    expect(chat("hello").message).toBe("hello");
    expect(chat("-").message).toBe("-");
  });

  it("takes several words for a forgotten quote, and shows the quoted command", () => {
    const error = refusal("fix", "the", "bug");
    expect(error.message).toContain("fix the bug");
    expect(error.example).toBe('chat "fix the bug"');
  });

  it("refuses a message without text", () => {
    for (const text of ["", " ", "\n"]) expect(refusal(text).problem).toContain("empty");
    expect(refusal("-p", "").problem).toContain("empty");
  });

  it("takes everything behind -- as it is", () => {
    expect(chat("--", "list").message).toBe("list");
    expect(chat("-p", "--", "-x").message).toBe("-x");
    expect(chat("--", "--resume").start).toEqual({ kind: "new" });
  });

  it("shows how to send a text that starts with a dash", () => {
    expect(refusal("- one, two").message).toContain("--");
    expect(refusal("-p", "- one, two").example).toContain("-- ");
  });
});

describe("resuming", () => {
  it.each([
    [["-r"], undefined],
    [["--resume"], undefined],
    [["-r", "k7f2"], "k7f2"],
    [["--resume", "k7f2"], "k7f2"],
    [["--resume=k7f2"], "k7f2"],
    [["--resume=-odd"], "-odd"],
    [["-r", "../../victim"], "../../victim"],
    [["-r", "--wait"], undefined],
    [["-c"], undefined],
    [["--continue"], undefined],
  ])("%j means %s", (argv, ref) => {
    const args = chat(...argv);
    expect(args.start).toEqual({ kind: "resume", ref });
    expect(args.message).toBeUndefined();
  });

  it("takes the word behind -r for the id, and the next one for the message", () => {
    expect(chat("-r", "text")).toMatchObject({ start: { ref: "text" }, message: undefined });
    expect(chat("-r", "k7f2", "and now")).toMatchObject({ start: { ref: "k7f2" }, message: "and now" });
    expect(chat("-pr", "k7f2", "and now")).toMatchObject({ print: true, start: { ref: "k7f2" }, message: "and now" });
  });

  it("sends a message to the latest one with -c, or with -r and something between", () => {
    expect(chat("-c", "and now")).toMatchObject({ start: { kind: "resume", ref: undefined }, message: "and now" });
    expect(chat("-rp", "and now")).toMatchObject({ start: { kind: "resume", ref: undefined }, message: "and now" });
    expect(chat("-r", "--", "and now")).toMatchObject({ start: { ref: undefined }, message: "and now" });
  });

  it("never takes an empty id for the latest conversation", () => {
    for (const argv of [["--resume", ""], ["--resume="], ["-r", " "]]) {
      expect(refusal(...argv).problem).toContain("--resume is empty");
    }
  });

  it("refuses -c together with -r, --wait without them, and --name with them", () => {
    refusal("-c", "-r");
    refusal("-c", "-r", "k7f2");
    refusal("--wait");
    expect(chat("-c", "--wait").wait).toBe(true);
    expect(refusal("-r", "k7f2", "-n", "new name").example).toBe('chat rename k7f2 "new name"');
  });
});

describe("a copy", () => {
  it.each([
    [["--fork", "k7f2"], "k7f2", undefined],
    [["--fork=k7f2", "and now"], "k7f2", "and now"],
    [["-r", "k7f2", "--fork"], "k7f2", undefined],
    [["--resume", "k7f2", "--fork", "and now"], "k7f2", "and now"],
    [["--fork", "-r", "k7f2", "and now"], "k7f2", "and now"],
    [["-r", "--fork", "k7f2"], "k7f2", undefined],
    [["-c", "--fork"], undefined, undefined],
    [["-c", "--fork", "and now"], undefined, "and now"],
    [["--fork"], undefined, undefined],
    [["--fork", "--", "and now"], undefined, "and now"],
  ])("%j is one of %s, with the message %s", (argv, ref, message) => {
    expect(chat(...argv)).toMatchObject({ start: { kind: "fork", ref }, message });
  });

  it("may be named, and waits if told to", () => {
    expect(chat("--fork", "k7f2", "-n", "try two", "--wait")).toMatchObject({ name: "try two", wait: true });
  });

  it("refuses an empty id, and a message in several words", () => {
    expect(refusal("--fork", "").problem).toContain("--fork is empty");
    expect(refusal("-c", "--fork", "and", "now").example).toBe('chat "and now"');
  });
});

describe("chat doctor", () => {
  it("checks all, or one", () => {
    const all = { command: "doctor", id: undefined, repair: false, json: false, store: undefined, noLock: false };
    expect(parseArguments(["doctor"])).toEqual(all);
    expect(parseArguments(["--store", "d", "doctor", "k7f2", "--repair", "--json", "--no-lock"])).toEqual({
      ...{ command: "doctor", id: "k7f2", repair: true, json: true, store: "d", noLock: true },
    });
    refusal("doctor", "a", "b");
    refusal("doctor", " ");
    refusal("list", "--repair");
  });
});

describe("a subcommand", () => {
  it("is only an exact first word", () => {
    expect(parseArguments(["list"])).toEqual({ command: "list", json: false, store: undefined });
    expect(chat("-p", "list").message).toBe("list");
    expect(chat("-c", "list").message).toBe("list");
    expect(chat("List").message).toBe("List");
    expect(chat("-r", "list").start).toEqual({ kind: "resume", ref: "list" });
  });

  it("may stand behind --store DIR", () => {
    expect(parseArguments(["--store", "d", "list"])).toMatchObject({ command: "list", store: "d" });
    expect(parseArguments(["--store=d", "show", "x"])).toMatchObject({ command: "show", id: "x", store: "d" });
    expect(parseArguments(["list", "--store", "d", "--json"])).toMatchObject({ json: true, store: "d" });
  });

  it("takes what it needs and no more", () => {
    expect(parseArguments(["show", "k7f2", "--json"])).toMatchObject({ id: "k7f2", json: true, follow: false });
    expect(parseArguments(["show", "k7f2", "--follow"])).toMatchObject({ id: "k7f2", follow: true });
    expect(parseArguments(["show", "-f", "k7f2"])).toMatchObject({ id: "k7f2", follow: true });
    expect(parseArguments(["rename", "k7f2", "the parser"])).toMatchObject({ id: "k7f2", text: "the parser" });
    expect(parseArguments(["delete", "a", "b", "--yes"])).toMatchObject({ ids: ["a", "b"], yes: true });
    expect(parseArguments(["delete", "a", "--no-lock"])).toMatchObject({ noLock: true });
    expect(parseArguments(["rename", "a", "b", "--no-lock"])).toMatchObject({ noLock: true });
    expect(chat("--no-lock").noLock).toBe(true);
    expect(parseArguments(["delete", "--", "-x"])).toMatchObject({ ids: ["-x"] });
    refusal("list", "everything");
    refusal("show");
    refusal("show", "a", "b");
    refusal("rename", "k7f2");
    refusal("rename", "k7f2", " ");
    refusal("delete");
    refusal("delete", "a", "");
    expect(refusal("rename", "k7f2", "the", "parser").example).toBe('chat rename k7f2 "the parser"');
  });

  it("says how its word is sent as a message when it is given an option of a conversation", () => {
    expect(refusal("list", "-p").example).toBe("chat -p -- list");
    expect(refusal("show", "k7f2", "--model", "offline").problem).toContain("--model");
  });
});

describe("options", () => {
  it("are read", () => {
    expect(
      chat(
        ...["-p", "hi", "--output-format", "stream-json", "-m", "ollama/qwen3", "--base-url", "http://x/v1", "-n", "N"],
        ...["--system", "@prompt.md", "--store", "s", "--cwd", "c"],
      ),
    ).toMatchObject({
      print: true,
      message: "hi",
      outputFormat: "stream-json",
      model: "ollama/qwen3",
      baseUrl: "http://x/v1",
      name: "N",
      system: "@prompt.md",
      store: "s",
      cwd: "c",
    });
  });

  it("are overridden by a later one, so that an alias can be", () => {
    expect(chat("-m", "offline", "--model=openai/gpt-5.1").model).toBe("openai/gpt-5.1");
  });

  it("that are unknown are refused, with the nearest one", () => {
    expect(refusal("--modell", "x").fix).toContain("--model");
    expect(refusal("--contineu").fix).toContain("--continue");
    expect(refusal("-x").problem).toContain("-x");
    expect(refusal("--__proto__").problem).toContain("__proto__");
    expect(refusal("--constructor=1").problem).toContain("constructor");
    expect(refusal("list", "--jsno").fix).toContain("--json");
  });

  it("need the value they take, and take no other", () => {
    for (const option of ["--model", "-m", "--store", "--cwd", "--name", "--system", "--base-url", "--allow"]) {
      expect(refusal(option).problem).toContain("needs a value");
      expect(refusal(option, "-p").problem).toContain("needs a value");
      expect(refusal(option, "").problem).toContain("empty");
    }
    expect(refusal("--yes=no").problem).toContain("no value");
    expect(refusal("--continue=k7f2").problem).toContain("no value");
  });

  it("name an output format that exists, and only with -p", () => {
    expect(refusal("-p", "hi", "--output-format", "jsn").message).toMatch(/jsn[\s\S]*text, json, stream-json/);
    expect(refusal("--output-format", "json", "hi").example).toContain("-p --output-format json");
  });

  it("every refusal has a fix", () => {
    for (const argv of [["--wait"], ["a", "b"], ["--yes=1"], ["-m"], ["--allow", "nosuch"], ["show"]]) {
      expect(refusal(...argv).fix.length).toBeGreaterThan(5);
    }
  });
});

describe("what may run", () => {
  it("is listed with commas, options repeated, each once", () => {
    expect(chat("--allow", "bash, write", "--allow=bash,edit", "--deny", "read").permissions).toEqual({
      yes: false,
      allow: ["bash", "write", "edit"],
      deny: ["read"],
      readOnly: false,
      noTools: false,
    });
    expect(chat("--yes", "--deny", "bash").permissions).toMatchObject({ yes: true, deny: ["bash"] });
    expect(chat("--read-only", "--allow", "read").permissions).toMatchObject({ readOnly: true, allow: ["read"] });
    expect(chat("--no-tools").permissions.noTools).toBe(true);
  });

  it("refuses a tool that does not exist: it would protect nothing", () => {
    expect(refusal("--deny", "bsh").fix).toContain("bash");
    expect(refusal("--allow", "bash,nosuch").problem).toContain("nosuch");
    expect(refusal("--allow", ",").problem).toContain("no tool");
  });

  it("refuses what contradicts itself", () => {
    refusal("--yes", "--read-only");
    refusal("--yes", "--no-tools");
    refusal("--allow", "bash", "--no-tools");
    refusal("--allow", "bash", "--deny", "read,bash");
  });
});

describe("--help and --version", () => {
  it("win over everything that is understood beside them", () => {
    expect(parseArguments(["--version"])).toEqual({ command: "version" });
    expect(parseArguments(["--help"])).toEqual({ command: "help" });
    expect(parseArguments(["-h"])).toEqual({ command: "help" });
    expect(parseArguments(["-p", "-c", "--help"])).toEqual({ command: "help" });
    expect(parseArguments(["delete", "--help"])).toEqual({ command: "help" });
  });
});
