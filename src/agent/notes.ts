import { problemOf } from "../errors.js";

/** For errors that take no property (frozen ones). */
const notesOfFrozen = new WeakMap<object, string[]>();

/** What happened beside an error: `saving the state also failed: …`. Empty for an error without notes. */
export function notesOf(error: unknown): readonly string[] {
  if (typeof error !== "object" || error === null) return [];
  if ("notes" in error && Array.isArray(error.notes)) return error.notes.filter((note) => typeof note === "string");
  return notesOfFrozen.get(error) ?? [];
}

/** Adds a note to the error itself, so that whoever catches it (by class, code or identity) still catches the same one. */
export function addNote(error: unknown, note: string): void {
  if (typeof error !== "object" || error === null) return;
  const notes = [...notesOf(error)];
  if (notes.includes(note)) return;
  notes.push(note);
  try {
    Object.defineProperty(error, "notes", { value: notes, enumerable: false, configurable: true, writable: true });
  } catch {
    notesOfFrozen.set(error, notes);
  }
}

export function addSaveNote(error: unknown, saveError: unknown): void {
  addNote(error, `saving the state also failed: ${problemOf(saveError)}`);
}
