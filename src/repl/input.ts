/** What a person entered, told apart. */
export type Input =
  | { readonly kind: "nothing" }
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "command"; readonly name: string; readonly argument: string }
  | { readonly kind: "shell"; readonly command: string };

/**
 * `:name argument` is a command and `!command` goes to the shell. Text with line breaks (a paste, say) is always a
 * message; `::text` sends `:text`, and a space before `:` or `!` is taken off and the rest sent.
 */
export function parseInput(entered: string): Input {
  if (entered.trim() === "") return { kind: "nothing" };
  if (entered.startsWith("::")) return { kind: "message", text: entered.slice(1) };
  if (/^ [:!]/.test(entered)) return { kind: "message", text: entered.slice(1) };
  if (entered.includes("\n")) return { kind: "message", text: entered };
  const command = /^:([A-Za-z?]+)(?:\s+(.*))?$/.exec(entered.trimEnd());
  if (command !== null) {
    return { kind: "command", name: (command[1] ?? "").toLowerCase(), argument: (command[2] ?? "").trim() };
  }
  if (entered.startsWith("!") && entered.slice(1).trim() !== "") {
    return { kind: "shell", command: entered.slice(1).trim() };
  }
  return { kind: "message", text: entered };
}
