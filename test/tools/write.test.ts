import { chmodSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Workplace } from "./setup.js";

let place: Workplace;
beforeEach(() => {
  place = new Workplace();
});
afterEach(() => place.close());

const text = (path: string) => readFileSync(join(place.cwd, path), "utf8");

describe("write", () => {
  it("creates a file and its folders and says so", async () => {
    expect(await place.run("write", { path: "a/b/c.txt", content: "é\n" })).toEqual({
      text: "created a/b/c.txt (3 bytes)",
    });
    expect(text("a/b/c.txt")).toBe("é\n");
    expect(readdirSync(join(place.cwd, "a/b"))).toEqual(["c.txt"]);
  });

  it("replaces a file, keeps its mode and says how large it was", async () => {
    chmodSync(place.file("run.sh", "old old"), 0o751);
    expect(await place.run("write", { path: "run.sh", content: "new" })).toEqual({
      text: "overwritten run.sh (3 bytes, 7 before)",
    });
    expect(text("run.sh")).toBe("new");
    expect(statSync(join(place.cwd, "run.sh")).mode & 0o777).toBe(0o751);
  });

  it("writes through a link and leaves it a link", async () => {
    place.file("target", "old");
    symlinkSync("target", join(place.cwd, "link"));
    symlinkSync("later", join(place.cwd, "dangling"));
    await place.run("write", { path: "link", content: "new" });
    await place.run("write", { path: "dangling", content: "made" });
    expect(lstatSync(join(place.cwd, "link")).isSymbolicLink()).toBe(true);
    expect(lstatSync(join(place.cwd, "dangling")).isSymbolicLink()).toBe(true);
    expect([text("target"), text("later")]).toEqual(["new", "made"]);
  });

  it("keeps hard links together", async () => {
    linkSync(place.file("one", "old and longer"), join(place.cwd, "two"));
    await place.run("write", { path: "one", content: "new" });
    expect(text("two")).toBe("new");
  });

  it("makes half a surrogate pair U+FFFD", async () => {
    await place.run("write", { path: "a", content: "a\ud99cb" });
    expect(text("a")).toBe("a\uFFFDb");
  });

  it("refuses a folder and a device, and says why when the system does", async () => {
    mkdirSync(join(place.cwd, "folder"));
    place.file("file", "");
    await expect(place.run("write", { path: "folder", content: "" })).rejects.toThrow(/is a folder/);
    await expect(place.run("write", { path: "/dev/null", content: "" })).rejects.toThrow(/no regular file/);
    await expect(place.run("write", { path: "file/below", content: "" })).rejects.toMatchObject({ name: "ToolError" });
  });

  it("leaves everything as it was when the run is stopped before", async () => {
    place.file("a", "old");
    await expect(
      place.run("write", { path: "a", content: "new" }, AbortSignal.abort(new Error("x"))),
    ).rejects.toThrow();
    expect(text("a")).toBe("old");
  });

  it("shows a person what would change", async () => {
    place.file("a", "one\ntwo\nthree\n");
    const access = await place.access("write", { path: "a", content: "one\n2\nthree\n" });
    expect(access).toMatchObject({ action: "write", inside: true });
    expect(access?.subject).toContain(`overwrite ${place.cwd}/a\n`);
    expect(access?.subject).toContain("\n-two\n+2\n");
    expect(text("a")).toBe("one\ntwo\nthree\n");
    const created = await place.access("write", { path: "../outside/b", content: "x\n" });
    expect(created).toMatchObject({ action: "write", inside: false });
    expect(created?.subject).toContain(`create ${place.outside}/b\n`);
    expect(created?.subject).toContain("\n+x");
  });

  it("shows a cut diff of a change that is long", async () => {
    const access = await place.access("write", { path: "a", content: "line\n".repeat(100_000) });
    expect(access?.subject.length).toBeLessThan(10_000);
    expect(access?.subject).toContain("bytes left out");
  });
});
