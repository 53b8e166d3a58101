import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHome } from "../support/chat.js";
import { converse, enter, quit, say, talk } from "../support/conversation.js";
import { type ModelServer, startModelServer } from "../support/model-server.js";

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

describe("chat list, show, rename and delete", () => {
  it("list the conversations, most recently updated first", async () => {
    const home = createHome(server);
    expect((await home.run(["list"])).code).toBe(0);
    expect(await home.list()).toEqual([]);
    const first = await converse(home, "MARK-ONE");
    const second = await converse(home, "MARK-TWO");
    const { stdout } = await home.run(["list"]);
    expect(stdout).toMatch(new RegExp(`${second}.*MARK-TWO\\n${first}.*MARK-ONE`));
    expect((await home.list()).map((row) => row.id)).toEqual([second, first]);
  });

  it("show one of them, readably", async () => {
    const home = createHome(server, "openai");
    const id = await converse(home, "MARK-ONE");
    const { code, stdout } = await home.run(["show", id]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/MARK-ONE[\s\S]*Answer 1\./);
  });

  it("rename one, and it is found by its name", async () => {
    const home = createHome(server);
    const id = await converse(home, "MARK-ONE");
    expect((await home.run(["rename", id, "A new name"])).code).toBe(0);
    expect((await home.run(["list"])).stdout).toContain("A new name");
    expect((await home.run(["show", "A new name"])).stdout).toContain("MARK-ONE");
  });

  it("delete with --yes only, and exactly what was named", async () => {
    const home = createHome(server);
    const first = await converse(home, "MARK-ONE");
    const second = await converse(home, "MARK-TWO");
    expect((await home.run(["delete", first])).code).toBe(2);
    expect(await home.list()).toHaveLength(2);
    expect((await home.run(["delete", first, "nosuch", "--yes"])).code).toBe(1);
    expect((await home.list()).map((row) => row.id)).toEqual([second]);
    expect(home.filesWith("MARK-ONE")).toEqual([]);
    expect((await home.run(["show", first])).code).toBe(1);
  });

  it("refuse a path as an id", async () => {
    const home = createHome(server);
    await converse(home, "MARK-ONE");
    for (const id of ["../../victim", "/tmp/victim", "..", "a/b", "."]) {
      const commands = [
        ["delete", id, "--yes"],
        ["rename", id, "x"],
        ["show", id],
      ];
      const finished = await Promise.all(commands.map((args) => home.run(args)));
      expect(finished.map(({ code }) => code)).toEqual([1, 1, 1]);
    }
    expect(await home.list()).toHaveLength(1);
  });

  it("ask on a terminal", async () => {
    const home = createHome(server);
    const id = await converse(home, "MARK-ONE");
    const no = home.open(["delete", id]);
    await no.waitFor("MARK-ONE");
    no.type("n");
    no.key("enter");
    await no.exit;
    expect(await home.list()).toHaveLength(1);
    const yes = home.open(["delete", id]);
    await yes.waitFor("MARK-ONE");
    yes.type("y");
    yes.key("enter");
    expect((await yes.exit).status).toBe(0);
    expect(await home.list()).toEqual([]);
  });

  it("do not touch a conversation that is open elsewhere", async () => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-ONE", "Answer 1.");
    const [row] = await home.list();
    const id = String(row?.id);
    for (const args of [
      ["delete", id, "--yes"],
      ["rename", id, "x"],
    ]) {
      const finished = await home.run(args);
      expect(finished.code).toBe(75);
      expect(finished.stderr).toContain(String(chat.pid));
    }
    await talk(chat, "MARK-TWO", "Answer 2.");
    await quit(chat);
  });
});

describe(":delete", () => {
  it("asks first, and deletes after a yes only", async () => {
    const home = createHome(server);
    const id = await converse(home, "MARK-OLD");
    const chat = home.open();
    await say(chat, `:delete ${id}`);
    await chat.waitFor(/es, \[N\]o >$/);
    await enter(chat, "no");
    await chat.waitFor("not deleted");
    expect(home.filesWith("MARK-OLD").length).toBeGreaterThan(0);
    await say(chat, `:delete ${id}`);
    await chat.waitFor(/es, \[N\]o >$/);
    await enter(chat, "yes");
    await chat.waitFor(`deleted ${id}`);
    expect(await home.list()).toEqual([]);
    await quit(chat);
  });

  it("refuses one that is open elsewhere, and says where", async () => {
    const home = createHome(server);
    const other = home.open();
    await talk(other, "MARK-OTHER", "Answer 1.");
    const [row] = await home.list();
    const chat = home.open();
    await say(chat, `:delete ${row?.id}`);
    await chat.waitFor(/es, \[N\]o >$/);
    await enter(chat, "yes");
    await chat.waitFor(new RegExp(`pid ${other.pid}`));
    expect(await home.list()).toHaveLength(1);
    await talk(other, "MARK-MORE", "Answer 2.");
    await quit(other);
    await quit(chat);
  });

  it("of the open one starts a new one", async () => {
    const home = createHome(server);
    const chat = home.open();
    await talk(chat, "MARK-ONE", "Answer 1.");
    const [row] = await home.list();
    await say(chat, `:delete ${row?.id}`);
    await chat.waitFor(/es, \[N\]o >$/);
    await enter(chat, "yes");
    await chat.waitFor(`deleted ${row?.id}`);
    await talk(chat, "MARK-TWO", "Answer 2.");
    expect(server.requests[1]?.text).not.toContain("MARK-ONE");
    await quit(chat);
    expect(await home.list()).toHaveLength(1);
  });
});
