import { describe, expect, it } from "vitest";
import { FileStore } from "../../src/store/file-store.js";
import { OtherProcess } from "../store/other-process.js";
import { entry, saved, seqs } from "../store/states.js";
import { tempFolder } from "../support/temp-folder.js";

const PROCESSES = 50;

interface Attempt {
  readonly process: OtherProcess;
  readonly error: { readonly code?: string; readonly message: string } | undefined;
}

/** All at once: who got the lock, and who did not. */
async function race(processes: readonly OtherProcess[]): Promise<{ winners: OtherProcess[]; losers: Attempt[] }> {
  const attempts = await Promise.all(
    processes.map(async (process): Promise<Attempt> => {
      const error = await process.call("lock", "a").then(
        () => undefined,
        (refusal: Error & { code?: string }) => refusal,
      );
      return { process, error };
    }),
  );
  return {
    winners: attempts.filter(({ error }) => error === undefined).map(({ process }) => process),
    losers: attempts.filter(({ error }) => error !== undefined),
  };
}

describe("fifty processes that want one conversation", () => {
  it("one gets it and the others are told which; when it is killed, the next one does", {
    timeout: 120_000,
  }, async () => {
    const store = new FileStore(await tempFolder());
    await saved(store, "a", 1);
    let racing: OtherProcess[] = [];
    for (let started = 0; started < PROCESSES; started += 10) {
      racing.push(...(await Promise.all(Array.from({ length: 10 }, () => OtherProcess.start(store.key)))));
    }
    for (let seq = 1; seq <= 4; seq++) {
      const { winners, losers } = await race(racing);
      expect(winners).toHaveLength(1);
      const winner = winners[0];
      if (winner === undefined) return;
      for (const { error } of losers) {
        expect(error?.code).toBe("STATE_LOCKED");
        expect(error?.message).toContain(`(pid ${winner.pid} `);
      }
      await winner.call("write", "a", [entry(seq, { text: `by ${winner.pid}` })]);
      await winner.end("SIGKILL");
      racing = racing.filter((process) => process !== winner);
    }
    expect(await seqs(store, "a")).toEqual([0, 1, 2, 3, 4]);
  });
});
