import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome, testKey } from "../support/chat.js";
import { asked, enter, permit, quit, ready, say, talk } from "../support/conversation.js";
import { call, calls, drip, httpError, type ModelServer, startModelServer, text } from "../support/model-server.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

function everything(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...everything(path)] : [path];
  });
}

describe("files", () => {
  it("are the owner's alone, whatever the umask", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"], { prefix: ["/bin/sh", "-c", 'umask 000; exec "$@"', "sh"] });
    server.reply(calls("", call("bash", { command: "seq 1 40000" })), text("Done."));
    await say(chat, "MARK-1");
    await chat.waitFor("Done.");
    await say(chat, ":rename x");
    await say(chat, ":list");
    await quit(chat);
    const created = everything(home.home);
    expect(created.length).toBeGreaterThan(3);
    const open = created.filter((path) => {
      const stats = lstatSync(path);
      // Folders above ours, as ~/.local/share, are everybody's way to find things, but nobody's to write.
      const ours = home.filesWith("").some((file) => file.startsWith(`${path}/`) || file === path);
      return ours && (stats.mode & 0o077) !== 0 && !/\/home(\/\.(local|config|cache)(\/(share|state))?)?$/.test(path);
    });
    expect(open).toEqual([]);
  });
});

describe("the key", () => {
  it("reaches neither the disk nor a tool nor the model, also when the server repeats it", async () => {
    for (const provider of ["anthropic", "openai"] as const) {
      const home = createHome(server, provider);
      const chat = home.open(["--yes"]);
      server.clear();
      server.reply(httpError(401, { message: `invalid key ${testKey}` }));
      await say(chat, "MARK-1");
      await chat.waitFor(/key/i);
      await ready(chat);
      server.reply(
        calls("", call("bash", { command: "env; cat /proc/self/environ | tr '\\0' '\\n'" })),
        drip(["MARK-P"]),
      );
      await say(chat, ":retry");
      await chat.waitFor("MARK-P");
      expect(server.requests.at(-1)?.results[0]?.text).toContain("HOME=");
      expect(server.requests.at(-1)?.raw).not.toContain("CANARY");
      chat.kill("SIGKILL");
      await chat.exit;
      expect(home.filesWith("CANARY")).toEqual([]);
    }
  });
});

describe("what others print", () => {
  const hostile = "x\\033[2J\\033]0;PWN\\007\\033]52;c;QQ==\\007\\r\\b\\233y";
  const raw = "x\x1b[2J\x1b]0;PWN\x07\x1b]52;c;QQ==\x07\r\b\u009by\x1b[?1049h";

  function expectTame(output: Buffer): void {
    const bytes = output.toString("latin1");
    expect(bytes).not.toContain("\x1b[2J");
    expect(bytes).not.toContain("\x1b]0;");
    expect(bytes).not.toContain("\x1b]52");
    expect(bytes).not.toContain("\x1b[?1049h");
    expect(bytes).not.toContain("\x07");
    // A lone 0x9b byte would not decode; a whole U+009B is as much a CSI.
    expect(new TextDecoder("utf-8", { fatal: true }).decode(output)).not.toContain("\u009b");
  }

  it("a tool's output cannot drive the terminal, live or resumed, and reaches the model unharmed", async () => {
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    server.reply(calls("", call("bash", { command: `printf '${hostile}'` })), text("Done."));
    await say(chat, "go");
    await chat.waitFor("Done.");
    await quit(chat);
    expectTame(chat.raw);
    expect(server.requests[1]?.results[0]?.text).toMatch(/x[\s\S]*PWN[\s\S]*y/);
    const again = home.open(["-r"]);
    await say(again, ":history");
    await again.waitFor("Done.");
    await quit(again);
    expectTame(again.raw);
  });

  it("nor can the model's text, a call's input in the question, or an error", async () => {
    const home = createHome(server);
    const chat = home.open();
    server.reply(
      calls(raw, call("bash", { command: `echo ${raw}` })),
      text(`${raw} MARK-2`),
      httpError(400, { message: raw }),
    );
    await say(chat, "go");
    await asked(chat);
    await permit(chat, "n");
    await ready(chat);
    await say(chat, "more");
    await chat.waitFor("answered 400");
    await ready(chat);
    await quit(chat);
    expectTame(chat.raw);
  });

  it("nor can a title: each row of a list is one line", async () => {
    const home = createHome(server);
    await home.run(["-p", `\t\x1b[31m${raw}\nsecond line MARK-T`]);
    await home.run(["-p", "MARK-OTHER"]);
    const listed = await home.run(["list"]);
    expectTame(Buffer.from(listed.stdout));
    expect(listed.stdout).not.toContain("\x1b[31m");
    expect(listed.stdout.trim().split("\n")).toHaveLength(3);
    const chat = home.open();
    await say(chat, ":list");
    await chat.waitFor("MARK-OTHER");
    await quit(chat);
    expectTame(chat.raw);
  });

  it("nor can what a person pastes", async () => {
    const chat = createHome(server).open();
    await ready(chat);
    chat.type(`\x1b[200~paste ${raw} end\x1b[201~`);
    await chat.waitFor(/pasted|end/);
    chat.key("enter");
    await server.waitForRequest(1);
    await chat.waitFor("Answer 1.");
    await quit(chat);
    expectTame(chat.raw);
  });
});

describe("the list of processes", () => {
  it("does not show the key", async () => {
    const { processesWith } = await import("../support/processes.js");
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-1", "Answer 1.");
    const found = processesWith(home.folder);
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter((each) => each.command.includes("CANARY"))).toEqual([]);
    await enter(chat, ":quit");
    await chat.exit;
  });
});
