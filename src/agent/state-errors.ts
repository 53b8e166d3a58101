import { PerdureError } from "../errors.js";

export function finishedError(id: string): PerdureError {
  return new PerdureError({
    code: "STATE_FINISHED",
    problem: `conversation ${id} is finished`,
    fix: "begin a new State; what was finished stays as it is",
    example: 'new State("the next task")',
  });
}

export function busyError(id: string): PerdureError {
  return new PerdureError({
    code: "STATE_BUSY",
    problem: `conversation ${id} is being worked on already`,
    fix: "await that run or step, or add the message to it: state.addUserMessage(text) is answered in the same run",
  });
}

export function emptyError(id: string): PerdureError {
  return new PerdureError({
    code: "STATE_EMPTY",
    problem: `conversation ${id} has no message for the model`,
    fix: "add one first",
    example: 'state.addUserMessage("Hello")',
  });
}

export function callsPendingError(id: string, names: readonly string[]): PerdureError {
  return new PerdureError({
    code: "CALLS_PENDING",
    problem: `conversation ${id} has calls without a result: ${names.join(", ")}`,
    fix: "run them first, or refuse them",
    example: "await agent.useTools(state)",
  });
}

export function otherStoreError(id: string): PerdureError {
  return new PerdureError({
    code: "STATE_OTHER_STORE",
    problem: `conversation ${id} is saved in another store than this agent's`,
    fix: "run it with an agent that has its store",
    example: "agent.copy({ store })",
  });
}

export function damagedError(id: string, problem: string): PerdureError {
  return new PerdureError({
    code: "STATE_DAMAGED",
    problem: `conversation ${id} is damaged: ${problem}`,
    fix: "put a good copy of its files in place; nothing was written to them",
  });
}

export function notFoundError(id: string): PerdureError {
  return new PerdureError({
    code: "STATE_NOT_FOUND",
    problem: `there is no conversation ${id} in this store`,
    fix: "list the conversations and pick one of them",
    example: "await store.list()",
  });
}
