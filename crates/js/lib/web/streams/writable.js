// WritableStream, its writer and controller, after the Streams standard: one write or close at a time, backpressure
// through `ready`, and an error that lets what runs finish before everything that waits is rejected.
import { deferred, quiet, rejectedQuietly, algorithm, highWaterMark, sizeOf, checkSize, invalidArg, invalidState } from "jackfield:web/streams/shared";
import { AbortController } from "jackfield:web/abort";
import { codedError } from "jackfield:web/bytes";

let core;
let wrap;
const INSIDE = Symbol("inside");
const CLOSE = Symbol("close");

export class WritableStream {
  #core;
  constructor(sink = {}, strategy = {}) {
    if (sink === null || typeof sink !== "object") throw invalidArg('The "sink" argument must be of type object.');
    if (sink.type !== undefined) throw codedError(RangeError, "ERR_INVALID_ARG_VALUE", `The property 'sink.type' is invalid. Received ${String(sink.type)}`);
    const size = sizeOf(strategy);
    this.#core = new Core(sink, highWaterMark(strategy, 1), size);
    this.#core.begin(sink);
  }
  get locked() { return this.#core.writer !== null; }
  abort(reason = undefined) {
    if (this.locked) return Promise.reject(invalidState("WritableStream is locked"));
    return this.#core.abort(reason);
  }
  close() {
    if (this.locked) return Promise.reject(invalidState("WritableStream is locked"));
    if (this.#core.closeQueued()) return Promise.reject(invalidState("Failure closing WritableStream"));
    return this.#core.close();
  }
  getWriter() { return new WritableStreamDefaultWriter(this); }
  get [Symbol.toStringTag]() { return "WritableStream"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    const shown = { locked: this.locked, state: this.#core.state };
    return typeof inspect === "function" ? `WritableStream ${inspect(shown, options)}` : "WritableStream";
  }
  static {
    core = (stream) => (typeof stream === "object" && stream !== null && #core in stream ? stream.#core : undefined);
  }
}

export const isWritable = (value) => core(value) !== undefined;
export const writableLocked = (stream) => core(stream).writer !== null;
export const writableCore = (stream) => core(stream);

class Core {
  state = "writable"; error = undefined; writer = null; backpressure = false; started = false;
  queue = []; total = 0;
  requests = []; // deferreds of writes, in order
  writing = null; // the deferred of the write that runs
  closing = null; // the deferred of a close that waits
  closingNow = null; // the deferred of the close that runs
  aborting = null; // { done, reason, wasErroring }
  #aborter = null;
  constructor(sink, mark, size) {
    this.mark = mark;
    this.size = size;
    this.writeFn = algorithm(sink, "write", "sink");
    this.closeFn = algorithm(sink, "close", "sink");
    this.abortFn = algorithm(sink, "abort", "sink");
    this.api = wrap(this);
  }
  get signal() { return (this.#aborter ??= new AbortController()).signal; }
  begin(sink) {
    const { start } = sink;
    if (start !== undefined && typeof start !== "function") throw invalidArg("sink.start must be a function");
    this.setBackpressure();
    const started = start === undefined ? undefined : start.call(sink, this.api);
    Promise.resolve(started).then(() => {
      this.started = true;
      this.advance();
    }, (error) => {
      this.started = true;
      this.dealWith(error);
    });
  }
  closeQueued() { return this.closing !== null || this.closingNow !== null; }
  desired() { return this.mark - this.total; }
  setBackpressure() {
    const now = this.desired() <= 0;
    if (this.writer && now !== this.backpressure) {
      if (now) this.writer.ready = deferred();
      else this.writer.ready.resolve();
    }
    this.backpressure = now;
  }
  abort(reason) {
    if (this.state === "closed" || this.state === "errored") return Promise.resolve();
    this.signal;
    this.#aborter.abort(reason);
    if (this.state === "closed" || this.state === "errored") return Promise.resolve();
    if (this.aborting) return this.aborting.done.promise;
    const wasErroring = this.state === "erroring";
    this.aborting = { done: deferred(), reason: wasErroring ? undefined : reason, wasErroring };
    const { promise } = this.aborting.done;
    if (!wasErroring) this.startErroring(reason);
    return promise;
  }
  close() {
    if (this.state === "closed" || this.state === "errored") return Promise.reject(invalidState("WritableStream is closed"));
    this.closing = deferred();
    const { promise } = this.closing;
    if (this.writer && this.backpressure && this.state === "writable") this.writer.ready.resolve();
    this.queue.push({ chunk: CLOSE, size: 0 });
    this.advance();
    return promise;
  }
  write(chunk) {
    let size = 1;
    try {
      size = this.size(chunk);
    } catch (error) {
      this.errorIfNeeded(error);
    }
    if (this.state === "errored") return Promise.reject(this.error);
    if (this.closeQueued() || this.state === "closed") return Promise.reject(invalidState("WritableStream is closed"));
    if (this.state === "erroring") return Promise.reject(this.error);
    const request = deferred();
    this.requests.push(request);
    try {
      size = checkSize(size);
      this.queue.push({ chunk, size });
      this.total += size;
    } catch (error) {
      this.errorIfNeeded(error);
      return request.promise;
    }
    if (!this.closeQueued() && this.state === "writable") this.setBackpressure();
    this.advance();
    return request.promise;
  }
  errorIfNeeded(error) { if (this.state === "writable") this.startErroring(error); }
  dealWith(error) {
    if (this.state === "writable") this.startErroring(error);
    else this.finishErroring();
  }
  startErroring(reason) {
    this.state = "erroring";
    this.error = reason;
    if (this.writer) rejectReady(this.writer, reason);
    if (!this.writing && !this.closingNow && this.started) this.finishErroring();
  }
  finishErroring() {
    if (this.state !== "erroring" || this.writing || this.closingNow) return;
    this.state = "errored";
    this.queue = [];
    this.total = 0;
    for (const request of this.requests.splice(0)) request.reject(this.error);
    const { aborting } = this;
    this.aborting = null;
    if (!aborting) {
      this.rejectClose();
    } else if (aborting.wasErroring) {
      aborting.done.reject(this.error);
      this.rejectClose();
    } else {
      const abort = this.abortFn;
      this.forget();
      (abort ? abort(aborting.reason) : Promise.resolve()).then(() => {
        aborting.done.resolve();
        this.rejectClose();
      }, (error) => {
        aborting.done.reject(error);
        this.rejectClose();
      });
    }
  }
  forget() { this.writeFn = this.closeFn = this.abortFn = undefined; }
  rejectClose() {
    if (this.closing) {
      this.closing.reject(this.error);
      this.closing = null;
    }
    if (this.writer) {
      quiet(this.writer.closed.promise);
      this.writer.closed.reject(this.error);
    }
  }
  advance() {
    if (!this.started || this.writing || this.closingNow) return;
    if (this.state === "erroring") {
      this.finishErroring();
      return;
    }
    if (this.state !== "writable" || this.queue.length === 0) return;
    const { chunk } = this.queue[0];
    if (chunk === CLOSE) this.runClose();
    else this.runWrite(chunk);
  }
  runWrite(chunk) {
    this.writing = this.requests.shift();
    (this.writeFn ? this.writeFn(chunk, this.api) : Promise.resolve()).then(() => {
      this.writing.resolve();
      this.writing = null;
      const { size } = this.queue.shift() ?? { size: 0 };
      this.total = this.queue.length === 0 ? 0 : this.total - size;
      if (!this.closeQueued() && this.state === "writable") this.setBackpressure();
      this.advance();
    }, (error) => {
      if (this.state === "writable") this.forget();
      this.writing.reject(error);
      this.writing = null;
      this.dealWith(error);
    });
  }
  runClose() {
    this.closingNow = this.closing;
    this.closing = null;
    this.queue.shift();
    const close = this.closeFn;
    this.forget();
    (close ? close() : Promise.resolve()).then(() => {
      this.closingNow.resolve();
      this.closingNow = null;
      if (this.state === "erroring") {
        this.error = undefined;
        this.aborting?.done.resolve();
        this.aborting = null;
      }
      this.state = "closed";
      this.writer?.closed.resolve();
    }, (error) => {
      this.closingNow.reject(error);
      this.closingNow = null;
      this.aborting?.done.reject(error);
      this.aborting = null;
      this.dealWith(error);
    });
  }
}

function rejectReady(writer, error) {
  if (writer.ready.settled) {
    writer.ready = rejectedQuietly(error);
  } else {
    quiet(writer.ready.promise);
    writer.ready.reject(error);
  }
}

export class WritableStreamDefaultController {
  #core;
  constructor(inside) { if (inside !== INSIDE) throw codedError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor"); }
  get signal() { return this.#core.signal; }
  error(error = undefined) {
    if (this.#core.state !== "writable") return;
    this.#core.forget();
    this.#core.startErroring(error);
  }
  get [Symbol.toStringTag]() { return "WritableStreamDefaultController"; }
  static {
    wrap = (owner) => {
      const controller = new WritableStreamDefaultController(INSIDE);
      controller.#core = owner;
      return controller;
    };
  }
}

const released = () => invalidState("Writer is not bound to a WritableStream");

export class WritableStreamDefaultWriter {
  #core;
  #own = { ready: deferred(), closed: deferred() };
  constructor(stream) {
    const c = core(stream);
    if (!c) throw invalidArg('The "stream" argument must be an instance of WritableStream.');
    if (c.writer) throw invalidState("WritableStream is locked");
    this.#core = c;
    c.writer = this.#own;
    const own = this.#own;
    if (c.state === "writable") {
      if (c.closeQueued() || !c.backpressure) own.ready.resolve();
    } else if (c.state === "erroring") {
      own.ready = rejectedQuietly(c.error);
    } else if (c.state === "closed") {
      own.ready.resolve();
      own.closed.resolve();
    } else {
      own.ready = rejectedQuietly(c.error);
      own.closed = rejectedQuietly(c.error);
    }
  }
  get closed() { return this.#own.closed.promise; }
  get ready() { return this.#own.ready.promise; }
  get desiredSize() {
    const c = this.#core;
    if (!c) throw released();
    return c.state === "errored" || c.state === "erroring" ? null : c.state === "closed" ? 0 : c.desired();
  }
  abort(reason = undefined) { return this.#core ? this.#core.abort(reason) : Promise.reject(released()); }
  close() {
    if (!this.#core) return Promise.reject(released());
    if (this.#core.closeQueued()) return Promise.reject(invalidState("Failure to close WritableStream"));
    return this.#core.close();
  }
  write(chunk = undefined) { return this.#core ? this.#core.write(chunk) : Promise.reject(released()); }
  releaseLock() {
    if (!this.#core) return;
    const error = released();
    rejectReady(this.#own, error);
    if (this.#own.closed.settled) {
      this.#own.closed = rejectedQuietly(error);
    } else {
      quiet(this.#own.closed.promise);
      this.#own.closed.reject(error);
    }
    this.#core.writer = null;
    this.#core = null;
  }
  get [Symbol.toStringTag]() { return "WritableStreamDefaultWriter"; }
}
