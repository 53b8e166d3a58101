import type { Scenario } from "./scenario.js";
import { type Search, waysToFail } from "./search.js";

/**
 * Every crash point of a scenario: without a fault; with each call failing in each way, tried again or gone on from, alone
 * or with the next call failing too; and killed after each call, gone on by another process, and only then the power cut.
 * Throws at the first state that is not as it must be.
 */
export async function searchAll(search: Search, scenario: Scenario): Promise<void> {
  const calls = await search.clean(scenario);
  await search.check();
  // The last ones first: what follows them is soonest gone through, and so is a bug soonest found.
  for (const call of calls.reverse()) {
    for (const fault of waysToFail(call)) {
      const alone = new Map([[call.n, fault]]);
      await search.withFaults(scenario, alone, "again");
      await search.withFaults(scenario, alone, "go on");
      await search.withFaults(scenario, new Map([...alone, [call.n + 1, { code: "EIO" }]]), "again");
    }
    await search.killedAfter(scenario, call.n);
    await search.check();
  }
}
