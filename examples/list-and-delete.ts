import { FileStore } from "perdure";

const store = new FileStore(".agent-runs");

for (const saved of await store.list()) {
  console.log(saved.id, saved.task, saved.updatedAt, saved.stoppedBy, saved.problem ?? "");
}

await store.delete("review-pr-42");
