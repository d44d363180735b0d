// ReadableStream with its default reader and controller, tee, piping (in pipe.js), async iteration and `from`.
// Byte sources and the BYOB reader are in bytes.js, loaded when one is used. Written after the Streams standard, with
// plain objects for the internal slots; buffers are not detached when they change hands.
import { deferred, quiet, rejectedQuietly, highWaterMark, sizeOf, checkSize, invalidArg, invalidState } from "jackfield:web/streams/shared";
import { Control, cancelStream, closeStream } from "jackfield:web/streams/control";
import { ByteControl, ReadableStreamBYOBReader } from "jackfield:web/streams/bytes";
import { pipe } from "jackfield:web/streams/pipe";
import { isWritable, writableLocked } from "jackfield:web/streams/writable";
import { codedError } from "jackfield:web/bytes";

let core;
const INSIDE = Symbol("inside");

export class ReadableStream {
  #core = { state: "readable", error: undefined, reader: null, disturbed: false, control: null, stream: this };
  constructor(source = {}, strategy = {}) {
    if (source === INSIDE) return;
    if (source === null || typeof source !== "object") throw invalidArg('The "source" argument must be of type object.');
    const type = source.type;
    if (type !== undefined && `${type}` !== "bytes") throw codedError(TypeError, "ERR_INVALID_ARG_VALUE", `The property 'source.type' is invalid. Received ${String(type)}`);
    if (type !== undefined) {
      if (strategy?.size !== undefined) throw codedError(RangeError, "ERR_INVALID_ARG_VALUE", "The argument 'strategy.size' is invalid for a byte stream");
      this.#core.control = new ByteControl(this.#core, source, highWaterMark(strategy, 0));
    } else {
      const size = sizeOf(strategy);
      this.#core.control = new DefaultControl(this.#core, source, highWaterMark(strategy, 1), size);
    }
    this.#core.control.begin(source);
  }
  static from(iterable) {
    const method = iterable?.[Symbol.asyncIterator] ?? iterable?.[Symbol.iterator];
    if (typeof method !== "function") throw codedError(TypeError, "ERR_ARG_NOT_ITERABLE", `${typeof iterable} is not iterable`);
    const iterator = method.call(iterable);
    return new ReadableStream({
      async pull(controller) {
        const step = await iterator.next();
        if (step === null || typeof step !== "object") throw invalidState("The promise returned by the iterator.next() method must fulfill with an object");
        if (step.done) controller.close();
        else controller.enqueue(await step.value);
      },
      async cancel(reason) {
        if (typeof iterator.return !== "function") return;
        const step = await iterator.return(reason);
        if (step === null || typeof step !== "object") throw invalidState("The promise returned by the iterator.return() method must fulfill with an object");
      },
    }, { highWaterMark: 0 });
  }
  get locked() { return this.#core.reader !== null; }
  cancel(reason = undefined) {
    if (!(#core in this)) return Promise.reject(invalidArg('Value of "this" must be of type ReadableStream', "ERR_INVALID_THIS"));
    if (this.locked) return Promise.reject(invalidState("ReadableStream is locked"));
    return cancelStream(this.#core, reason);
  }
  getReader(options = undefined) {
    const mode = options?.mode;
    if (mode === undefined) return new ReadableStreamDefaultReader(this);
    if (`${mode}` !== "byob") throw codedError(TypeError, "ERR_INVALID_ARG_VALUE", `The property 'options.mode' is invalid. Received ${String(mode)}`);
    return new ReadableStreamBYOBReader(this);
  }
  pipeThrough(transform, options = {}) {
    const { readable, writable } = transform ?? {};
    if (!isReadable(readable)) throw invalidArg('The "transform.readable" property must be an instance of ReadableStream.');
    if (!isWritable(writable)) throw invalidArg('The "transform.writable" property must be an instance of WritableStream.');
    if (this.locked) throw invalidState("The ReadableStream is locked");
    if (writableLocked(writable)) throw invalidState("The WritableStream is locked");
    quiet(pipe(this, writable, options));
    return readable;
  }
  pipeTo(destination, options = {}) {
    if (!(#core in this)) return Promise.reject(invalidArg('Value of "this" must be of type ReadableStream', "ERR_INVALID_THIS"));
    if (!isWritable(destination)) return Promise.reject(invalidArg('The "destination" argument must be an instance of WritableStream.'));
    if (this.locked) return Promise.reject(invalidState("The ReadableStream is locked"));
    if (writableLocked(destination)) return Promise.reject(invalidState("The WritableStream is locked"));
    return pipe(this, destination, options);
  }
  tee() {
    if (this.locked) throw invalidState("ReadableStream is locked");
    return tee(this, this.#core.control instanceof DefaultControl ? undefined : "bytes");
  }
  values(options = undefined) { return iterate(this, Boolean(options?.preventCancel)); }
  get [Symbol.toStringTag]() { return "ReadableStream"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    const shown = { locked: this.locked, state: this.#core.state, supportsBYOB: !(this.#core.control instanceof DefaultControl) };
    return typeof inspect === "function" ? `ReadableStream ${inspect(shown, options)}` : "ReadableStream";
  }
  static {
    core = (stream) => (typeof stream === "object" && stream !== null && #core in stream ? stream.#core : undefined);
  }
}
Object.defineProperty(ReadableStream.prototype, Symbol.asyncIterator, { value: ReadableStream.prototype.values, configurable: true, writable: true });

export const isReadable = (value) => core(value) !== undefined;
export const readableCore = (stream) => core(stream);
/** Whether something was read from the stream or it was cancelled. */
export const isDisturbed = (stream) => core(stream)?.disturbed ?? false;

/** The record of a reader on a stream; both kinds of readers have one. */
export function attach(stream, kind) {
  const c = core(stream);
  if (!c) throw invalidArg('The "stream" argument must be an instance of ReadableStream.');
  if (c.reader) throw invalidState("ReadableStream is locked");
  const record = { core: c, kind, requests: [], closed: deferred() };
  c.reader = record;
  if (c.state === "closed") record.closed.resolve();
  if (c.state === "errored") record.closed = rejectedQuietly(c.error);
  return record;
}

export function release(record) {
  const c = record.core;
  if (!c) return;
  const error = invalidState("Reader released");
  if (record.closed.settled) record.closed = rejectedQuietly(error);
  else {
    quiet(record.closed.promise);
    record.closed.reject(error);
  }
  c.control.released?.();
  c.reader = null;
  record.core = null;
  for (const request of record.requests.splice(0)) request.error(error);
}

const unattached = () => invalidState("The reader is not attached to a stream");

/** Reads one chunk into a request: `{ chunk(value), close(), error(reason) }`. */
export function readInto(record, request) {
  const c = record.core;
  c.disturbed = true;
  if (c.state === "closed") request.close();
  else if (c.state === "errored") request.error(c.error);
  else c.control.pullSteps(request);
}

export class ReadableStreamDefaultReader {
  #record;
  constructor(stream) { this.#record = attach(stream, "default"); }
  get closed() { return this.#record.closed.promise; }
  read() {
    const record = this.#record;
    if (!record.core) return Promise.reject(unattached());
    return new Promise((resolve, reject) => {
      readInto(record, { chunk: (value) => resolve({ value, done: false }), close: () => resolve({ value: undefined, done: true }), error: reject });
    });
  }
  cancel(reason = undefined) {
    if (!this.#record.core) return Promise.reject(unattached());
    return cancelStream(this.#record.core, reason);
  }
  releaseLock() { release(this.#record); }
  get [Symbol.toStringTag]() { return "ReadableStreamDefaultReader"; }
}

let wrap;
export class ReadableStreamDefaultController {
  #control;
  constructor(inside) { if (inside !== INSIDE) throw codedError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor"); }
  get desiredSize() { return this.#control.desired(); }
  close() {
    if (!this.#control.open()) throw invalidState("Controller is already closed");
    this.#control.close();
  }
  enqueue(chunk = undefined) {
    if (!this.#control.open()) throw invalidState("Controller is already closed");
    this.#control.enqueue(chunk);
  }
  error(error = undefined) { this.#control.fail(error); }
  get [Symbol.toStringTag]() { return "ReadableStreamDefaultController"; }
  static {
    wrap = (control) => {
      const controller = new ReadableStreamDefaultController(INSIDE);
      controller.#control = control;
      return controller;
    };
  }
}

export class DefaultControl extends Control {
  constructor(c, source, mark, size) {
    super(c, source, mark);
    this.size = size;
    this.api = wrap(this);
  }
  enqueue(chunk) {
    if (this.wanted()) {
      this.core.reader.requests.shift().chunk(chunk);
    } else {
      let size;
      try {
        size = checkSize(this.size(chunk));
      } catch (error) {
        this.fail(error);
        throw error;
      }
      this.queue.push({ chunk, size });
      this.total += size;
    }
    this.callPull();
  }
  close() {
    this.closing = true;
    if (this.queue.length > 0) return;
    this.pullFn = this.cancelFn = undefined;
    closeStream(this.core);
  }
  pullSteps(request) {
    if (this.queue.length === 0) {
      this.core.reader.requests.push(request);
      this.callPull();
      return;
    }
    const { chunk, size } = this.queue.shift();
    this.total = this.queue.length === 0 ? 0 : this.total - size;
    if (this.closing && this.queue.length === 0) this.close();
    else this.callPull();
    request.chunk(chunk);
  }
}

function tee(stream, type) {
  const record = attach(stream, "default");
  const cancelled = deferred();
  const reasons = [undefined, undefined];
  const done = [false, false];
  const controllers = [];
  let reading = false;
  let again = false;
  function pull() {
    if (reading) {
      again = true;
      return Promise.resolve();
    }
    reading = true;
    readInto(record, {
      chunk(value) {
        // In a microtask, so that an error of the stream comes to both branches in order.
        queueMicrotask(() => {
          again = false;
          const second = type === "bytes" && !done[0] && !done[1] ? value.slice() : value;
          if (!done[0]) controllers[0].enqueue(value);
          if (!done[1]) controllers[1].enqueue(second);
          reading = false;
          if (again) pull();
        });
      },
      close() {
        reading = false;
        for (const i of [0, 1]) {
          if (done[i]) continue;
          controllers[i].close();
          controllers[i].byobRequest?.respond(0);
        }
        if (!done[0] || !done[1]) cancelled.resolve();
      },
      error() { reading = false; },
    });
    return Promise.resolve();
  }
  const branch = (i) => new ReadableStream({
    type,
    start(controller) { controllers[i] = controller; },
    pull,
    cancel(reason) {
      done[i] = true;
      reasons[i] = reason;
      if (done[1 - i]) cancelled.resolve(cancelStream(record.core, reasons));
      return cancelled.promise;
    },
  }, { highWaterMark: type === "bytes" ? 0 : 1 });
  const branches = [branch(0), branch(1)];
  record.closed.promise.catch((error) => {
    for (const controller of controllers) controller.error(error);
    if (!done[0] || !done[1]) cancelled.resolve();
  });
  return branches;
}

const AsyncIteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);
function iterate(stream, preventCancel) {
  const reader = new ReadableStreamDefaultReader(stream);
  let last = Promise.resolve();
  let finished = false;
  // Steps are taken one after the other, also when `next` is called again before the last one is done.
  const then = (step) => (last = last.then(step, step));
  return Object.setPrototypeOf({
    next() {
      return then(async () => {
        if (finished) return { value: undefined, done: true };
        try {
          const result = await reader.read();
          if (result.done) {
            finished = true;
            reader.releaseLock();
          }
          return result;
        } catch (error) {
          finished = true;
          reader.releaseLock();
          throw error;
        }
      });
    },
    return(value) {
      return then(async () => {
        if (finished) return { value, done: true };
        finished = true;
        if (preventCancel) {
          reader.releaseLock();
        } else {
          const cancelled = reader.cancel(value);
          reader.releaseLock();
          await cancelled;
        }
        return { value, done: true };
      });
    },
  }, AsyncIteratorPrototype);
}
