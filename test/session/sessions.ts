import { join } from "node:path";
import { loadState } from "../../src/agent/load-state.js";
import { LocalSessions } from "../../src/session/local-sessions.js";
import type { Session } from "../../src/session/session.js";
import type { Disk } from "../../src/store/disk.js";
import { FileStore } from "../../src/store/file-store.js";
import type { Entry } from "../../src/store/store.js";
import { ScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";

const open: Session[] = [];

/** Conversations in a folder, on a disk that may fail, with a model that says what the test says. */
export function openSessions(options: { folder: string; disk?: Disk; steps: readonly ScriptedStep[] }) {
  const { folder, disk, steps } = options;
  const model = new ScriptedModel(steps);
  const root = join(folder, "store");
  const store = new FileStore(root, disk === undefined ? {} : { disk });
  const sessions = new LocalSessions({
    store,
    modelFor: async () => model.name,
    openModel: async () => model,
    system: () => "You are a test.",
    cwd: folder,
    cwdGiven: false,
    env: { PATH: process.env.PATH },
    name: undefined,
    permissions: { mode: "yes", allow: [], deny: [] },
  });
  const { create, resume } = sessions;
  sessions.create = async () => kept(await create.call(sessions));
  sessions.resume = async (ref) => kept(await resume.call(sessions, ref));
  return { sessions, model, root, store };
}

function kept(session: Session): Session {
  open.push(session);
  return session;
}

/** What another process would read. */
export async function savedHistory(root: string, id: string): Promise<readonly Entry[]> {
  const record = await new FileStore(root).read(id);
  return record?.entries ?? [];
}

export async function savedContext(root: string, id: string) {
  return (await loadState(new FileStore(root), id)).context;
}

/** For afterEach: what a test left open is given free. */
export async function endSessions(): Promise<void> {
  for (const session of open.splice(0)) {
    try {
      await session.shutdown("SIGTERM", 5000);
    } catch {
      // Not saved: the test has looked at that.
    }
  }
}
