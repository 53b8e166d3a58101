import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome, testKey } from "../support/chat.js";
import { enter, quit, ready, resumeId, say, talk } from "../support/conversation.js";
import { gate, httpError, type ModelServer, startModelServer, text } from "../support/model-server.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

describe("a conversation in a terminal", () => {
  it("shows an answer while it streams, and says at the end how to resume", async () => {
    const chat = createHome(server).open();
    const { wait, open } = gate();
    server.reply(text("The first ", "half", wait, " and the rest."));
    await say(chat, "MARK-1 hello");
    await chat.waitFor("The first half");
    expect(chat.screen()).not.toContain("and the rest.");
    open();
    await chat.waitFor("The first half and the rest.");
    await quit(chat);
    expect(resumeId(chat.screen())).not.toBe("");
    expect(server.requests[0]?.headers["x-api-key"]).toBe(testKey);
    expect(server.requests[0]?.userTexts.join()).toContain("MARK-1 hello");
  });

  it("sends all that was said before, in order, through an OpenAI-compatible API", async () => {
    const chat = createHome(server, "openai").open();
    await talk(chat, "MARK-1", "Answer 1.");
    await talk(chat, "MARK-2", "Answer 2.");
    await talk(chat, "MARK-3", "Answer 3.");
    await quit(chat);
    expect(server.requests.map((request) => request.api)).toEqual(["openai-chat", "openai-chat", "openai-chat"]);
    expect(server.requests[2]?.text).toMatch(/MARK-1\n+Answer 1\.\n+MARK-2\n+Answer 2\.\n+MARK-3/);
  });

  it("starts with the message given on the command line", async () => {
    const chat = createHome(server).open(["MARK-1 from the command line"]);
    await chat.waitFor("Answer 1.");
    await quit(chat);
    expect(server.requests[0]?.userTexts).toEqual(["MARK-1 from the command line"]);
  });

  it("answers a message typed while a turn runs, in its place", async () => {
    const chat = createHome(server).open();
    const { wait, open } = gate();
    server.reply(text("begun", wait, " done."));
    await say(chat, "MARK-1");
    await chat.waitFor("begun");
    await enter(chat, "MARK-2 meanwhile");
    await chat.waitFor("queued");
    open();
    const second = await server.waitForRequest(2);
    expect(second.text).toMatch(/MARK-1\n+begun done\.\n+MARK-2 meanwhile/);
    await chat.waitFor(/begun done\.\n+Answer 2\./);
    await quit(chat);
  });
});

describe("the commands", () => {
  it("are listed by :help", async () => {
    const chat = createHome(server).open();
    await say(chat, ":help");
    for (const name of ["list", "delete", "resume", "new", "rename", "model", "tools", "history", "usage", "retry"]) {
      await chat.waitFor(`:${name}`);
    }
    await quit(chat);
    expect(server.requests).toEqual([]);
  });

  it("suggest the nearest for one that is unknown, and send nothing", async () => {
    const chat = createHome(server).open();
    await say(chat, ":lsit");
    await chat.waitFor(/:lsit[\s\S]*:list/);
    await quit(chat);
    expect(server.requests).toEqual([]);
  });

  it("list, rename, show and count the conversation", async () => {
    const chat = createHome(server).open();
    await talk(chat, "MARK-ONE", "Answer 1.");
    await say(chat, ":rename MARK-NAME");
    await say(chat, ":list");
    await chat.waitFor(/MARK-NAME[\s\S]*MARK-NAME/);
    await say(chat, ":history");
    await chat.waitFor(/MARK-ONE[\s\S]*Answer 1\.[\s\S]*MARK-ONE[\s\S]*Answer 1\./);
    await say(chat, ":tools");
    await chat.waitFor("bash");
    await say(chat, ":usage");
    await chat.waitFor(/10\D+5\D/);
    await quit(chat);
  });

  it("begin a new conversation and go back to the first", async () => {
    const chat = createHome(server).open();
    await talk(chat, "MARK-ONE", "Answer 1.");
    await say(chat, ":rename first");
    await say(chat, ":new");
    await talk(chat, "MARK-TWO", "Answer 2.");
    expect(server.requests[1]?.text).not.toContain("MARK-ONE");
    await say(chat, ":resume first");
    await talk(chat, "MARK-THREE", "Answer 3.");
    expect(server.requests[2]?.text).toContain("MARK-ONE");
    expect(server.requests[2]?.text).not.toContain("MARK-TWO");
    await quit(chat);
  });

  it("bring the output of a !command into the conversation", async () => {
    const chat = createHome(server).open();
    await say(chat, "!echo MARK-$((40 + 2))");
    await chat.waitFor("MARK-42");
    await talk(chat, "what was that?", "Answer 1.");
    expect(server.requests[0]?.text).toContain("MARK-42");
    await quit(chat);
  });

  it("ask again with :retry after a request that failed for good", async () => {
    const chat = createHome(server).open();
    server.reply(httpError(400, { message: "MARK-REASON" }));
    await say(chat, "MARK-1");
    await chat.waitFor("MARK-REASON");
    await ready(chat);
    await talk(chat, ":retry", "Answer 2.");
    expect(server.requests[1]?.userTexts.filter((each) => each.includes("MARK-1"))).toHaveLength(1);
    await quit(chat);
  });
});
