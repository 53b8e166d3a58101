import type { ModelMessage } from "../model/model.js";
import { cutText } from "../text/cut.js";

const messageBytesMax = 16_384;
const resultBytesMax = 4_096;

/** A context as plain text, for a request about it that calls no tools. Long results are cut. */
export function renderTranscript(messages: readonly ModelMessage[]): string {
  return messages.map(render).join("\n\n");
}

function render(message: ModelMessage): string {
  switch (message.role) {
    case "user":
      return `Person: ${cutText(message.text, messageBytesMax).text}`;
    case "assistant": {
      const calls = message.calls.map(
        (call) => `Calls ${call.name}: ${cutText(JSON.stringify(call.input), resultBytesMax).text}`,
      );
      const text = message.text === "" ? [] : [`Assistant: ${cutText(message.text, messageBytesMax).text}`];
      return [...text, ...calls].join("\n");
    }
    case "tool":
      return message.results
        .map(
          (result) =>
            `Result of ${result.name}${result.isError ? " (failed)" : ""}: ${cutText(result.text, resultBytesMax).text}`,
        )
        .join("\n");
  }
}
