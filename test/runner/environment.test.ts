import { expect, it } from "vitest";
import { toolEnvironment } from "../../src/runner/environment.js";

const keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"];

it("takes away the providers' keys and copies of them under other names", () => {
  const env = toolEnvironment(
    {
      PATH: "/bin",
      HOME: "/home/me",
      LANG: "C.UTF-8",
      ANTHROPIC_API_KEY: "sk-CANARY123456",
      MY_COPY: "sk-CANARY123456",
      AUTH_HEADER: "Bearer sk-CANARY123456",
    },
    keys,
  );
  expect(env).toMatchObject({ PATH: "/bin", HOME: "/home/me", LANG: "C.UTF-8" });
  expect(JSON.stringify(env)).not.toContain("CANARY");
});

it("keeps everything else when a key is empty or short", () => {
  expect(toolEnvironment({ ANTHROPIC_API_KEY: "", EMPTY: "", A: "1" }, keys)).toMatchObject({ EMPTY: "", A: "1" });
  expect(toolEnvironment({ OPENAI_API_KEY: "x", BOX: "box" }, keys)).toMatchObject({ BOX: "box" });
});

it("says that nobody is there to answer, and which conversation it is", () => {
  expect(toolEnvironment({ TERM: "xterm-256color", PAGER: "less", FORCE_COLOR: "1" }, keys, "abc")).toEqual({
    TERM: "dumb",
    PAGER: "cat",
    GIT_PAGER: "cat",
    GIT_TERMINAL_PROMPT: "0",
    CHAT_CONVERSATION: "abc",
  });
});
