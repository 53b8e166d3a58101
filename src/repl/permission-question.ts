import type { PermissionAnswer } from "../session/session.js";
import { parseAnswer } from "./answer.js";
import { type Display, line } from "./display.js";
import type { Question } from "./questions.js";
import { type Ask, askLines, askPrompt } from "./render-ask.js";

export interface PermissionQuestionOptions {
  columns(): number;
  show(items: readonly Display[]): void;
  answer(answer: PermissionAnswer): void;
  isLeaving(): boolean;
}

/** Asks whether a call may run, until the answer is one. */
export function permissionQuestion(ask: Ask, options: PermissionQuestionOptions): Question {
  return {
    id: ask.askId,
    intro: () => askLines(ask, options.columns()),
    prompt: () => askPrompt(ask, options.columns()),
    answered(text) {
      if (/^v(iew)?$/i.test(text.trim())) {
        options.show(askLines(ask, options.columns(), { whole: true }));
        return false;
      }
      const answer = parseAnswer(text);
      if (answer === undefined) {
        options.show([line("please answer y, a or n (n with a reason tells the model why)", "dim")]);
        return false;
      }
      options.answer(answer);
      return true;
    },
    cancelled() {
      if (!options.isLeaving()) options.answer({ kind: "no" });
    },
  };
}
