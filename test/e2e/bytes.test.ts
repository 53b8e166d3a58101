import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { createHome, type Home } from "../support/chat.js";
import { quit, ready, say, talk } from "../support/conversation.js";
import {
  call,
  calls,
  type ModelServer,
  type ModelServerOptions,
  stall,
  startModelServer,
  text,
} from "../support/model-server.js";
import { until } from "../support/until.js";

let server: ModelServer;
async function start(options: ModelServerOptions = {}): Promise<ModelServer> {
  server = await startModelServer(options);
  return server;
}
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

/** One turn in which the model runs a command, in a home of its own or one that is there. */
async function runCommand(home: Home, command: string, ...args: string[]): Promise<string> {
  server.reply(calls("", call("bash", { command })), text("Done."));
  const finished = await home.run(["-p", "go", "--yes", ...args]);
  expect(finished).toMatchObject({ code: 0, stdout: "Done.\n" });
  return server.requests.at(-1)?.results.at(-1)?.text ?? "";
}

async function resumes(home: Home): Promise<string> {
  const finished = await home.run(["-c", "-p", "MARK-NEXT"]);
  expect(finished.code).toBe(0);
  return server.requests.at(-1)?.text ?? "";
}

describe.each(["anthropic", "openai"] as const)("half a character, with %s,", (provider) => {
  it("in a call's input is replaced", async () => {
    await start();
    const home = createHome(server, provider);
    const made = call("bash", {}, { rawInput: '{"command":"echo MARK-\\ud99c-END"}' });
    server.reply(calls("", made), text("Done."));
    expect((await home.run(["-p", "go", "--yes"])).code).toBe(0);
    expect(server.requests[1]?.results[0]?.text).toContain("MARK-\ufffd-END");
    expect(await resumes(home)).toContain("\ufffd");
  });

  it("in a tool's output is replaced, and none is made by cutting", async () => {
    await start();
    const home = createHome(server, provider);
    const bytes = call("bash", { command: "printf 'MARK-\\355\\240\\200-END'" });
    // Whatever the limit is, one of these has it in the middle of a character.
    const long = ["", "a", "aa", "aaa"].map((pad) =>
      call("bash", { command: `printf '${pad}'; yes '👍' | head -n 40000 | tr -d '\\n'` }),
    );
    server.reply(calls("", bytes, ...long), text("Done."));
    expect((await home.run(["-p", "go", "--yes"])).code).toBe(0);
    const [first, ...rest] = server.requests[1]?.results ?? [];
    expect(first?.text).toMatch(/MARK-\ufffd+-END/);
    expect(rest).toHaveLength(4);
    for (const result of rest) {
      expect(result.text).not.toContain("\ufffd");
      expect(result.text.length).toBeLessThan(70_000);
    }
    await resumes(home);
  });

  it("in the model's text and in what is saved is replaced", async () => {
    await start();
    const home = createHome(server, provider);
    server.reply(text("MARK-A \ud83d", "\ude00 \ud800 MARK-B"));
    expect((await home.run(["-p", "MARK-USER"])).code).toBe(0);
    for (const file of home.filesWith("MARK-USER")) {
      writeFileSync(file, readFileSync(file, "utf8").replaceAll("MARK-USER", "MARK-USER\\ud800"));
    }
    const edited = home.filesWith("MARK-USER\\ud800");
    expect(edited).not.toEqual([]);
    const finished = await home.run(["-c", "-p", "MARK-NEXT"]);
    expect(finished.code).toBe(0);
    expect(finished.stderr).not.toMatch(/\n\s+at /);
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.userTexts.join("\n")).toContain("MARK-NEXT");
  });
});

describe("NUL characters", () => {
  it("in messages, answers and outputs break nothing, also after kill -9", async () => {
    await start();
    const home = createHome(server);
    const chat = home.open(["--yes"]);
    for (let n = 0; n < 5; n += 1) {
      server.reply(calls("", call("bash", { command: "printf 'a\\0b'" })), text(`text \0 MARK-${n}.`));
      await talk(chat, `MARK-Q${n}`, `MARK-${n}.`);
    }
    chat.kill("SIGKILL");
    await chat.exit;
    const sent = await resumes(home);
    for (let n = 0; n < 5; n += 1) expect(sent).toMatch(new RegExp(`MARK-Q${n}\\n[\\s\\S]*MARK-${n}\\.`));
    expect(server.requests.at(-1)?.results).toHaveLength(5);
  });
});

describe("bytes typed at the prompt", () => {
  it("that are no UTF-8 do no harm", async () => {
    await start();
    const home = createHome(server);
    const chat = home.open();
    for (const [at, bytes] of [[0xed, 0xa0, 0x80], [0xff, 0xfe], [0xc3], [0x00]].entries()) {
      await ready(chat);
      chat.type(new Uint8Array(bytes));
      chat.type(`MARK-B${at}\r`);
      await server.waitForRequest(at + 1);
      await chat.waitFor(`Answer ${at + 1}.`);
    }
    await quit(chat);
    const strict = new TextDecoder("utf-8", { fatal: true });
    for (const file of home.files()) expect(() => strict.decode(readFileSync(file)), file).not.toThrow();
    const sent = await resumes(home);
    for (const at of [0, 1, 2, 3]) expect(sent).toContain(`MARK-B${at}`);
  });

  it("in a paste of 1 MB arrive unchanged", async () => {
    await start();
    const home = createHome(server);
    const chat = home.open();
    await ready(chat);
    const pasted = "ascii 漢字 👨‍👩‍👧 e\u0301 line\n".repeat(25_000).trimEnd();
    const bytes = new TextEncoder().encode(`\x1b[200~${pasted}\x1b[201~`);
    // In pieces that cut characters, each after the last one has been taken.
    for (let at = 0; at < bytes.length; at += 4096) chat.type(bytes.subarray(at, at + 4096));
    chat.key("enter");
    const request = await server.waitForRequest(1, 40_000);
    expect(request.userTexts[0] === pasted).toBe(true);
    await chat.waitFor("Answer 1.");
    await quit(chat);
  });
});

describe("a great deal of output", () => {
  const highestMemory = (pid: number): number =>
    Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;

  it("is cut to head and tail with a note, in bounded memory", async () => {
    await start();
    const home = createHome(server);
    const made = [
      call("bash", { command: "echo MARK-HEAD; head -c 400M /dev/zero; echo MARK-TAIL" }),
      call("bash", { command: "head -c 300M /dev/zero >&2" }),
      call("bash", { command: "yes", timeoutMs: 500 }),
    ];
    server.reply(calls("", ...made), text("Done."));
    const running = home.start(["-p", "go", "--yes"]);
    running.stdin.end();
    let memory = 0;
    const request = await until(
      "the second request",
      () => {
        memory = Math.max(memory, highestMemory(running.pid));
        return server.requests[1];
      },
      45_000,
    );
    expect((await running.done).code).toBe(0);
    expect(memory).toBeLessThan(400 * 1024 * 1024);
    expect(request.results).toHaveLength(3);
    for (const { text: result } of request.results) expect(result.length).toBeLessThan(80_000);
    expect(request.results[0]?.text).toMatch(/MARK-HEAD[\s\S]*(left out|omitted)[\s\S]*MARK-TAIL/);
    expect(request.results[2]?.text).toMatch(/timed out/);
    await resumes(home);
  });

  it("does not make the conversation too large for the model", async () => {
    await start({ bodyBytesMax: 5_000_000 });
    const home = createHome(server, "openai");
    await runCommand(home, "head -c 12000000 /dev/zero | tr '\\0' A");
    expect(await resumes(home)).toContain("AAAA");
    expect((await home.run(["-c", "-p", "hi"])).code).toBe(0);
  });
});

describe("a conversation that has become too large for the model", () => {
  it("goes on being answered, now and after a resume", async () => {
    await start({ bodyBytesMax: 150_000 });
    const home = createHome(server);
    for (const letter of ["A", "B", "C"]) {
      server.reply(calls("", call("bash", { command: `head -c 60000 /dev/zero | tr '\\0' ${letter}` })), text("Done."));
      const more = letter === "A" ? [] : ["-c"];
      expect((await home.run(["-p", `MARK-${letter}`, "--yes", ...more])).code).toBe(0);
    }
    for (const mark of ["MARK-1", "MARK-2"]) {
      server.clear();
      const finished = await home.run(["-c", "-p", mark]);
      expect(finished).toMatchObject({ code: 0 });
      expect(server.requests.at(-1)?.text).toContain(mark);
    }
  });
});

describe("twenty finished results", () => {
  it.each(["a clean quit", "SIGTERM after the answer", "SIGTERM with the last result on disk, before the answer"])(
    "are all there after %s and a resume, none replaced",
    async (end) => {
      await start();
      const home = createHome(server);
      const chat = home.open(["--yes"]);
      const made = Array.from({ length: 20 }, (_, n) => call("bash", { command: `echo MARK-$((${n} + 100)).` }));
      const marks = made.map((_, n) => `MARK-${n + 100}.`);
      const isAnswered = !end.endsWith("before the answer");
      server.reply(calls("", ...made), isAnswered ? text("All done.") : stall());
      await say(chat, "go");
      if (isAnswered) await chat.waitFor("All done.");
      else {
        await until("all results are on disk", () => {
          const saved = home.textsWith(`"result"`);
          return saved.some((log) => marks.every((mark) => log.includes(mark)));
        });
      }
      if (end === "a clean quit") await quit(chat);
      else {
        chat.kill("SIGTERM");
        expect((await chat.exit).status).toBe(143);
      }
      // The request that stalls may not have been sent yet.
      server.clear();
      await resumes(home);
      const results = server.requests.at(-1)?.results ?? [];
      expect(results.map((result) => result.text.trim())).toEqual(marks);
    },
  );
});
