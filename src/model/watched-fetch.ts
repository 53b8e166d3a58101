/** Thrown into a request whose connection went silent. */
export class StallError extends Error {
  override readonly name = "StallError";
  readonly code = "MODEL_STALLED";
}

/** An answer that is a web page, not an API's. */
export class WebPageError extends Error {
  override readonly name = "WebPageError";
  readonly code = "MODEL_WEB_PAGE";
}

/**
 * `fetch` that gives up on a connection which sends no byte for `idleTimeoutMs`, and which ends its body at once when
 * the request is aborted. Bytes count, not parsed events: a server's pings keep a long thought alive.
 */
export function createWatchedFetch(idleTimeoutMs: number): typeof fetch {
  return async (input, init) => {
    const connection = new AbortController();
    const outer = init?.signal ?? undefined;
    const forward = (): void => connection.abort(outer?.reason);
    if (outer?.aborted) forward();
    else outer?.addEventListener("abort", forward, { once: true });
    const release = (): void => outer?.removeEventListener("abort", forward);
    // A body read does not always notice an abort by itself.
    let fail = (_reason: unknown): void => {};
    connection.signal.addEventListener("abort", () => fail(connection.signal.reason), { once: true });
    const watched = <T>(waiting: Promise<T>): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        // Runs only while bytes are waited for: a reader that takes its time is no stalled server.
        const timer = setTimeout(() => {
          const seconds = Math.round(idleTimeoutMs / 100) / 10;
          connection.abort(new StallError(`nothing was sent for ${seconds} s`));
        }, idleTimeoutMs);
        // The read behind an aborted connection may never settle: the timer ends with whichever comes first.
        fail = (reason) => {
          clearTimeout(timer);
          reject(reason);
        };
        waiting.then(resolve, reject).finally(() => clearTimeout(timer));
        if (connection.signal.aborted) fail(connection.signal.reason);
      });
    try {
      const response = await watched(fetch(input, { ...init, signal: connection.signal }));
      const type = response.headers.get("content-type") ?? "";
      if (response.ok && type.includes("text/html")) {
        connection.abort();
        throw new WebPageError(`the answer is a web page (${type})`);
      }
      if (response.body === null) {
        release();
        return response;
      }
      const { status, statusText, headers } = response;
      return new Response(watchBody(response.body, watched, release, connection), { status, statusText, headers });
    } catch (error) {
      release();
      throw error;
    }
  };
}

function watchBody(
  body: ReadableStream<Uint8Array>,
  watched: <T>(waiting: Promise<T>) => Promise<T>,
  release: () => void,
  connection: AbortController,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await watched(reader.read());
          if (!done) return controller.enqueue(value);
          release();
          controller.close();
        } catch (error) {
          release();
          controller.error(error);
        }
      },
      cancel(reason) {
        release();
        connection.abort(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
