import { parseArguments } from "./arguments.js";
import { errorText } from "./error-text.js";
import { exitCodeOf } from "./exit-code.js";

/** The program. Everything but reading the command line is loaded when it is known to be wanted. */
async function main(argv: readonly string[]): Promise<number> {
  const args = parseArguments(argv);
  switch (args.command) {
    case "version": {
      const { version } = await import("./version.js");
      process.stdout.write(`${version()}\n`);
      return 0;
    }
    case "help": {
      const { HELP_TEXT } = await import("./help-text.js");
      process.stdout.write(HELP_TEXT);
      return 0;
    }
    case "chat": {
      const { runChat } = await import("./run-chat.js");
      return runChat(args);
    }
    default: {
      const { runSubcommand } = await import("./run-subcommand.js");
      return runSubcommand(args);
    }
  }
}

/** A provider's idle connection or a stream nobody reads must not hold a program that has nothing left to do. */
function leave(exitCode: number): void {
  process.exitCode = exitCode;
  process.stdout.write("", () => process.stderr.write("", () => process.exit()));
}

main(process.argv.slice(2)).then(leave, (error: unknown) => {
  process.stderr.write(`${errorText(error)}\n`);
  leave(exitCodeOf(error));
});
