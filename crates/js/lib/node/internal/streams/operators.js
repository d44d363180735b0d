// The helper methods of Readable: map, filter, forEach, toArray, some, every, find, reduce, take, drop, flatMap,
// compose. Each works on the async iteration of the stream; `concurrency` runs that many callbacks at a time and
// keeps the order.
import { Readable } from "jackfield:node/internal/streams/readable";
import { compose as composeStreams } from "jackfield:node/internal/streams/compose";
import { isNodeStream } from "jackfield:node/internal/streams/legacy";
import { abortError, invalidArgType, invalidArgValue, needFunction, nodeError, outOfRange } from "jackfield:node/internal/io_errors";

function checkOptions(options) {
  if (options != null && typeof options !== "object") throw invalidArgType("options", "of type object", options);
  if (options?.signal != null && !("aborted" in options.signal)) throw invalidArgType("options.signal", "an instance of AbortSignal", options.signal);
}

function checkSignal(options) {
  if (options?.signal?.aborted) throw abortError(options.signal);
}

async function* mapped(source, fn, options) {
  const concurrency = options?.concurrency ?? 1;
  const ahead = Math.max(concurrency, options?.highWaterMark ?? concurrency);
  const stop = new AbortController();
  const onabort = () => stop.abort(options.signal.reason);
  options?.signal?.addEventListener("abort", onabort, { once: true });
  if (options?.signal?.aborted) onabort();
  const iterator = source[Symbol.asyncIterator]();
  const queue = [];
  let running = 0;
  let ended = false;
  let wake = null;
  const notify = () => {
    wake?.();
    wake = null;
  };
  stop.signal.addEventListener("abort", notify, { once: true });
  const pump = async () => {
    try {
      while (!stop.signal.aborted) {
        if (running >= concurrency || queue.length >= ahead) {
          await new Promise((resolve) => { room = resolve; });
          continue;
        }
        const { value, done } = await iterator.next();
        if (done) break;
        running++;
        const slot = (async () => fn(value, { signal: stop.signal }))();
        slot.then(() => {}, () => {}).finally(() => {
          running--;
          release();
        });
        queue.push(slot);
        notify();
      }
    } catch (error) {
      const slot = Promise.reject(error);
      slot.catch(() => {});
      queue.push(slot);
    } finally {
      ended = true;
      notify();
    }
  };
  let room = null;
  const release = () => {
    room?.();
    room = null;
  };
  const pumping = pump();
  try {
    while (true) {
      while (queue.length > 0) {
        if (stop.signal.aborted && options?.signal?.aborted) throw abortError(options.signal);
        const value = await queue[0];
        queue.shift();
        release();
        yield value;
      }
      if (options?.signal?.aborted) throw abortError(options.signal);
      if (ended) return;
      await new Promise((resolve) => { wake = resolve; });
    }
  } finally {
    ended = true;
    options?.signal?.removeEventListener("abort", onabort);
    stop.abort();
    release();
    await Promise.race([iterator.return?.(), pumping]).catch(() => {});
  }
}

function checkMap(fn, options) {
  needFunction(fn, "fn");
  checkOptions(options);
  const concurrency = options?.concurrency;
  if (concurrency != null) {
    if (typeof concurrency !== "number") throw invalidArgType("options.concurrency", "of type number", concurrency);
    if (!(concurrency >= 1)) throw outOfRange("options.concurrency", ">= 1", concurrency);
  }
}

function map(fn, options) {
  checkMap(fn, options);
  return Readable.from(mapped(this, fn, options));
}

const NOTHING = Symbol("nothing");

function filter(fn, options) {
  checkMap(fn, options);
  const source = this;
  return Readable.from((async function* kept() {
    for await (const value of mapped(source, async (item, extra) => ((await fn(item, extra)) ? { item } : NOTHING), options)) {
      if (value !== NOTHING) yield value.item;
    }
  })());
}

async function forEach(fn, options) {
  checkMap(fn, options);
  for await (const value of mapped(this, fn, options)) void value;
}

function flatMap(fn, options) {
  checkMap(fn, options);
  const source = this;
  return Readable.from((async function* flat() {
    for await (const value of mapped(source, fn, options)) yield* value;
  })());
}

async function toArray(options) {
  checkOptions(options);
  checkSignal(options);
  const onabort = () => this.destroy(abortError(options.signal));
  options?.signal?.addEventListener("abort", onabort, { once: true });
  try {
    const all = [];
    for await (const value of this) {
      checkSignal(options);
      all.push(value);
    }
    return all;
  } finally {
    options?.signal?.removeEventListener("abort", onabort);
  }
}

async function some(fn, options) {
  checkMap(fn, options);
  for await (const found of mapped(this, fn, options)) {
    if (found) return true;
  }
  return false;
}

async function every(fn, options) {
  checkMap(fn, options);
  return !(await some.call(this, async (...args) => !(await fn(...args)), options));
}

async function find(fn, options) {
  checkMap(fn, options);
  for await (const value of mapped(this, async (item, extra) => ((await fn(item, extra)) ? { item } : NOTHING), options)) {
    if (value !== NOTHING) return value.item;
  }
  return undefined;
}

async function reduce(fn, ...rest) {
  needFunction(fn, "reducer");
  const options = rest[1];
  checkOptions(options);
  checkSignal(options);
  let has = rest.length > 0;
  let value = rest[0];
  const signal = options?.signal;
  const onabort = () => this.destroy(abortError(signal));
  signal?.addEventListener("abort", onabort, { once: true });
  try {
    for await (const item of this) {
      checkSignal(options);
      if (has) {
        value = await fn(value, item, { signal: signal ?? new AbortController().signal });
      } else {
        has = true;
        value = item;
      }
    }
  } finally {
    signal?.removeEventListener("abort", onabort);
  }
  if (!has) throw nodeError(TypeError, "ERR_MISSING_ARGS", "Reduce of an empty stream requires an initial value");
  return value;
}

function count(value) {
  const number = Number(value);
  if (Number.isNaN(number)) return 0;
  if (number < 0) throw outOfRange("number", ">= 0", number);
  return number;
}

function take(number, options) {
  checkOptions(options);
  let left = count(number);
  const source = this;
  return Readable.from((async function* first() {
    checkSignal(options);
    if (left <= 0) return;
    for await (const value of source) {
      checkSignal(options);
      if (left-- > 0) yield value;
      if (left <= 0) return;
    }
  })());
}

function drop(number, options) {
  checkOptions(options);
  let left = count(number);
  const source = this;
  return Readable.from((async function* rest() {
    checkSignal(options);
    for await (const value of source) {
      checkSignal(options);
      if (left-- <= 0) yield value;
    }
  })());
}

function asIndexedPairs(options) {
  const source = this;
  return Readable.from((async function* pairs() {
    let index = 0;
    for await (const value of source) {
      checkSignal(options);
      yield [index++, value];
    }
  })());
}

function compose(stream, options) {
  checkOptions(options);
  if (isNodeStream(stream) && !stream.writable) throw invalidArgValue("stream", stream, "must be writable");
  const composed = composeStreams(this, stream);
  options?.signal?.addEventListener("abort", () => composed.destroy(abortError(options.signal)), { once: true });
  return composed;
}

export const operators = { map, filter, forEach, toArray, some, every, find, reduce, take, drop, flatMap, asIndexedPairs, compose };
