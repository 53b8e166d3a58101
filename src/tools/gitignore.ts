import { readFile, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import ignore, { type Ignore } from "ignore";

interface Layer {
  /** The folder that the patterns are relative to. */
  readonly folder: string;
  readonly patterns: Ignore;
}

/** What git would leave out below a folder: the .gitignore files on the way to it and in it. `.git` is always left out. */
export class IgnoreRules {
  readonly #layers: readonly Layer[];

  private constructor(layers: readonly Layer[]) {
    this.#layers = layers;
  }

  /**
   * The rules for what is in `folder`, from the root of its repository down (without a repository: its own alone). Who
   * looks into an ignored folder by name wants to see it: the rules above do not hold there.
   */
  static async forFolder(folder: string): Promise<IgnoreRules> {
    const root = (await repositoryRoot(folder)) ?? folder;
    const way = relative(root, folder)
      .split(sep)
      .filter((name) => name !== "");
    let rules = await new IgnoreRules(await excludeLayer(root)).with(root);
    let at = root;
    for (const name of way) {
      at = join(at, name);
      if (rules.ignores(at, true)) rules = new IgnoreRules([]);
      rules = await rules.with(at);
    }
    return rules;
  }

  /** These rules and those of a folder below. */
  async with(folder: string): Promise<IgnoreRules> {
    const layer = await layerOf(folder, join(folder, ".gitignore"));
    return layer === undefined ? this : new IgnoreRules([...this.#layers, layer]);
  }

  ignores(path: string, isFolder: boolean): boolean {
    let ignored = false;
    // The nearest file that says something about a path decides.
    for (const { folder, patterns } of this.#layers) {
      const way = relative(folder, path).split(sep).join("/") + (isFolder ? "/" : "");
      const verdict = patterns.test(way);
      if (verdict.ignored) ignored = true;
      else if (verdict.unignored) ignored = false;
    }
    return ignored;
  }
}

async function repositoryRoot(folder: string): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    if (await exists(join(at, ".git"))) return at;
    if (dirname(at) === at) return undefined;
  }
}

async function excludeLayer(root: string): Promise<Layer[]> {
  const layer = await layerOf(root, join(root, ".git", "info", "exclude"));
  return layer === undefined ? [] : [layer];
}

async function layerOf(folder: string, file: string): Promise<Layer | undefined> {
  // A .gitignore that cannot be read (a folder, say) rules nothing, as with git.
  const text = await readFile(file, "utf8").catch(() => undefined);
  return text === undefined ? undefined : { folder, patterns: ignore({ allowRelativePaths: true }).add(text) };
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
