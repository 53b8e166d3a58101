import { PerdureError } from "../errors.js";
import type { Session } from "../session/session.js";

/** Before another conversation takes the place of an open one: what is in memory only would be gone. */
export async function refuseWhileUnsaved(open: Session, next: Session): Promise<void> {
  if (open.info.unsaved === undefined) return;
  await next.close();
  throw new PerdureError({
    code: "NOT_SAVED",
    problem: "this conversation is not saved, and would be lost",
    fix: "make it possible to save it, or leave with :quit and lose it",
  });
}
