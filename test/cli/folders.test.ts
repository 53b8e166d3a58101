import { mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { folders } from "../../src/cli/folders.js";
import { checkWritable, makeFolder } from "../../src/cli/make-folder.js";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "perdure-folders-")));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe("folders", () => {
  it("are the XDG defaults in the home folder", () => {
    expect(folders({ HOME: home }, "linux")).toEqual({
      data: join(home, ".local/share/perdure"),
      config: join(home, ".config/perdure"),
      state: join(home, ".local/state/perdure"),
      store: join(home, ".local/share/perdure/conversations"),
      inputHistory: join(home, ".local/state/perdure/input-history"),
    });
  });

  it("are in Library on macOS, unless XDG says otherwise", () => {
    expect(folders({ HOME: home }, "darwin").store).toBe(
      join(home, "Library/Application Support/perdure/conversations"),
    );
    expect(folders({ HOME: home, XDG_DATA_HOME: "/d" }, "darwin").store).toBe("/d/perdure/conversations");
  });

  it("follow XDG variables, and ignore relative and empty ones", () => {
    const env = { HOME: home, XDG_DATA_HOME: "/d", XDG_CONFIG_HOME: "relative", XDG_STATE_HOME: "" };
    expect(folders(env, "linux")).toMatchObject({
      store: "/d/perdure/conversations",
      config: join(home, ".config/perdure"),
      state: join(home, ".local/state/perdure"),
    });
  });

  it("are all in CHAT_HOME when it is set, without any home folder", () => {
    expect(folders({ CHAT_HOME: "/one", XDG_DATA_HOME: "/d" }, "linux")).toEqual({
      data: "/one",
      config: "/one",
      state: "/one",
      store: "/one/conversations",
      inputHistory: "/one/input-history",
    });
    expect(folders({ CHAT_HOME: "one" }, "linux").store).toBe(resolve("one/conversations"));
    expect(folders({ HOME: home, CHAT_HOME: "" }, "linux").data).toBe(join(home, ".local/share/perdure"));
  });

  it("take --store for the conversations, also without a home folder", () => {
    expect(folders({ HOME: home }, "linux", "/s").store).toBe("/s");
    expect(folders({}, "linux", "s")).toMatchObject({
      store: resolve("s"),
      config: undefined,
      inputHistory: undefined,
    });
  });

  it.each([
    ["unset", undefined, "HOME is not set"],
    ["empty", "", "HOME is not set"],
    ["relative", "home", "home"],
    ["missing", "/nonexistent", "/nonexistent"],
    ["a device", "/dev/null", "/dev/null"],
    ["below a file", "/dev/null/home", "/dev/null/home"],
  ])("say what is wrong with a home that is %s, and name both ways out", (_, HOME, named) => {
    let message = "";
    try {
      folders({ HOME }, "linux");
    } catch (error) {
      expect(error).toMatchObject({ code: "FOLDER_UNUSABLE" });
      message = String(error);
    }
    expect(message).toContain(named);
    expect(message).toContain("--store DIR");
    expect(message).toContain("CHAT_HOME");
  });

  it("create nothing", () => {
    folders({ HOME: home }, "linux");
    expect(() => statSync(join(home, ".local"))).toThrow("ENOENT");
  });
});

describe("checking that a folder can be written", () => {
  it("creates nothing, and accepts one that can be made", async () => {
    await checkWritable(join(home, "a/b/c"));
    expect(() => statSync(join(home, "a"))).toThrow("ENOENT");
  });

  it("names the path and what is in the way", async () => {
    writeFileSync(join(home, "file"), "");
    const below = join(home, "file/conversations");
    await expect(checkWritable(below)).rejects.toMatchObject({ code: "FOLDER_UNUSABLE" });
    await expect(checkWritable(below)).rejects.toThrow(`${below}: ${join(home, "file")} is not a folder`);
    await expect(checkWritable("/dev/null/x")).rejects.toThrow("--store DIR");
  });

  it.skipIf(process.getuid?.() === 0)("refuses one that may not be written", async () => {
    await mkdir(join(home, "locked"), { mode: 0o555 });
    await expect(checkWritable(join(home, "locked/x"))).rejects.toThrow(join(home, "locked"));
  });
});

describe("making a folder", () => {
  it("makes it and those above owner-only, whatever the umask, and leaves existing ones alone", async () => {
    const mode = (path: string) => statSync(path).mode & 0o777;
    await mkdir(join(home, "open"));
    const openMode = mode(join(home, "open"));
    const before = process.umask(0o277);
    try {
      await makeFolder(join(home, "open/a/b"));
      await makeFolder(join(home, "open/a/b"));
    } finally {
      process.umask(before);
    }
    expect([mode(join(home, "open/a")), mode(join(home, "open/a/b"))]).toEqual([0o700, 0o700]);
    expect(mode(join(home, "open"))).toBe(openMode);
  });

  it.skipIf(process.platform !== "linux")("gives up where nothing can be made", async () => {
    await expect(makeFolder("/proc/perdure/x")).rejects.toMatchObject({ code: "ENOENT" });
  });
});
