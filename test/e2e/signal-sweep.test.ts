import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome, type Home } from "../support/chat.js";
import { asked, enter, quit, ready, say } from "../support/conversation.js";
import { call, calls, drip, type ModelServer, stall, startModelServer, text } from "../support/model-server.js";
import type { Terminal } from "../support/terminal.js";
import { until } from "../support/until.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

const seed = Number(process.env.SIGNAL_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Numbers from 0 up to below 1, the same for the same seed. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const moments = [
  "idle",
  "half a line is typed",
  "right after Enter",
  "an answer streams",
  "a tool runs",
  "a question stands",
] as const;
type Moment = (typeof moments)[number];

function shuffled(random: () => number): Moment[] {
  return moments
    .map((moment) => ({ moment, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ moment }) => moment);
}

/** Brings the chat to the moment; the round's message is `mark`. */
async function reach(moment: Moment, chat: Terminal, home: Home, mark: string): Promise<void> {
  const started = `started-${mark}`;
  await ready(chat);
  if (moment === "idle") return;
  if (moment === "half a line is typed") {
    chat.type(mark);
    return chat.waitFor((terminal) => terminal.cursorLine().endsWith(mark));
  }
  if (moment === "right after Enter") {
    server.always(stall());
    return enter(chat, mark);
  }
  if (moment === "an answer streams") {
    server.always(drip([`Half of ${mark}`]));
    await enter(chat, mark);
    return chat.waitFor(`Half of ${mark}`);
  }
  server.always(calls("", call("bash", { command: `touch ${started}; until [ -e go ]; do sleep 0.05; done` })));
  await enter(chat, mark);
  await asked(chat);
  if (moment === "a question stands") return;
  await enter(chat, "y");
  await until("the tool runs", () => existsSync(join(home.work, started)));
}

describe.each([
  ["SIGTERM", 143],
  ["SIGHUP", 129],
  ["SIGINT", 130],
] as const)("%s at a random time after each moment of a turn", (signal, status) => {
  it(`exits with ${status}, and each resume has every message that the model got`, async () => {
    const random = randomFrom(seed + status);
    const home = createHome(server);
    const accepted: string[] = [];
    server.always(text("Answer 0."));
    expect((await home.run(["-p", "MARK-BEGIN."])).code).toBe(0);

    for (const [round, moment] of shuffled(random).entries()) {
      const delayMs = Math.floor(random() * 120);
      const where = `SIGNAL_SEED=${seed}, round ${round}: ${moment}, ${delayMs} ms`;
      const mark = `MARK-R${round}.`;
      const chat = home.open(["--resume", "--wait"]);
      const last = accepted.at(-1);
      try {
        if (last !== undefined) await chat.waitFor(last);
        await reach(moment, chat, home, mark);
        // The delay is the fault, not a way to wait.
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        chat.kill(signal);
        expect((await chat.exit).status).toBe(status);
      } catch (error) {
        throw new Error(where, { cause: error });
      }
      // A command outlives a hang-up.
      if (moment === "a tool runs") writeFileSync(join(home.work, "go"), "");
      if (server.requests.some((request) => request.text.includes(mark))) accepted.push(mark);
    }
    // Streaming, the tool and the question are reached through a request; right after Enter it may not have gone out.
    expect(accepted.length).toBeGreaterThanOrEqual(3);

    server.always(text("FINAL REPLY"));
    const chat = home.open(["--resume", "--wait"]);
    await say(chat, "MARK-LAST.");
    await chat.waitFor("FINAL REPLY");
    await quit(chat);
    const sent = server.requests.at(-1)?.userTexts.join("\n") ?? "";
    for (const mark of ["MARK-BEGIN.", ...accepted, "MARK-LAST."]) {
      expect(sent.split(mark).length - 1, `SIGNAL_SEED=${seed}: ${mark}`).toBe(1);
    }
  });
});
