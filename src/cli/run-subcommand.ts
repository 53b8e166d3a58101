import { FileStore } from "../store/file-store.js";
import type { Arguments } from "./arguments.js";
import { folders } from "./folders.js";

type SubcommandArguments = Extract<Arguments, { command: "list" | "show" | "rename" | "delete" }>;

/** `chat list`, `show`, `rename`, `delete`. Resolves with the exit code. */
export async function runSubcommand(args: SubcommandArguments): Promise<number> {
  const { stdin, stdout, stderr, env, platform } = process;
  const store = new FileStore(folders(env, platform, args.store).store);
  switch (args.command) {
    case "list": {
      const { runList } = await import("./list.js");
      return runList({ store, json: args.json, stdout, stderr });
    }
    case "show": {
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
