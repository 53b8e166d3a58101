import assert from "node:assert/strict";
import { codeOf } from "../errors.js";
import type { Entry, Snapshot, Store } from "../store/store.js";

export interface StoreUnderTest {
  readonly store: Store;
  /** The same saved conversations, as another process would find them. */
  reopen(): Promise<Store>;
  cleanup(): Promise<void>;
}

export interface StoreCase {
  /** A sentence about what a store must do. */
  readonly name: string;
  /** Rejects when the store does not. */
  run(): Promise<void>;
}

/**
 * The Store contract as cases for any test runner: each makes a store of its own, uses it and cleans up.
 *
 *     for (const { name, run } of storeConformance(makeStore)) it(name, run);
 *
 * Cases about `list`, `delete` and `writeDraft` pass when the store has none.
 */
export function storeConformance(makeStore: () => Promise<StoreUnderTest>): StoreCase[] {
  return Object.entries(cases).map(([name, check]) => ({
    name,
    async run() {
      const underTest = await makeStore();
      try {
        await check(underTest);
      } finally {
        await underTest.cleanup();
      }
    },
  }));
}

const cases: Record<string, (underTest: StoreUnderTest) => Promise<void>> = {
  async "knows nothing of a conversation that was never written"({ store }) {
    assert.equal(await store.read("nobody"), undefined);
  },

  async "gives back entries in order and the last snapshot, also after reopening"(underTest) {
    const { store } = underTest;
    await store.write("a", [entry(0), entry(1)], snapshot({ task: "first" }), { create: true });
    await store.write("a", [entry(2)], undefined);
    await store.write("a", [entry(3), entry(4)], snapshot({ task: "second" }));
    for (const each of [store, await underTest.reopen()]) {
      const record = await each.read("a");
      assert.deepEqual(
        record?.entries,
        [0, 1, 2, 3, 4].map((seq) => entry(seq)),
      );
      assert.deepEqual(record?.snapshot, snapshot({ task: "second" }));
      assert.equal(record?.damage, undefined);
    }
  },

  async "keeps the snapshot when none is given, and the entries when only a snapshot is"({ store }) {
    await store.write("a", [entry(0)], snapshot({ task: "first" }), { create: true });
    await store.write("a", [entry(1)], undefined);
    assert.deepEqual((await store.read("a"))?.snapshot, snapshot({ task: "first" }));
    await store.write("a", [], snapshot({ task: "second" }));
    const record = await store.read("a");
    assert.deepEqual(record?.snapshot, snapshot({ task: "second" }));
    assert.equal(record?.entries.length, 2);
  },

  async "skips entries that it has, so that a write can be sent again"(underTest) {
    const { store } = underTest;
    await store.write("a", [entry(0), entry(1)], snapshot(), { create: true });
    await store.write("a", [entry(0), entry(1)], undefined);
    await store.write("a", [entry(1), entry(2)], undefined);
    await store.write("a", [entry(1, { text: "another" }), entry(2), entry(3)], snapshot());
    const record = await (await underTest.reopen()).read("a");
    assert.deepEqual(
      record?.entries,
      [0, 1, 2, 3].map((seq) => entry(seq)),
    );
  },

  async "refuses to create an id that it has, and writes nothing of it"(underTest) {
    const { store } = underTest;
    await store.write("a", [entry(0)], snapshot({ task: "first" }), { create: true });
    const again = store.write("a", [entry(0), entry(1)], snapshot({ task: "second" }), { create: true });
    await assert.rejects(again, (error) => codeOf(error) === "STATE_EXISTS");
    const record = await (await underTest.reopen()).read("a");
    assert.deepEqual(record?.entries, [entry(0)]);
    assert.deepEqual(record?.snapshot, snapshot({ task: "first" }));
  },

  async "creates one conversation when two are created with one id at once"({ store }) {
    const tries = ["first", "second"].map((task) => store.write("a", [], snapshot({ task }), { create: true }));
    const results = await Promise.allSettled(tries);
    const refused = results.filter((result) => result.status === "rejected");
    assert.equal(refused.length, 1);
    assert.equal(codeOf(refused[0]?.reason), "STATE_EXISTS");
    const winner = results[0]?.status === "fulfilled" ? "first" : "second";
    assert.equal((await store.read("a"))?.snapshot?.task, winner);
  },

  async "writes that come at once are kept in order"(underTest) {
    const { store } = underTest;
    await store.write("a", [], snapshot(), { create: true });
    await Promise.all(Array.from({ length: 20 }, (_, seq) => store.write("a", [entry(seq)], undefined)));
    const record = await (await underTest.reopen()).read("a");
    assert.deepEqual(
      record?.entries.map(({ seq }) => seq),
      Array.from({ length: 20 }, (_, seq) => seq),
    );
  },

  async "keeps fields and kinds that nobody knows yet"(underTest) {
    const odd = entry(0, { kind: "from-the-future", nested: { a: [1, null, { b: true }] }, stamp: 7, format: "x" });
    const oddSnapshot = snapshot({ later: { deep: ["x"] }, stamp: 7 });
    await underTest.store.write("a", [odd, entry(1, { "~stamp": "own", stamp: "own" })], oddSnapshot, { create: true });
    const record = await (await underTest.reopen()).read("a");
    assert.deepEqual(record?.entries, [odd, entry(1, { "~stamp": "own", stamp: "own" })]);
    assert.deepEqual(record?.snapshot, oddSnapshot);
  },

  async "keeps every string: line separators, newlines, NUL, lone surrogates, emoji"(underTest) {
    const texts = [
      "a\u2028b\u2029c",
      "line\r\nline\n",
      "nul\u0000nul",
      "lone \ud800 and \udc00",
      "👩‍👩‍👧 é 漢",
      "\u007f\u0085\ufeff",
      "",
    ];
    const entries = texts.map((text, seq) => entry(seq, { text }));
    await underTest.store.write("a", entries, snapshot({ task: texts.join("|") }), { create: true });
    const record = await (await underTest.reopen()).read("a");
    assert.deepEqual(
      record?.entries.map(({ text }) => text),
      texts,
    );
    assert.equal(record?.snapshot?.task, texts.join("|"));
  },

  async "keeps big entries whole"(underTest) {
    const big = entry(1, { text: "0123456789€".repeat(400_000) });
    await underTest.store.write("a", [entry(0)], snapshot(), { create: true });
    await underTest.store.write("a", [big], undefined);
    await underTest.store.write("a", [entry(2)], undefined);
    const record = await (await underTest.reopen()).read("a");
    assert.deepEqual(record?.entries, [entry(0), big, entry(2)]);
  },

  async "keeps conversations apart"(underTest) {
    const { store } = underTest;
    await store.write("a", [entry(0, { text: "a" })], snapshot({ task: "a" }), { create: true });
    await store.write("A-b_1", [entry(0, { text: "b" })], snapshot({ task: "b" }), { create: true });
    await Promise.all([store.write("a", [entry(1)], undefined), store.write("A-b_1", [], snapshot({ task: "c" }))]);
    const reopened = await underTest.reopen();
    assert.deepEqual((await reopened.read("a"))?.entries, [entry(0, { text: "a" }), entry(1)]);
    assert.deepEqual((await reopened.read("A-b_1"))?.entries, [entry(0, { text: "b" })]);
    assert.equal((await reopened.read("A-b_1"))?.snapshot?.task, "c");
  },

  async "gives copies: changing what was read or written changes nothing saved"({ store }) {
    const written = { ...entry(0), list: ["one"] };
    await store.write("a", [written], snapshot(), { create: true });
    written.list.push("two");
    const first = await store.read("a");
    Object.assign(first?.entries[0] ?? {}, { text: "changed" });
    assert.deepEqual((await store.read("a"))?.entries, [entry(0, { list: ["one"] })]);
  },

  async "lists conversations, the one written to last first, and says what they are"(underTest) {
    const { store } = underTest;
    if (store.list === undefined) return;
    assert.deepEqual(await store.list(), []);
    await store.write("a", [entry(0)], snapshot({ task: "task a", name: "name a" }), { create: true });
    await store.write("b", [entry(0)], snapshot({ task: "task b", stoppedBy: "answered" }), { create: true });
    await store.write("c", [entry(0)], snapshot({ task: "task c" }), { create: true });
    await store.write("a", [entry(1)], undefined);
    await store.write("b", [], snapshot({ task: "task b", stoppedBy: "answered" }));
    await store.read("c");
    const rows = (await (await underTest.reopen()).list?.()) ?? [];
    assert.deepEqual(
      rows.map(({ id, task, name, stoppedBy, problem }) => ({ id, task, name, stoppedBy, problem })),
      [
        { id: "b", task: "task b", name: undefined, stoppedBy: "answered", problem: undefined },
        { id: "a", task: "task a", name: "name a", stoppedBy: undefined, problem: undefined },
        { id: "c", task: "task c", name: undefined, stoppedBy: undefined, problem: undefined },
      ],
    );
    assert.deepEqual(
      rows.map(({ historyLength }) => historyLength),
      [1, 2, 1],
    );
  },

  async "moves nothing in the list when a write had nothing new"({ store }) {
    if (store.list === undefined) return;
    await store.write("a", [entry(0)], snapshot(), { create: true });
    await store.write("b", [entry(0)], snapshot(), { create: true });
    await store.write("a", [entry(0)], undefined);
    await store.write("a", [], undefined);
    assert.deepEqual(
      (await store.list()).map(({ id }) => id),
      ["b", "a"],
    );
  },

  async "deletes a conversation for good, and only that one"(underTest) {
    const { store } = underTest;
    if (store.delete === undefined) return;
    await store.write("a", [entry(0)], snapshot(), { create: true });
    await store.write("b", [entry(0)], snapshot(), { create: true });
    await store.delete("a");
    const reopened = await underTest.reopen();
    assert.equal(await reopened.read("a"), undefined);
    assert.notEqual(await reopened.read("b"), undefined);
    await store.write("a", [entry(0, { text: "new" })], snapshot(), { create: true });
    assert.deepEqual((await store.read("a"))?.entries, [entry(0, { text: "new" })]);
  },

  async "keeps the draft of a reply as far as it was written, beside the entries, until it is removed"(underTest) {
    const { store } = underTest;
    if (store.writeDraft === undefined) return;
    await store.write("a", [entry(0), entry(1)], snapshot(), { create: true });
    await store.write("b", [entry(0)], snapshot(), { create: true });
    assert.equal((await store.read("a"))?.draft, undefined);
    // The last piece begins with the second half of a surrogate pair.
    const texts = [
      "One",
      "One\n\u2028two \ud83d",
      "One\n\u2028two \ud83d\ude00 three",
      "One\n\u2028two \ud83d\ude00 three",
    ];
    for (const text of texts) {
      await store.writeDraft("a", { requestSeq: 1, text });
      assert.deepEqual((await (await underTest.reopen()).read("a"))?.draft, { requestSeq: 1, text });
    }
    await store.write("a", [entry(2)], snapshot());
    const record = await (await underTest.reopen()).read("a");
    assert.deepEqual(record?.draft, { requestSeq: 1, text: texts.at(-1) });
    assert.deepEqual(record?.entries, [entry(0), entry(1), entry(2)]);
    assert.equal(record?.damage, undefined);
    await store.writeDraft("a", { requestSeq: 2, text: "another" });
    assert.deepEqual((await (await underTest.reopen()).read("a"))?.draft, { requestSeq: 2, text: "another" });
    assert.equal((await store.read("b"))?.draft, undefined);
    for (let times = 0; times < 2; times++) await store.writeDraft("a", undefined);
    assert.equal((await (await underTest.reopen()).read("a"))?.draft, undefined);
    await store.writeDraft("a", { requestSeq: 2, text: "again" });
    assert.deepEqual((await (await underTest.reopen()).read("a"))?.draft, { requestSeq: 2, text: "again" });
  },

  async "moves nothing in the list because of a draft"({ store }) {
    if (store.writeDraft === undefined || store.list === undefined) return;
    await store.write("a", [entry(0)], snapshot(), { create: true });
    await store.write("b", [entry(0)], snapshot(), { create: true });
    const before = await store.list();
    await store.writeDraft("a", { requestSeq: 0, text: "streams" });
    assert.deepEqual(await store.list(), before);
  },
};

function entry(seq: number, fields: Partial<Entry> = {}): Entry {
  return { seq, at: "2026-01-02T03:04:05.678Z", kind: "user", turn: 0, text: `message ${seq}`, ...fields };
}

function snapshot(fields: Partial<Snapshot> = {}): Snapshot {
  return { task: "a task", createdAt: "2026-01-02T03:04:05.678Z", historyLength: 0, ...fields };
}
