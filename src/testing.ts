/** For the tests of programs that use the library: `import { ScriptedModel } from "perdure/testing"`. */
export * from "./testing/memory-store.js";
export { messagesProblems, requestProblems } from "./testing/request-problems.js";
export { type ScriptedCall, ScriptedModel, type ScriptedReply, type ScriptedStep } from "./testing/scripted-model.js";
export * from "./testing/store-kit.js";
