import type { AgentCore } from "./agent-core.js";
import { bindingOf } from "./binding.js";
import { isBlank } from "./clean.js";
import type { Received } from "./receive.js";
import type { State } from "./state.js";

/** The wait between two writes. It leaves room for the write itself: what is kept is at most 100 ms behind the screen. */
const pauseMs = 60;

/**
 * Keeps what a reply has said in the store while it streams, so that a kill does not take what was on the screen. Not for
 * each piece: the first one is written at once, the ones that come meanwhile together. A store that cannot do it, or fails
 * at it, disturbs no reply.
 */
export class ReplyDraft {
  readonly #agent: AgentCore;
  readonly #state: State;
  readonly #received: Received;
  readonly #ended = new AbortController();
  #requestSeq: number | undefined;
  /** Of the entry that closes the request. */
  #closingSeq = Number.POSITIVE_INFINITY;
  #hasNews = false;
  #isWriting = false;

  constructor(agent: AgentCore, state: State, received: Received) {
    this.#agent = agent;
    this.#state = state;
    this.#received = received;
  }

  /** The request was recorded: what comes is its reply. */
  begin(requestSeq: number): void {
    this.#requestSeq = requestSeq;
  }

  /** More of the reply is there, and on the screen. */
  textCame(): void {
    if (this.#agent.store?.writeDraft === undefined) return;
    this.#hasNews = true;
    if (!this.#isWriting) void this.#writeAsItComes();
  }

  /** Nothing more comes. What is not written yet goes out before the save that follows. */
  end(): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.#closingSeq = this.#state.history.length;
    if (this.#hasNews) void this.#write();
  }

  /** After the save: a draft whose reply is durable is out of date. */
  clear(): void {
    const { store } = this.#agent;
    const binding = bindingOf(this.#state);
    if (!binding.hasDraft || store?.writeDraft === undefined) return;
    if (this.#state.savedLength <= this.#closingSeq) return;
    binding.hasDraft = false;
    binding.drafts = binding.drafts
      .then(() => store.writeDraft?.(this.#state.id, undefined))
      .catch(() => {
        // It does no harm: loading sees that it is out of date. The next reply tries again.
        binding.hasDraft = true;
      });
  }

  async #writeAsItComes(): Promise<void> {
    this.#isWriting = true;
    while (this.#hasNews && !this.#ended.signal.aborted) {
      const pause = this.#agent.clock.sleep(pauseMs, this.#ended.signal);
      await this.#write();
      await pause;
    }
    this.#isWriting = false;
  }

  async #write(): Promise<void> {
    const { store } = this.#agent;
    const { text } = this.#received;
    const requestSeq = this.#requestSeq;
    this.#hasNews = false;
    if (store?.writeDraft === undefined || requestSeq === undefined || isBlank(text)) return;
    const binding = bindingOf(this.#state);
    // A draft of a request that is not on disk would belong to nothing.
    if (this.#state.savedLength <= requestSeq) return;
    binding.hasDraft = true;
    // Saves do not wait for drafts: they are what counts.
    const written = binding.drafts.then(() => store.writeDraft?.(this.#state.id, { requestSeq, text }));
    binding.drafts = written.catch(() => undefined);
    try {
      await written;
      binding.draftFails = false;
    } catch (error) {
      if (!binding.draftFails) this.#agent.emitter.emit({ type: "draft_failed", error });
      binding.draftFails = true;
    }
  }
}
