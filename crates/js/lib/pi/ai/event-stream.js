// Streams of events with a result at their end: pushed on one side, iterated
// and awaited on the other.

/** A stream that ends with the event for which `isComplete` holds. */
export class EventStream {
  constructor(isComplete, extractResult) {
    this.isComplete = isComplete;
    this.extractResult = extractResult;
    this.queue = [];
    this.waiting = [];
    this.done = false;
    this.finalResultPromise = new Promise((resolve) => { this.resolveFinalResult = resolve; });
  }

  push(event) {
    if (this.done) return;
    if (this.isComplete(event)) {
      this.done = true;
      this.resolveFinalResult(this.extractResult(event));
    }
    const waiter = this.waiting.shift();
    if (waiter) waiter({ value: event, done: false });
    else this.queue.push(event);
  }

  end(result) {
    this.done = true;
    if (result !== undefined) this.resolveFinalResult(result);
    while (this.waiting.length > 0) this.waiting.shift()({ value: undefined, done: true });
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      if (this.queue.length > 0) yield this.queue.shift();
      else if (this.done) return;
      else {
        const next = await new Promise((resolve) => this.waiting.push(resolve));
        if (next.done) return;
        yield next.value;
      }
    }
  }

  result() {
    return this.finalResultPromise;
  }
}

/** The events of one answer of a model; the message says how long it took. */
export class AssistantMessageEventStream extends EventStream {
  constructor() {
    super(
      (event) => event.type === "done" || event.type === "error",
      (event) => {
        if (event.type === "done") return event.message;
        if (event.type === "error") return event.error;
        throw new Error(`unexpected last event ${event.type}`);
      },
    );
    this.startedAt = Date.now();
  }

  push(event) {
    const message = event.type === "done" ? event.message : event.type === "error" ? event.error : undefined;
    if (!this.done && typeof message === "object" && message !== null) message.durationMs ??= Date.now() - this.startedAt;
    super.push(event);
  }

  end(result) {
    super.end(result);
  }
}

/** A new stream of assistant events. */
export function createAssistantMessageEventStream() {
  return new AssistantMessageEventStream();
}

/** A stream that is there at once and is filled by one that has to be set up first. */
export function lazyStream(model, _options, start) {
  const stream = new AssistantMessageEventStream();
  (async () => {
    const inner = await start();
    for await (const event of inner) stream.push(event);
    stream.end();
  })().catch((error) => {
    const message = {
      role: "assistant", content: [], api: model?.api, provider: model?.provider, model: model?.id,
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
      stopReason: "error", errorMessage: error?.message ?? String(error), timestamp: Date.now(),
    };
    stream.push({ type: "error", reason: "error", error: message });
    stream.end();
  });
  return stream;
}
