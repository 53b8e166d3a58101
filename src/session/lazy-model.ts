import type { Model, ModelEvent, ModelRequest } from "../model/model.js";

/** A model that is opened at its first request: the prompt waits for no provider, and a missing key is an answerable error. */
export class LazyModel implements Model {
  readonly name: string;
  readonly #open: (name: string) => Promise<Model>;
  #model: Promise<Model> | undefined;

  constructor(name: string, open: (name: string) => Promise<Model>) {
    this.name = name;
    this.#open = open;
  }

  /** Rejects as opening does; a failure is not kept, so a later call tries again. */
  ready(): Promise<Model> {
    this.#model ??= this.#open(this.name).catch((error: unknown) => {
      this.#model = undefined;
      throw error;
    });
    return this.#model;
  }

  async *stream(request: ModelRequest, options: { signal: AbortSignal }): AsyncIterable<ModelEvent> {
    const model = await this.ready();
    yield* model.stream(request, options);
  }
}
