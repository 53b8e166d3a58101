import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { call, calls, type ModelServer, stall, startModelServer, text } from "../support/model-server.js";
import { until } from "../support/until.js";
import { createProject, exampleNames, type Finished, finish, type Project } from "./support/program.js";

let server: ModelServer;
let project: Project;

beforeEach(async () => {
  server = await startModelServer();
  project = createProject(server);
});
afterEach(async () => {
  await server.close();
  expect(server.refusals).toEqual([]);
});

async function run(name: string, options?: { args?: readonly string[]; input?: string }): Promise<Finished> {
  const finished = await project.run(name, options);
  expect(finished.stderr).toBe("");
  expect(finished.code).toBe(0);
  return finished;
}

/** Every entry that the project's store has, of the one conversation in it. */
function savedEntries(): Array<Record<string, unknown>> {
  const store = join(project.folder, ".agent-runs");
  const [id, ...more] = readdirSync(store).filter((name) => !name.startsWith("."));
  expect(more).toEqual([]);
  const lines = readFileSync(join(store, id ?? "", "log.jsonl"), "utf8")
    .trimEnd()
    .split("\n");
  return lines.slice(1).map((line) => JSON.parse(line));
}

describe("an example of the documentation does what the page says", () => {
  it("chat.ts talks, and goes on with the last conversation with --resume", async () => {
    const first = await run("chat", { input: "one\ntwo\n" });
    expect(first.stdout).toContain("Answer 1.");
    expect(first.stdout).toContain("Answer 2.");
    await run("chat", { args: ["--resume"], input: "three\n" });
    expect(server.requests.at(-1)?.text).toMatch(/one[\s\S]*Answer 1\.[\s\S]*two[\s\S]*Answer 2\.[\s\S]*three/);
  });

  it("chat.ts, killed in the middle of a turn, answers it with --resume", async () => {
    server.reply(stall());
    const child = project.start("chat");
    const dead = finish(child);
    child.stdin.write("MARK-1\n");
    await server.waitForRequest(1);
    child.kill("SIGKILL");
    await dead;
    const { stdout } = await run("chat", { args: ["--resume"] });
    expect(server.requests[1]?.userTexts).toEqual(["MARK-1"]);
    expect(stdout).toContain("Answer 2.");
  });

  it("name-a-state.ts begins a conversation by its name, and goes on with it when there is one", async () => {
    await run("name-a-state");
    expect(server.requests).toHaveLength(1);
    await run("name-a-state");
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.userTexts).toEqual([
      "Review pull request 42",
      "There are new commits. Review them too.",
    ]);
  });

  it("outliving-calls.ts, killed while a tool waits, has its result in the next start, and the tool ran once", async () => {
    server.reply(calls("", call("print", { text: "Roses" })));
    const child = project.start("outliving-calls");
    const dead = finish(child);
    const jobs = () => readdirSync(project.folder).filter((name) => name.endsWith(".job"));
    await until("the job is handed in", () => jobs().length > 0);
    child.kill("SIGKILL");
    await dead;
    const [job = ""] = jobs();
    writeFileSync(join(project.folder, job.replace(".job", ".done")), "printed on 1 page");
    const { stdout } = await run("outliving-calls");
    expect(server.requests[1]?.results).toMatchObject([{ text: "printed on 1 page", isError: false }]);
    expect(stdout).toBe("Answer 2.\n");
    expect(jobs()).toEqual([job]);
  });

  it("stop-on-sigterm.ts ends with 143 and has saved why the run ended", async () => {
    server.reply(stall());
    const child = project.start("stop-on-sigterm");
    const ended = finish(child);
    await server.waitForRequest(1);
    await untilSaved("request");
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: 143, stdout: "", stderr: "" });
    expect(savedEntries().at(-1)).toMatchObject({ kind: "run_end", reason: "aborted:SIGTERM" });
  });

  it("list-and-delete.ts shows what there is and deletes one", async () => {
    await run("name-a-state");
    const { stdout } = await run("list-and-delete");
    expect(stdout).toMatch(/^review-pr-42 Review pull request 42 \d{4}-\S+Z answered \n$/);
    expect(readdirSync(join(project.folder, ".agent-runs")).filter((name) => !name.startsWith("."))).toEqual([]);
  });

  it("data.ts keeps JSON values and names the path to one that is none, before any request", async () => {
    const { stdout } = await run("data");
    expect(stdout).toMatch(/^data\.last\.when is a Date\n/);
    expect(server.requests).toEqual([]);
    expect(savedEntries().find((entry) => entry.kind === "data")).toMatchObject({ set: { sorted: 12 } });
  });

  it("tools.ts runs one tool and refuses the other", async () => {
    server.reply(
      calls("", call("find_order", { number: "1017" }), call("refund", { number: "1017" })),
      calls("", call("find_order", { number: "9" })),
      text("It is paid; the owner must pay it back."),
    );
    const { stdout } = await run("tools");
    expect(stdout).toBe("It is paid; the owner must pay it back.\n");
    expect(server.requests[2]?.results.map((result) => result.text)).toEqual([
      '{"item":"lamp","paid":true}',
      "(refused: ask the shop's owner)",
      "There is no order 9.",
    ]);
  });

  it("loop.ts stops for the reason it says", async () => {
    const { stdout } = await run("loop");
    expect(stdout).toBe("answered Answer 1.\n");
  });

  it("ask-and-finish.ts asks for a typed value and finishes with an answer that is JSON after loading", async () => {
    server.reply(text("Yes, from 10 to 4."), text('{"done":true}'));
    const { stdout } = await run("ask-and-finish");
    expect(stdout).toBe('true {"answer":"Yes, from 10 to 4.","sure":true}\n');
  });

  it("saving-fails.ts prints the answer when nothing fails", async () => {
    const { stdout } = await run("saving-fails");
    expect(stdout).toBe("Answer 1.\n");
  });

  it("saving-fails.ts tells what failed when the store cannot be written", async () => {
    writeFileSync(join(project.folder, ".agent-runs"), "a file is in the way");
    const { code, stdout, stderr } = await project.run("saving-fails");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^(ENOTDIR|EEXIST)\n/);
    expect(server.requests).toEqual([]);
  });

  it("another-agent.ts does not run when the agent is not the one that saved the State", async () => {
    await run("name-a-state");
    const { code, stderr } = await project.run("another-agent");
    expect(code).toBe(1);
    expect(stderr).toContain("conversation review-pr-42 was saved by another agent: the system prompt is changed");
    expect(server.requests).toHaveLength(1);
  });

  it("own-store.ts and json-store.ts save a conversation as one file", async () => {
    const { stdout } = await run("own-store");
    expect(stdout).toBe("Answer 1.\n");
    const [file] = readdirSync(join(project.folder, ".agent-runs"));
    const saved = JSON.parse(readFileSync(join(project.folder, ".agent-runs", file ?? ""), "utf8"));
    expect(saved.entries.map((entry: { kind: string }) => entry.kind)).toContain("reply");
  });

  it("own-store-test.ts passes: the store of the example keeps the contract", async () => {
    const { stdout } = await run("own-store-test");
    expect(stdout).toMatch(/# fail 0/);
    expect(Number(/# pass (\d+)/.exec(stdout)?.[1])).toBeGreaterThan(10);
  });

  it("and none is forgotten here", () => {
    const titles = [...readFileSync(fileURLToPath(import.meta.url), "utf8").matchAll(/^ {2}it\("(.*)"/gm)].map(
      ([, title]) => title,
    );
    expect(exampleNames().filter((name) => !titles.some((title) => title?.split(/[ ,]/).includes(name)))).toEqual([]);
  });

  it("test-your-agent.ts passes", async () => {
    await run("test-your-agent");
    expect(server.requests).toEqual([]);
  });
});

function untilSaved(kind: string): Promise<unknown> {
  return until(`${kind} is saved`, () => {
    try {
      return savedEntries().some((entry) => entry.kind === kind);
    } catch {
      return false; // not there yet
    }
  });
}
