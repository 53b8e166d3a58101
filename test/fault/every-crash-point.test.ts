import { describe, expect, it } from "vitest";
import { scenarios } from "./scenario.js";
import { Search, waysToFail } from "./search.js";

const all = await scenarios();

describe.each(all)("$name", (scenario) => {
  it("loses nothing that was acknowledged, whenever the power goes and whatever had reached the disk", async () => {
    const search = new Search();
    const calls = await search.clean(scenario);
    await search.check();
    console.log(scenario.name, calls.length, search.tally);
    expect(search.tally.checked).toBeGreaterThan(50);
  });

  it("nor when any call of the disk fails before, alone or with the one after it", async () => {
    const search = new Search();
    const calls = await search.clean(scenario);
    for (const call of calls) {
      for (const fault of waysToFail(call)) {
        await search.withFaults(scenario, new Map([[call.n, fault]]));
        await search.withFaults(
          scenario,
          new Map([
            [call.n, fault],
            [call.n + 1, { code: "EIO" }],
          ]),
        );
      }
    }
    const t = Date.now();
    await search.check();
    console.log(scenario.name, calls.length, search.tally, Date.now() - t);
  });
});
