import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { deadlineMs } from "./deadline.js";
import { endProcess } from "./processes.js";

export interface TerminalOptions {
  /** The program; node unless given. */
  readonly file?: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly columns?: number;
  readonly rows?: number;
}

export interface TerminalExit {
  readonly code: number;
  /** Undefined when the program left by itself. */
  readonly signal: number | undefined;
  /** What a shell would say: the code, or 128 and the signal. */
  readonly status: number;
}

const keys = {
  "ctrl-c": "\x03",
  "ctrl-d": "\x04",
  "ctrl-u": "\x15",
  enter: "\r",
  tab: "\t",
  escape: "\x1b",
  backspace: "\x7f",
  up: "\x1b[A",
  down: "\x1b[B",
} as const;

/** A program in a pseudo-terminal that the test owns, and a screen that shows what it draws. */
export interface Terminal {
  readonly pid: number;
  /** How the program ended; rejects with the screen when it has not within the deadline from the first look at it. */
  readonly exit: Promise<TerminalExit>;
  /** Everything the program has written so far, as bytes. */
  readonly raw: Buffer;
  type(input: string | Uint8Array): void;
  key(...names: Array<keyof typeof keys>): void;
  /** What a person could read: scrollback and screen, wrapped lines joined, blank ends cut. */
  screen(): string;
  /** The line that the cursor is on, up to the cursor. */
  cursorLine(): string;
  /** Resolves as soon as the screen shows it (or the function says yes); rejects with the screen when it does not. */
  waitFor(wanted: string | RegExp | ((terminal: Terminal) => boolean), timeoutMs?: number): Promise<void>;
  resize(columns: number, rows: number): void;
  /** Closes our side of the terminal, as a window that is closed: the kernel tells the program. */
  hangUp(): void;
  kill(signal: NodeJS.Signals): void;
}

export function openTerminal(options: TerminalOptions): Terminal {
  const { columns = 100, rows = 30 } = options;
  const pty = spawn(options.file ?? process.execPath, [...options.args], {
    name: "xterm-256color",
    cols: columns,
    rows,
    cwd: options.cwd,
    env: { ...options.env },
    // Bytes, so that the screen decodes characters that are cut between two reads.
    encoding: null,
  });
  const view = new xterm.Terminal({ cols: columns, rows, scrollback: 100_000, allowProposedApi: true });
  const parts: Buffer[] = [];
  const looks = new Set<() => void>();
  let ended: TerminalExit | undefined;
  let open = true;

  view.onData((answer) => write(answer));
  pty.onData((data: unknown) => {
    const bytes = Buffer.isBuffer(data) ? data : Buffer.from(String(data));
    parts.push(bytes);
    view.write(bytes, () => {
      for (const look of looks) look();
    });
  });
  const exited = new Promise<TerminalExit>((resolve) => {
    pty.onExit(({ exitCode, signal }) => {
      const killedBy = signal === undefined || signal === 0 ? undefined : signal;
      const status = killedBy === undefined ? exitCode : 128 + killedBy;
      // The last output is drawn first, so that a test that awaits the exit sees all of it.
      view.write("", () => {
        ended = { code: exitCode, signal: killedBy, status };
        for (const look of looks) look();
        resolve(ended);
      });
    });
  });

  function write(input: string | Uint8Array): void {
    if (!open || ended !== undefined) return;
    // node-pty takes bytes too, which its types do not say.
    Reflect.apply(pty.write, pty, [typeof input === "string" ? input : Buffer.from(input)]);
  }

  const terminal: Terminal = {
    pid: pty.pid,
    get exit() {
      return withinDeadline(exited, () => `the program has not ended\n--- screen ---\n${terminal.screen()}\n---`);
    },
    get raw() {
      return Buffer.concat(parts);
    },
    type: write,
    key: (...names) => {
      for (const name of names) write(keys[name]);
    },
    screen: () => textOf(view),
    cursorLine: () => {
      const buffer = view.buffer.active;
      return buffer.getLine(buffer.baseY + buffer.cursorY)?.translateToString(false, 0, buffer.cursorX) ?? "";
    },
    waitFor(wanted, timeoutMs = deadlineMs) {
      return new Promise<void>((resolve, reject) => {
        const isThere = (): boolean => {
          if (typeof wanted === "function") return wanted(terminal);
          const screen = terminal.screen();
          return typeof wanted === "string" ? screen.includes(wanted) : wanted.test(screen);
        };
        const finish = (problem: string | undefined): void => {
          clearTimeout(timer);
          looks.delete(look);
          if (problem === undefined) resolve();
          else
            reject(new Error(`the terminal ${problem}: ${String(wanted)}\n--- screen ---\n${terminal.screen()}\n---`));
        };
        const look = (): void => {
          if (isThere()) finish(undefined);
          else if (ended !== undefined) finish(`ended (${ended.status}) without showing`);
        };
        const timer = setTimeout(() => finish(`did not show within ${timeoutMs} ms`), timeoutMs);
        looks.add(look);
        look();
      });
    },
    resize(nextColumns, nextRows) {
      view.resize(nextColumns, nextRows);
      if (open && ended === undefined) pty.resize(nextColumns, nextRows);
    },
    hangUp() {
      open = false;
      closeMaster(pty);
    },
    kill: (signal) => endProcess(pty.pid, signal),
  };
  return terminal;
}

async function withinDeadline<T>(promise: Promise<T>, problem: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(problem())), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function textOf(view: InstanceType<typeof xterm.Terminal>): string {
  const buffer = view.buffer.active;
  const lines: string[] = [];
  for (let row = 0; row < buffer.length; row += 1) {
    const line = buffer.getLine(row);
    if (line === undefined) continue;
    const continues = buffer.getLine(row + 1)?.isWrapped === true;
    const text = line.translateToString(!continues);
    if (line.isWrapped && lines.length > 0) lines[lines.length - 1] += text;
    else lines.push(text);
  }
  return lines.join("\n").trimEnd();
}

/**
 * Closes the terminal's own end and no more. `destroy()` of node-pty also sends a SIGHUP of its own beside the kernel's,
 * which no real terminal does.
 */
function closeMaster(pty: object): void {
  const socket: unknown = "_socket" in pty ? pty._socket : undefined;
  if (typeof socket !== "object" || socket === null || !("destroy" in socket) || typeof socket.destroy !== "function") {
    throw new Error("node-pty has changed: no socket to close");
  }
  socket.destroy();
}
