/** How a piece of text looks. Programs that are not a terminal get the text alone. */
export type Style = "dim" | "bold" | "red" | "green" | "yellow" | "cyan";

export type Paint = (style: Style | undefined, text: string) => string;

const CODES: Record<Style, readonly [on: number, off: number]> = {
  dim: [2, 22],
  bold: [1, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

export function createPaint(enabled: boolean): Paint {
  return (style, text) => {
    if (!enabled || style === undefined || text === "") return text;
    const [on, off] = CODES[style];
    return `\u001b[${on}m${text}\u001b[${off}m`;
  };
}

/** https://no-color.org: set and not empty. A terminal that says it is dumb gets none either. */
export function wantsColor(isTTY: boolean, environment: NodeJS.ProcessEnv): boolean {
  if ((environment.NO_COLOR ?? "") !== "" || environment.TERM === "dumb") return false;
  return isTTY;
}
