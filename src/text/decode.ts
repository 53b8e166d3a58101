export interface Decoder {
  /** The characters that are whole so far; the bytes of a cut one wait for the next chunk. */
  decode(chunk: Uint8Array): string;
  /** What was left of a cut character (U+FFFD), or nothing. */
  end(): string;
}

/** A streaming UTF-8 decoder: one for each pipe, so that no character is torn. Invalid bytes become U+FFFD. */
export function createDecoder(): Decoder {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return {
    decode: (chunk) => decoder.decode(chunk, { stream: true }),
    end: () => decoder.decode(),
  };
}
