// TransformStream: a writable side whose chunks a transformer turns into chunks of the readable side, with
// backpressure from the one to the other, after the Streams standard.
import { ReadableStream, readableCore } from "jackfield:web/streams/readable";
import { WritableStream, writableCore } from "jackfield:web/streams/writable";
import { deferred, algorithm, highWaterMark, sizeOf, invalidArg, invalidState } from "jackfield:web/streams/shared";
import { codedError } from "jackfield:web/bytes";

let wrap;
const INSIDE = Symbol("inside");

export class TransformStream {
  #readable; #writable;
  constructor(transformer = {}, writableStrategy = {}, readableStrategy = {}) {
    if (transformer === null || typeof transformer !== "object") throw invalidArg('The "transformer" argument must be of type object.');
    for (const side of ["readableType", "writableType"]) {
      if (transformer[side] !== undefined) throw codedError(RangeError, "ERR_INVALID_ARG_VALUE", `The property 'transformer.${side}' is invalid.`);
    }
    const t = {
      transform: algorithm(transformer, "transform", "transformer"),
      flush: algorithm(transformer, "flush", "transformer"),
      cancel: algorithm(transformer, "cancel", "transformer"),
      backpressure: undefined, changed: null, finished: null, readable: null, writable: null, source: null,
    };
    const started = deferred();
    setBackpressure(t, true);
    this.#writable = new WritableStream({
      start: () => started.promise,
      write: (chunk) => write(t, chunk),
      close: () => close(t),
      abort: (reason) => abort(t, reason),
    }, { highWaterMark: highWaterMark(writableStrategy, 1), size: sizeOf(writableStrategy) });
    this.#readable = new ReadableStream({
      start(controller) {
        t.source = controller;
        return started.promise;
      },
      pull() {
        setBackpressure(t, false);
        return t.changed.promise;
      },
      cancel: (reason) => cancel(t, reason),
    }, { highWaterMark: highWaterMark(readableStrategy, 0), size: sizeOf(readableStrategy) });
    t.readable = readableCore(this.#readable);
    t.writable = writableCore(this.#writable);
    t.api = wrap(t);
    const { start } = transformer;
    if (start !== undefined && typeof start !== "function") throw invalidArg("transformer.start must be a function");
    started.resolve(start === undefined ? undefined : start.call(transformer, t.api));
  }
  get readable() { return this.#readable; }
  get writable() { return this.#writable; }
  get [Symbol.toStringTag]() { return "TransformStream"; }
}

export class TransformStreamDefaultController {
  #t;
  constructor(inside) { if (inside !== INSIDE) throw codedError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor"); }
  get desiredSize() { return this.#t.readable.control.desired(); }
  enqueue(chunk = undefined) { enqueue(this.#t, chunk); }
  error(reason = undefined) { fail(this.#t, reason); }
  terminate() {
    const t = this.#t;
    if (t.readable.control.open()) t.readable.control.close();
    failWritable(t, invalidState("TransformStream terminated"));
  }
  get [Symbol.toStringTag]() { return "TransformStreamDefaultController"; }
  static {
    wrap = (t) => {
      const controller = new TransformStreamDefaultController(INSIDE);
      controller.#t = t;
      return controller;
    };
  }
}

function setBackpressure(t, value) {
  t.changed?.resolve();
  t.changed = deferred();
  t.backpressure = value;
}

function enqueue(t, chunk) {
  const { control } = t.readable;
  if (!control.open()) throw invalidState("Unable to enqueue");
  try {
    control.enqueue(chunk);
  } catch (error) {
    failWritable(t, error);
    throw t.readable.error;
  }
  const pressed = !control.wanted() && control.desired() <= 0;
  if (pressed !== t.backpressure) setBackpressure(t, true);
}

function fail(t, error) {
  t.readable.control.fail(error);
  failWritable(t, error);
}

function failWritable(t, error) {
  forget(t);
  t.writable.errorIfNeeded(error);
  if (t.backpressure) setBackpressure(t, false);
}

function forget(t) { t.transform = t.flush = t.cancel = undefined; t.over = true; }

async function perform(t, chunk) {
  try {
    if (t.transform) await t.transform(chunk, t.api);
    else if (!t.over) enqueue(t, chunk);
  } catch (error) {
    fail(t, error);
    throw error;
  }
}

async function write(t, chunk) {
  if (t.backpressure) {
    await t.changed.promise;
    if (t.writable.state === "erroring") throw t.writable.error;
  }
  return perform(t, chunk);
}

function close(t) {
  if (t.finished) return t.finished.promise;
  t.finished = deferred();
  const { flush } = t;
  const done = flush ? flush(t.api) : Promise.resolve();
  forget(t);
  done.then(() => {
    if (t.readable.state === "errored") {
      t.finished.reject(t.readable.error);
      return;
    }
    if (t.readable.control.open()) t.readable.control.close();
    t.finished.resolve();
  }, (error) => {
    t.readable.control.fail(error);
    t.finished.reject(error);
  });
  return t.finished.promise;
}

function ending(t, reason, finish) {
  if (t.finished) return t.finished.promise;
  t.finished = deferred();
  const run = t.cancel;
  const done = run ? run(reason) : Promise.resolve();
  forget(t);
  done.then(() => finish(), (error) => {
    t.readable.control.fail(error);
    t.writable.errorIfNeeded(error);
    if (t.backpressure) setBackpressure(t, false);
    t.finished.reject(error);
  });
  return t.finished.promise;
}

function abort(t, reason) {
  return ending(t, reason, () => {
    if (t.readable.state === "errored") {
      t.finished.reject(t.readable.error);
      return;
    }
    t.readable.control.fail(reason);
    t.finished.resolve();
  });
}

function cancel(t, reason) {
  return ending(t, reason, () => {
    if (t.writable.state === "errored") {
      t.finished.reject(t.writable.error);
      return;
    }
    t.writable.errorIfNeeded(reason);
    if (t.backpressure) setBackpressure(t, false);
    t.finished.resolve();
  });
}

