import type { Model } from "../model/model.js";
import type { FileStore } from "../store/file-store.js";

/** What a conversation in this process is put together from. */
export interface SessionParts {
  readonly store: FileStore;
  /** The model that answers; `recorded` is the one a resumed conversation used last. May ask the person at a first start. */
  modelFor(recorded: string | undefined): Promise<string>;
  openModel(name: string): Promise<Model>;
  /** The system prompt of an agent that works in `cwd`. */
  system(cwd: string, tools: readonly string[]): string;
  /** The folder the program was started in; a resumed conversation goes back to its own. */
  readonly cwd: string;
  /** The person named the folder for this start: it wins over the recorded one. */
  readonly cwdGiven: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Name a new conversation gets. */
  readonly name: string | undefined;
  readonly permissions: PermissionSettings;
  /** Adds to an error of resuming what a person can do about it here. */
  explain?(error: unknown): unknown;
  /** Whether what runs ends with a terminal that goes away (SIGHUP). Default: keep. */
  readonly hangup?: "keep" | "end";
}

export interface PermissionSettings {
  /** ask: somebody is there to answer. refuse: nobody is. */
  readonly mode: "ask" | "refuse" | "yes" | "read-only" | "no-tools";
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}
