import { chmodSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Workplace } from "./setup.js";

let place: Workplace;
beforeEach(() => {
  place = new Workplace();
});
afterEach(() => place.close());

const bytes = (path: string) => readFileSync(join(place.cwd, path));
const text = (path: string) => bytes(path).toString();
const edit = (oldText: string, newText: string, more = {}) =>
  place.run("edit", { path: "a", oldText, newText, ...more });
const refusal = (oldText: string, newText = "new", more = {}) =>
  edit(oldText, newText, more).then(
    () => "not refused",
    (error: Error) => `${error.name}: ${error.message}`,
  );

describe("edit", () => {
  it("replaces exactly that text and shows the diff", async () => {
    chmodSync(place.file("a", "one\ntwo\nthree\n"), 0o640);
    const result = await edit("two", "2");
    expect(text("a")).toBe("one\n2\nthree\n");
    expect(result.text).toBe("edited a (1 place)\n--- a\n+++ a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three");
    expect(statSync(join(place.cwd, "a")).mode & 0o777).toBe(0o640);
  });

  it("takes signs that mean something elsewhere as they are", async () => {
    place.file("a", "a.*b $& $1");
    await edit(".*b $&", "$& $$ $'");
    expect(text("a")).toBe("a$& $$ $' $1");
  });

  it("refuses a text that is there several times and names the lines", async () => {
    place.file("a", "x\ny\nx\nz x\n");
    expect(await refusal("x")).toMatch(/ToolError: oldText is in the file 3 times \(lines 1, 3, 4\)/);
    expect(text("a")).toBe("x\ny\nx\nz x\n");
    expect((await edit("x", "w", { replaceAll: true })).text).toMatch(/^edited a \(3 places\)/);
    expect(text("a")).toBe("w\ny\nw\nz w\n");
  });

  it("refuses a text that is not there and says what is likely wrong", async () => {
    place.file("a", "function one() {\n\treturn 1;\n}\n\nClass Two\nlast\n");
    expect(await refusal("function one() {\n    return 1;\n}")).toMatch(/line 1 has it with other white space/);
    expect(await refusal("class two")).toMatch(/line 5 has it in other upper and lower case/);
    expect(await refusal("Class Two\nmiddle")).toMatch(/its first line is line 5, but what follows differs/);
    expect(await refusal("nothing like it")).toMatch(/read the file again/);
  });

  it("refuses an empty text and a change that changes nothing", async () => {
    place.file("a", "x");
    expect(await refusal("")).toMatch(/ToolError: oldText is empty/);
    expect(await refusal("x", "x")).toMatch(/ToolError: .*the same/);
  });

  it("keeps Windows line ends and the byte order mark", async () => {
    place.file("a", "\uFEFFone\r\ntwo\r\nthree\r\n");
    await edit("one\ntwo", "1\n2\n2.5");
    expect(text("a")).toBe("\uFEFF1\r\n2\r\n2.5\r\nthree\r\n");
    await edit("three", "3\n4");
    expect(text("a")).toBe("\uFEFF1\r\n2\r\n2.5\r\n3\r\n4\r\n");
  });

  it("does not touch a byte that it does not replace, valid UTF-8 or not", async () => {
    place.file(
      "a",
      Buffer.concat([Buffer.from([0xff, 0xed, 0xa0, 0x80]), Buffer.from(" é old ü "), Buffer.from([0xc3])]),
    );
    await edit("é old", "ö new");
    expect(bytes("a")).toEqual(
      Buffer.concat([Buffer.from([0xff, 0xed, 0xa0, 0x80]), Buffer.from(" ö new ü "), Buffer.from([0xc3])]),
    );
  });

  it("refuses binary files, folders and what is not there", async () => {
    place.file("a", Buffer.from([0, 1]));
    expect(await refusal("x")).toMatch(/ToolError: .* is binary/);
    await expect(place.run("edit", { path: ".", oldText: "a", newText: "b" })).rejects.toThrow(/is a folder/);
    await expect(place.run("edit", { path: "none", oldText: "a", newText: "b" })).rejects.toThrow(/does not exist/);
  });

  it("shows a person the diff and changes nothing by that", async () => {
    place.file("a", "one\n");
    const access = await place.access("edit", { path: "a", oldText: "one", newText: "two" });
    expect(access).toMatchObject({ action: "write", inside: true });
    expect(access?.subject).toContain(`edit ${place.cwd}/a\n`);
    expect(access?.subject).toContain("-one\n+two");
    expect(text("a")).toBe("one\n");
  });

  it("does not ask a person about an edit that cannot be made", async () => {
    place.file("a", "one\n");
    await expect(place.access("edit", { path: "a", oldText: "none", newText: "x" })).rejects.toMatchObject({
      name: "ToolError",
    });
  });
});
