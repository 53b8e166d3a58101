import { describe, expect, it } from "vitest";
import { errorText } from "../../src/cli/error-text.js";
import { exitCodeOf } from "../../src/cli/exit-code.js";
import { withOffers } from "../../src/cli/locked.js";
import { StateLockedError } from "../../src/store/store-errors.js";

const owner = { pid: 4711, since: "2026-01-02T03:04:05.678Z", host: "ada-pc", cwd: "/home/ada/shop" };

describe("a conversation that is open elsewhere", () => {
  it("is told with process, host, time and folder, and with the two ways to go on", () => {
    const error = withOffers(new StateLockedError("k7f2", owner), undefined);
    const text = errorText(error);
    expect(text).toContain(
      "k7f2 is open in another process (pid 4711 on ada-pc, since 2026-01-02T03:04:05.678Z, in /home/ada/shop)",
    );
    expect(text).toContain("`chat --resume k7f2 --fork`");
    expect(text).toContain("`chat show k7f2 --follow`");
    expect(exitCodeOf(error)).toBe(75);
  });

  it("of another store is offered with that store", () => {
    const text = errorText(withOffers(new StateLockedError("k7f2", undefined), "my chats"));
    expect(text).toContain("`chat --store 'my chats' --resume k7f2 --fork`");
    expect(text).toContain("`chat --store 'my chats' show k7f2 --follow`");
  });

  it("lets nothing in its lock file drive the terminal", () => {
    const error = withOffers(
      new StateLockedError("k7f2", { ...owner, host: "\u001b[2Jx", cwd: "\u009b31m" }),
      undefined,
    );
    expect(errorText(error)).not.toMatch(/[\u001b\u009b]/);
  });

  it("is the only error that is changed", () => {
    const error = new Error("other");
    expect(withOffers(error, undefined)).toBe(error);
  });
});
