import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { livingProcesses } from "../../src/runner/process-tree.js";

it.runIf(process.platform === "linux")("takes a process that got an ended command's pid for another one", async () => {
  const stranger = spawn("sleep", ["7777"], { detached: true, stdio: "ignore" });
  await once(stranger, "spawn");
  const pid = stranger.pid ?? 0;
  try {
    expect(livingProcesses({ pid, mark: "unused", leaderEnded: false })).toEqual([pid]);
    expect(livingProcesses({ pid, mark: "unused", leaderEnded: true })).toEqual([]);
  } finally {
    stranger.kill("SIGKILL");
  }
});
