// The parts of node:events that few need: `on`, the endless asynchronous iterator over an event, and
// EventEmitterAsyncResource.
import { AsyncResource } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { AbortError, invalidArgType, validateAbortSignal, validateInteger } from "jackfield:node/internal/errors";

const AsyncIteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);

export function on(emitter, event, options = {}) {
  const signal = options.signal;
  validateAbortSignal(signal, "options.signal");
  if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
  const high = options.highWaterMark ?? options.highWatermark ?? Number.MAX_SAFE_INTEGER;
  const low = options.lowWaterMark ?? options.lowWatermark ?? 1;
  validateInteger(high, "options.highWaterMark", 1);
  validateInteger(low, "options.lowWaterMark", 1);
  const isTarget = typeof emitter?.on !== "function" && typeof emitter?.addEventListener === "function";
  if (!isTarget && typeof emitter?.on !== "function") throw invalidArgType("emitter", "EventEmitter", emitter);

  const ready = [];
  const waiting = [];
  const attached = [];
  let failure = null;
  let finished = false;
  let paused = false;

  const listen = (name, listener) => {
    if (isTarget) emitter.addEventListener(name, listener);
    else emitter.on(name, listener);
    attached.push([name, listener]);
  };
  const push = (value) => {
    if (waiting.length > 0) {
      waiting.shift().resolve({ value, done: false });
      return;
    }
    ready.push(value);
    if (!paused && ready.length > high && emitter.pause) {
      paused = true;
      emitter.pause();
    }
  };
  const fail = (error) => {
    if (waiting.length > 0) waiting.shift().reject(error);
    else failure = { error };
    iterator.return();
  };
  const abort = () => fail(new AbortError(undefined, { cause: signal.reason }));

  const iterator = Object.setPrototypeOf({
    next() {
      if (ready.length > 0) {
        const value = ready.shift();
        if (paused && ready.length < low) {
          paused = false;
          emitter.resume();
        }
        return Promise.resolve({ value, done: false });
      }
      if (failure !== null) {
        const { error } = failure;
        failure = null;
        return Promise.reject(error);
      }
      if (finished) return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return() {
      signal?.removeEventListener("abort", abort);
      for (const [name, listener] of attached.splice(0)) {
        if (isTarget) emitter.removeEventListener(name, listener);
        else emitter.removeListener(name, listener);
      }
      finished = true;
      for (const { resolve } of waiting.splice(0)) resolve({ value: undefined, done: true });
      return Promise.resolve({ value: undefined, done: true });
    },
    throw(error) {
      if (!(error instanceof Error)) throw invalidArgType("EventEmitter.AsyncIterator", "Error", error);
      fail(error);
    },
    [Symbol.asyncIterator]() { return this; },
  }, AsyncIteratorPrototype);

  listen(event, isTarget ? (value) => push([value]) : (...args) => push(args));
  if (event !== "error" && !isTarget) listen("error", fail);
  for (const name of options.close ?? []) listen(name, () => iterator.return());
  signal?.addEventListener("abort", abort, { once: true });
  return iterator;
}

export class EventEmitterAsyncResource extends EventEmitter {
  #resource;
  constructor(options = undefined) {
    const name = typeof options === "string" ? options : options?.name ?? new.target.name;
    super(typeof options === "string" ? undefined : options);
    this.#resource = new AsyncResource(name, typeof options === "string" ? undefined : options);
  }
  emit(event, ...args) {
    return this.#resource.runInAsyncScope(super.emit, this, event, ...args);
  }
  emitDestroy() { this.#resource.emitDestroy(); }
  get asyncId() { return this.#resource.asyncId(); }
  get triggerAsyncId() { return this.#resource.triggerAsyncId(); }
  get asyncResource() { return this.#resource; }
}
