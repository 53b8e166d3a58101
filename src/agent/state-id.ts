import { randomInt } from "node:crypto";

export { checkStateId } from "../store/state-id.js";

/** No letter or digit that is taken for another one when read aloud or typed: no 0 o 1 l i. */
const alphabet = "abcdefghjkmnpqrstuvwxyz23456789";
const idLength = 8;

export function randomStateId(): string {
  return Array.from({ length: idLength }, () => alphabet[randomInt(alphabet.length)]).join("");
}
