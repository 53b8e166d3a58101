import { describe, expect, it } from "vitest";
import type { PermissionRule } from "../../src/agent/entries.js";
import {
  describeRule,
  type PermissionPolicyOptions,
  type PermissionReply,
  permissionPolicy,
  unknownToolNames,
} from "../../src/agent/permission-policy.js";
import type { PermissionRequest } from "../../src/agent/permissions.js";
import type { ToolAccess } from "../../src/agent/tool.js";

const readInside: ToolAccess = { action: "read", inside: true, subject: "read a" };
const readOutside: ToolAccess = { action: "read", inside: false, subject: "read /etc/hosts" };
const writeInside: ToolAccess = { action: "write", inside: true, subject: "write a" };
const writeOutside: ToolAccess = { action: "write", inside: false, subject: "write /etc/hosts" };
const command: ToolAccess = { action: "run", inside: false, subject: "rm -rf /" };

function request(tool: string, access: ToolAccess | undefined, rules: PermissionRule[] = []): PermissionRequest {
  return {
    call: { id: "1", name: tool, input: {} },
    tool: { name: tool, description: "", inputSchema: {}, parse: (input) => input, run: async () => ({ text: "" }) },
    access,
    cwd: "/work",
    rules,
    signal: new AbortController().signal,
  };
}

/** A policy whose person gives these answers in order and is not asked more often. */
async function decide(
  options: Partial<PermissionPolicyOptions>,
  asked: PermissionRequest,
  ...replies: PermissionReply[]
) {
  const policy = permissionPolicy({
    mode: "ask",
    allow: [],
    deny: [],
    ask: async () => {
      const reply = replies.shift();
      if (reply === undefined) throw new Error("asked when it should not");
      return reply;
    },
    ...options,
  });
  const decision = await policy(asked);
  if (replies.length > 0) throw new Error("not asked when it should");
  return decision;
}

const runs = { allow: true };

describe("with a person to ask", () => {
  it("runs reads inside the working folder without asking", async () => {
    expect(await decide({}, request("read", readInside))).toEqual(runs);
  });

  it.each([
    ["reads outside", "read", readOutside],
    ["writes inside", "write", writeInside],
    ["commands", "bash", command],
  ])("asks before %s", async (_name, tool, access) => {
    expect(await decide({}, request(tool, access), { kind: "once" })).toEqual(runs);
    expect(await decide({}, request(tool, access), { kind: "no" })).toEqual({
      allow: false,
      reason: "the person said no",
    });
  });

  it("tells the model the person's reason", async () => {
    const decision = await decide({}, request("bash", command), { kind: "no", reason: "use the test folder" });
    expect(decision).toEqual({ allow: false, reason: "use the test folder" });
  });

  it("remembers always: inside for a write inside, anywhere for a write outside and for commands", async () => {
    const always = { kind: "always" } as const;
    const remembered = async (tool: string, access: ToolAccess) => decide({}, request(tool, access), always);
    expect(await remembered("write", writeInside)).toEqual({
      allow: true,
      remember: { tool: "write", where: "inside", cwd: "/work" },
    });
    expect(await remembered("write", writeOutside)).toMatchObject({ remember: { where: "anywhere" } });
    expect(await remembered("bash", command)).toMatchObject({ remember: { tool: "bash", where: "anywhere" } });
  });

  it("runs what a remembered rule covers and asks for what it does not", async () => {
    const inside = { tool: "write", where: "inside", cwd: "/work" } as const;
    expect(await decide({}, request("write", writeInside, [inside]))).toEqual(runs);
    const once = { kind: "once" } as const;
    await decide({}, request("write", writeOutside, [inside]), once);
    await decide({}, request("edit", writeInside, [inside]), once);
    await decide({}, request("write", writeInside, [{ ...inside, cwd: "/elsewhere" }]), once);
    expect(await decide({}, request("bash", command, [{ tool: "bash", where: "anywhere", cwd: "/work" }]))).toEqual(
      runs,
    );
  });

  it("runs allowed tools and a program's own tools that say nothing about their access", async () => {
    expect(await decide({ allow: ["bash"] }, request("bash", command))).toEqual(runs);
    expect(await decide({}, request("weather", undefined))).toBeUndefined();
  });
});

it("refuses denied tools first, even with --yes, --allow, a rule or a harmless read", async () => {
  const rule = { tool: "read", where: "anywhere", cwd: "/work" } as const;
  const options = { mode: "yes", allow: ["read"], deny: ["read"] } as const;
  expect(await decide(options, request("read", readInside, [rule]))).toMatchObject({
    allow: false,
    reason: expect.stringContaining("--deny read"),
  });
});

it("runs everything else with --yes", async () => {
  expect(await decide({ mode: "yes" }, request("bash", command))).toEqual(runs);
  expect(await decide({ mode: "yes" }, request("write", writeOutside))).toEqual(runs);
});

describe("read-only", () => {
  const mode = "read-only";
  it("runs reads inside, and reads outside when they are allowed", async () => {
    expect(await decide({ mode }, request("read", readInside))).toEqual(runs);
    expect(await decide({ mode }, request("read", readOutside))).toMatchObject({ allow: false });
    expect(await decide({ mode, allow: ["read"] }, request("read", readOutside))).toEqual(runs);
  });

  it("refuses what may change something, also when it is allowed or remembered", async () => {
    const rule = { tool: "bash", where: "anywhere", cwd: "/work" } as const;
    for (const [tool, access] of [
      ["bash", command],
      ["write", writeInside],
      ["weather", undefined],
    ] as const) {
      expect(await decide({ mode, allow: [tool] }, request(tool, access, [rule]))).toMatchObject({
        allow: false,
        reason: expect.stringContaining("--read-only"),
      });
    }
  });
});

describe("without a person to ask", () => {
  it("refuses what would ask and names the flag that lets it run", async () => {
    expect(await decide({ mode: "refuse" }, request("bash", command))).toMatchObject({
      allow: false,
      reason: expect.stringMatching(/nobody could be asked.*--allow bash.*--yes/),
    });
  });

  it("runs reads inside, allowed tools and remembered rules", async () => {
    const mode = "refuse";
    const rule = { tool: "bash", where: "anywhere", cwd: "/work" } as const;
    expect(await decide({ mode }, request("read", readInside))).toEqual(runs);
    expect(await decide({ mode, allow: ["bash"] }, request("bash", command))).toEqual(runs);
    expect(await decide({ mode }, request("bash", command, [rule]))).toEqual(runs);
  });
});

it("runs nothing with --no-tools", async () => {
  expect(await decide({ mode: "no-tools", allow: ["read"] }, request("read", readInside))).toMatchObject({
    allow: false,
  });
});

it("passes on that the run was stopped while the person was asked", async () => {
  const stopped = new Error("stopped");
  const ask = () => Promise.reject(stopped);
  await expect(decide({ ask }, request("bash", command))).rejects.toBe(stopped);
});

it("finds names that no tool has", () => {
  expect(unknownToolNames(["bash", "raed", "raed"], [{ name: "bash" }, { name: "read" }])).toEqual(["raed"]);
});

it("describes a rule in words", () => {
  expect(describeRule({ tool: "write", where: "inside", cwd: "/work" })).toBe(
    "allow write inside this folder without asking, in this conversation",
  );
});
