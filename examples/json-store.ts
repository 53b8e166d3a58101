import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { type Entry, hasCode, PerdureError, type SavedRecord, type Snapshot, Store } from "perdure";

/** One JSON file for each conversation, replaced as a whole. */
export class JsonStore extends Store {
  readonly #folder: string;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    super();
    this.#folder = folder;
  }

  override write(
    id: string,
    entries: readonly Entry[],
    snapshot: Snapshot | undefined,
    { create = false }: { create?: boolean } = {},
  ): Promise<void> {
    const written = this.#queue.then(async () => {
      const saved = await this.read(id);
      if (create && saved !== undefined) {
        throw new PerdureError({ code: "STATE_EXISTS", problem: `there is a ${id} already`, fix: "take another id" });
      }
      const before = saved?.entries ?? [];
      const fresh = entries.filter(({ seq }) => seq >= before.length); // what is sent again is skipped
      await this.#replace(id, { entries: [...before, ...fresh], snapshot: snapshot ?? saved?.snapshot });
    });
    this.#queue = written.catch(() => undefined); // writes follow each other
    return written;
  }

  override async read(id: string): Promise<SavedRecord | undefined> {
    try {
      return JSON.parse(await readFile(join(this.#folder, `${id}.json`), "utf8"));
    } catch (error) {
      if (hasCode(error, "ENOENT")) return undefined;
      throw error;
    }
  }

  async #replace(id: string, record: SavedRecord): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const file = join(this.#folder, `${id}.json`);
    const handle = await open(`${file}.new`, "w", 0o600);
    await handle.writeFile(JSON.stringify(record));
    await handle.sync();
    await handle.close();
    await rename(`${file}.new`, file);
    const folder = await open(this.#folder, "r");
    await folder.sync(); // the new name is on disk too
    await folder.close();
  }
}
