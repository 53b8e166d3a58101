import path from "node:path";
import type { Writable } from "node:stream";
import { problemOf } from "../errors.js";
import { Doctor, type RootReport, type StateReport } from "../session/doctor.js";
import { findState } from "../session/find-state.js";
import type { Finding } from "../store/finding.js";
import type { TakeLock } from "../store/lock.js";
import { holderText } from "../store/store-errors.js";
import { printableLine } from "../text/printable.js";
import { errorText } from "./error-text.js";
import { jsonLine, Output } from "./output.js";

export interface DoctorOptions {
  /** The store's folder. */
  readonly root: string;
  /** Undefined: all of them, and what lies beside them. */
  readonly id: string | undefined;
  readonly repair: boolean;
  readonly json: boolean;
  readonly takeLock: TakeLock;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

interface Checked {
  readonly states: readonly StateReport[];
  readonly root: RootReport | undefined;
  /** Conversations that could not be checked or mended at all. */
  readonly failures: readonly { readonly id: string; readonly error: unknown }[];
}

/**
 * `chat doctor`: checks conversations, and mends them with `--repair`; without it nothing is written.
 *
 * @returns 1 when something is wrong (still, after a repair), 75 when a conversation is open elsewhere, else 0
 */
export async function runDoctor(options: DoctorOptions): Promise<number> {
  const { id, repair, json, stdout, stderr } = options;
  const doctor = new Doctor(options.root, options.takeLock);
  const rows = await doctor.rows();
  const ids = id === undefined ? rows.map((row) => row.id) : [findState(rows, id, { damaged: "allow" }).id];
  const checked = await check(doctor, ids, id === undefined, repair);
  const out = new Output(stdout);
  if (json) out.line(jsonLine(toJson(doctor.root, checked)));
  else for (const line of report(doctor.root, checked, repair)) out.line(line);
  const err = new Output(stderr);
  for (const failure of checked.failures) err.line(errorText(failure.error));
  await Promise.all([out.flush(), err.flush()]);
  return out.failure === undefined ? exitCode(checked) : 1;
}

async function check(doctor: Doctor, ids: readonly string[], withRoot: boolean, repair: boolean): Promise<Checked> {
  const root = withRoot ? await (repair ? doctor.repairRoot() : doctor.examineRoot()) : undefined;
  const states: StateReport[] = [];
  const failures: { id: string; error: unknown }[] = [];
  for (const id of ids) {
    try {
      states.push(await (repair ? doctor.repair(id) : doctor.examine(id)));
    } catch (error) {
      // One that cannot be checked keeps none of the others from it.
      failures.push({ id, error });
    }
  }
  return { root, states, failures };
}

function exitCode({ root, states, failures }: Checked): number {
  const findings = [...(root?.findings ?? []), ...states.flatMap((state) => state.findings)];
  if (failures.length > 0 || findings.some(({ level }) => level === "problem")) return 1;
  return states.some(({ open }) => open !== undefined) ? 75 : 0;
}

/** One line for each finding. */
function report(folder: string, { root, states, failures }: Checked, repair: boolean): string[] {
  const lines: string[] = [];
  const add = (who: string, folder: string, { findings, mended }: RootReport) => {
    const place = (file: string) => path.relative(folder, file) || file;
    for (const { path: file, problem } of mended) lines.push(line(who, "mended", `${place(file)}: ${problem}`));
    for (const { level, path: file, problem, fix } of findings) {
      lines.push(line(who, level, `${place(file)}: ${problem}. ${capital(fix)}`));
    }
  };
  for (const state of states) {
    if (state.open !== undefined) {
      const what = repair ? "it was checked and not repaired" : "it was checked as it is on disk now";
      lines.push(line(state.id, "open", `open in another process${holderText(state.open.owner)}; ${what}`));
    }
    add(state.id, path.join(folder, state.id), state);
  }
  if (root !== undefined) add("store", folder, root);
  lines.push(summary({ root, states, failures }, repair));
  return lines;
}

function line(who: string, what: string, text: string): string {
  return printableLine(`${who}  ${what}: ${text}`);
}

function summary({ root, states, failures }: Checked, repair: boolean): string {
  const all: Finding[] = [...states.flatMap((state) => state.findings), ...(root?.findings ?? [])];
  const mended = [...states.flatMap((state) => state.mended), ...(root?.mended ?? [])].length;
  const problems = all.filter(({ level }) => level === "problem");
  const repairable = problems.filter(({ canRepair }) => canRepair).length;
  const parts = [`${count(states.length, "conversation")} checked`];
  if (mended > 0) parts.push(`${mended} mended`);
  if (failures.length > 0) parts.push(`${count(failures.length, "conversation")} could not be checked`);
  parts.push(problems.length === 0 ? "nothing is wrong" : count(problems.length, "problem"));
  if (repairable > 0 && !repair) parts.push(`\`chat doctor --repair\` can mend ${repairable} of them`);
  return parts.join(", ");
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** For programs: the same fields in every report, null for what there is not. */
function toJson(root: string, checked: Checked): Record<string, unknown> {
  return {
    store: root,
    conversations: checked.states.map(({ id, open, findings, mended }) => ({
      id,
      open: open !== undefined,
      owner: open?.owner ?? null,
      findings,
      mended,
    })),
    findings: checked.root?.findings ?? [],
    mended: checked.root?.mended ?? [],
    failures: checked.failures.map(({ id, error }) => ({ id, problem: problemOf(error) })),
  };
}
