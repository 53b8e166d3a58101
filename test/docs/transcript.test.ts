import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createHome } from "../support/chat.js";
import { permit, quit, ready, say, talk } from "../support/conversation.js";
import { blocksOf, page } from "./support/markdown.js";

const [transcript] = blocksOf(page("README.md")).filter((block) => block.language === "console");

/** The lines that a reader sees of one start of the program. `…` stands for what is left out. */
function shownBy(start: string): string[] {
  const lines = transcript?.code.split("\n") ?? [];
  const from = lines.indexOf(`$ ${start}`);
  expect(from, `$ ${start}`).toBeGreaterThan(-1);
  const rest = lines.slice(from + 1);
  const end = rest.findIndex((line) => line.startsWith("$ ") || line === "Killed");
  return (end === -1 ? rest : rest.slice(0, end)).filter((line) => line.trim() !== "" && line.trim() !== "…");
}

function expectShown(wanted: readonly string[], screen: string, work: string, id: string): void {
  const lines = screen
    .split("\n")
    .map((line) => line.replaceAll(work, "/home/ada/shop").replaceAll(id, "k7f2w9xm").trimEnd());
  let at = 0;
  for (const want of wanted) {
    const found = lines.findIndex((line, index) => {
      if (index < at) return false;
      return want.endsWith("…") ? line.startsWith(want.slice(0, -1)) : line === want;
    });
    if (found === -1) throw new Error(`the README shows\n${want}\nand the program\n${lines.slice(at).join("\n")}`);
    at = found + 1;
  }
  expect(wanted.length).toBeGreaterThan(4);
}

describe("the transcript of the README", () => {
  it("is what the program shows, with a kill -9 in the middle", async () => {
    const home = createHome(undefined);
    const orders = join(home.work, "orders.txt");
    const chat = home.open([], { columns: 200, rows: 60 });
    await say(chat, "run echo sending; sleep 5; echo ordered | tee -a orders.txt");
    await permit(chat, "y");
    await chat.waitFor(/● bash.*\n {2}sending/);
    chat.kill("SIGKILL");
    await chat.exit;

    const again = home.open(["--resume"], { columns: 200, rows: 60 });
    await again.waitFor("bash finished: sending");
    await ready(again);
    await talk(again, "read orders.txt", "read finished: ordered");
    await quit(again);
    expect(readFileSync(orders, "utf8")).toBe("ordered\n");

    const [row] = await home.list();
    expectShown(shownBy("chat"), chat.screen(), home.work, String(row?.id));
    expectShown(shownBy("chat --resume"), again.screen(), home.work, String(row?.id));
  });
});
