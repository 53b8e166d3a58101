/** What a finding is about, for programs. docs/doctor.md is the reference. */
export type FindingKind =
  | "unreadable"
  | "newer"
  | "torn-tail"
  | "no-newline"
  | "damaged-log"
  | "snapshot-damaged"
  | "snapshot-missing"
  | "snapshot-differs"
  | "draft-damaged"
  | "mode"
  | "leftover"
  | "set-aside"
  | "unknown-file"
  | "draft"
  | "open-call"
  | "running-call"
  | "orphan-runner";

/** Something a check found about a conversation or its store. */
export interface Finding {
  readonly kind: FindingKind;
  /** problem: something is wrong. note: as it should be, and good to know. */
  readonly level: "problem" | "note";
  /** The file or folder, absolute. */
  readonly path: string;
  /** What it is and what it means, in plain words, one line. */
  readonly problem: string;
  /** What can be done. */
  readonly fix: string;
  /** `--repair` does it. */
  readonly canRepair: boolean;
}

export const REPAIR = "`--repair`";
