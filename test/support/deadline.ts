/** How long a test waits for what has to happen: generous, since a busy machine is slow. TEST_DEADLINE_MS changes it. */
export const deadlineMs = Number(process.env.TEST_DEADLINE_MS ?? 20_000);
