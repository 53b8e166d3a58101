import { afterAll, describe, expect, it } from "vitest";
import { scenarios } from "./scenario.js";
import { Search } from "./search.js";
import { searchAll } from "./search-all.js";

const all = await scenarios();
/** One for all: states that scenarios have in common are checked once. */
const search = new Search();

describe("whenever the power goes, whatever had reached the disk, whichever call failed before", () => {
  it.each(all)("nothing acknowledged is lost and everything opens: $name", { timeout: 120_000 }, async (scenario) => {
    const before = { ...search.tally };
    await searchAll(search, scenario);
    expect(search.tally.points - before.points).toBeGreaterThan(1000);
  });

  afterAll(() => {
    const { runs, points, states, checked } = search.tally;
    console.log(
      `every crash point: ${runs} runs, ${points} crash points, ${states} states, ${checked} different ones checked`,
    );
  });
});
