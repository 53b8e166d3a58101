/** One command of a shell line. */
export interface Command {
  /** Assignments before it. */
  readonly env: Readonly<Record<string, string>>;
  readonly words: readonly string[];
}

/**
 * The commands of a line as a shell reads it, as far as the documentation goes: quotes, comments, assignments and the
 * operators `&&`, `||`, `|`, `;`. Redirections end a command. Placeholders such as `ID` and `…` are words.
 */
export function commandsOf(line: string): Command[] {
  const commands: Command[] = [];
  let words: string[] = [];
  let word: string | undefined;
  const endWord = (): void => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  const endCommand = (): void => {
    endWord();
    const first = words.findIndex((each) => !/^[A-Z_]+=/.test(each));
    const env = Object.fromEntries(
      words.slice(0, first === -1 ? words.length : first).map((each) => {
        const at = each.indexOf("=");
        return [each.slice(0, at), each.slice(at + 1)];
      }),
    );
    if (first !== -1) commands.push({ env, words: words.slice(first) });
    words = [];
  };
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? "";
    if (character === "'" || character === '"') {
      const end = line.indexOf(character, at + 1);
      if (end === -1) throw new Error(`a quote that is not closed: ${line}`);
      word = (word ?? "") + line.slice(at + 1, end).replace(character === '"' ? /\\(["\\$`])/g : /$^/g, "$1");
      at = end;
    } else if (/\s/.test(character)) endWord();
    else if (character === "#" && word === undefined) break;
    else if (/[|&;]/.test(character)) {
      endCommand();
      if (line[at + 1] === character) at += 1;
    } else if (/[<>]/.test(character)) {
      // What follows is a file: none of the command's words.
      if (word !== undefined && /^\d$/.test(word)) word = undefined;
      endCommand();
      const rest = /^[<>&]*\s*\S+/.exec(line.slice(at))?.[0] ?? "";
      at += rest.length - 1;
    } else word = (word ?? "") + character;
  }
  endCommand();
  return commands;
}
