import { FileStore } from "../store/file-store.js";
import type { Arguments } from "./arguments.js";
import { folders } from "./folders.js";
import { NO_LOCK_WARNING } from "./locked.js";

type SubcommandArguments = Extract<Arguments, { command: "list" | "show" | "rename" | "delete" | "doctor" }>;

/** `chat list`, `show`, `rename`, `delete`, `doctor`. Resolves with the exit code. */
export async function runSubcommand(args: SubcommandArguments): Promise<number> {
  const { stdin, stdout, stderr, env, platform } = process;
  const { store: root } = folders(env, platform, args.store);
  const noLock = "noLock" in args && args.noLock;
  if (noLock) stderr.write(`${NO_LOCK_WARNING}\n`);
  const store = new FileStore(root, noLock ? { lock: "none" } : {});
  switch (args.command) {
    case "list": {
      const { runList } = await import("./list.js");
      return runList({ store, json: args.json, stdout, stderr });
    }
    case "doctor": {
      const [{ runDoctor }, { takeLock }, { noLock: free }] = await Promise.all([
        import("./doctor.js"),
        import("../store/lock.js"),
        import("../store/no-lock.js"),
      ]);
      const { id, repair, json } = args;
      return runDoctor({ root, id, repair, json, takeLock: noLock ? free : takeLock, stdout, stderr });
    }
    case "show": {
      if (args.follow) {
        const { runFollow } = await import("./follow.js");
        return runFollow({ store, id: args.id, json: args.json, stdout, stderr });
      }
      const { runShow } = await import("./show.js");
      return runShow({ store, id: args.id, json: args.json, stdout, stderr });
    }
    case "rename": {
      const { runRename } = await import("./rename.js");
      return runRename({ store, id: args.id, text: args.text, stdout });
    }
    case "delete": {
      const { runDelete } = await import("./delete.js");
      const isTerminal = stdin.isTTY === true && stdout.isTTY === true;
      const ask = async (question: string) => (await import("./questions.js")).askYesNo(question);
      const { endCommands, livingCommands } = await import("../session/running-calls.js");
      const running = { list: (id: string) => livingCommands(store, id), end: (id: string) => endCommands(store, id) };
      return runDelete({
        store,
        running,
        ids: args.ids,
        yes: args.yes,
        ask: isTerminal ? ask : undefined,
        stdout,
        stderr,
      });
    }
  }
}
