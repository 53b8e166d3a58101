import type { PermissionRule } from "./entries.js";
import type { Decision, Permission, PermissionRequest } from "./permissions.js";

export type PermissionMode =
  /** A person is asked. */
  | "ask"
  /** Everything runs. */
  | "yes"
  /** Only what reads runs. */
  | "read-only"
  /** Nothing runs. The caller offers no tools either. */
  | "no-tools"
  /** Nobody is there to ask: what would ask is refused. */
  | "refuse";

export type PermissionReply =
  | { readonly kind: "once" }
  | { readonly kind: "always" }
  | { readonly kind: "no"; readonly reason?: string };

export interface PermissionPolicyOptions {
  readonly mode: PermissionMode;
  /** Names of tools that run without asking. */
  readonly allow: readonly string[];
  /** Names of tools that never run, whatever else is said. */
  readonly deny: readonly string[];
  /** Asks the person. Without it `ask` is the same as `refuse`. */
  readonly ask?: (request: PermissionRequest) => Promise<PermissionReply>;
}

/**
 * The rules of `chat`, in this order: denied tools are refused; in read-only and no-tools mode what they exclude is
 * refused; reads inside the working folder, tools with a remembered rule for this folder, allowed tools and tools that
 * do not say what they do (a program's own) run; the rest is up to the mode.
 */
export function permissionPolicy(options: PermissionPolicyOptions): Permission {
  return (request) => {
    const name = request.tool.name;
    if (options.deny.includes(name)) return no(`the tool ${name} is denied in this chat (--deny ${name})`);
    if (options.mode === "no-tools") return no("this chat runs no tools (--no-tools)");
    const reads = request.access?.action === "read";
    if (options.mode === "read-only" && !reads) {
      return no(`this chat is read-only (--read-only), and ${name} may change something`);
    }
    if (request.mayHaveRun === true && !reads) {
      if (options.mode !== "ask" || options.ask === undefined) return nobodyToAsk(name);
      return options.ask(request).then((reply) => (reply.kind === "no" ? decisionOf(reply, request) : YES));
    }
    if (reads && request.access?.inside) return YES;
    if (options.allow.includes(name) || request.rules.some((rule) => covers(rule, request))) return YES;
    switch (options.mode) {
      case "yes":
        return YES;
      case "read-only":
        return no("this chat is read-only (--read-only): only reads inside the working folder run");
      case "ask":
      case "refuse":
        if (request.access === undefined) return undefined;
        if (options.mode === "refuse" || options.ask === undefined) return nobodyToAsk(name);
        return options.ask(request).then((reply) => decisionOf(reply, request));
    }
  };
}

/** What "always" allows: the tool inside the working folder, or anywhere when this call goes beyond it. */
export function alwaysRule(request: PermissionRequest): PermissionRule {
  const inside = request.access?.inside === true && request.access.action !== "run";
  return { tool: request.tool.name, where: inside ? "inside" : "anywhere", cwd: request.cwd };
}

/** The same in words for a person: `allow write inside this folder without asking, in this conversation`. */
export function describeRule(rule: PermissionRule): string {
  const where = rule.where === "inside" ? " inside this folder" : "";
  return `allow ${rule.tool}${where} without asking, in this conversation`;
}

/** Names of `--allow` and `--deny` that no tool has. */
export function unknownToolNames(names: readonly string[], tools: ReadonlyArray<{ readonly name: string }>): string[] {
  return [...new Set(names)].filter((name) => !tools.some((tool) => tool.name === name));
}

const YES: Decision = { allow: true };

function no(reason: string): Decision {
  return { allow: false, reason };
}

function nobodyToAsk(name: string): Decision {
  return no(`${name} needs a person's permission and nobody could be asked (--allow ${name} or --yes lets it run)`);
}

function covers(rule: PermissionRule, request: PermissionRequest): boolean {
  if (rule.tool !== request.tool.name || rule.cwd !== request.cwd) return false;
  return rule.where === "anywhere" || request.access?.inside === true;
}

function decisionOf(reply: PermissionReply, request: PermissionRequest): Decision {
  switch (reply.kind) {
    case "once":
      return YES;
    case "always":
      return { allow: true, remember: alwaysRule(request) };
    case "no":
      return no(reply.reason?.trim() || "the person said no");
  }
}
