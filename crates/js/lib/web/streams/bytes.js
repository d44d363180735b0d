// Byte streams: the controller for `type: "bytes"`, the BYOB request and the BYOB reader. Buffers are written to and
// handed on without being detached, which a program cannot tell apart unless it looks at a buffer it gave away.
import { attach, release } from "jackfield:web/streams/readable";
import { Control, cancelStream, closeStream } from "jackfield:web/streams/control";
import { invalidArg, invalidState } from "jackfield:web/streams/shared";
import { codedError, viewBytes } from "jackfield:web/bytes";

let wrap;
let wrapRequest;
const illegal = () => codedError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor");
const INSIDE = Symbol("inside");

export class ReadableByteStreamController {
  #control;
  constructor(inside) { if (inside !== INSIDE) throw illegal(); }
  get byobRequest() { return this.#control.request(); }
  get desiredSize() { return this.#control.desired(); }
  close() {
    if (!this.#control.open()) throw invalidState("Controller is already closed");
    this.#control.close();
  }
  enqueue(chunk) {
    const bytes = ArrayBuffer.isView(chunk) ? viewBytes(chunk) : undefined;
    if (!bytes) throw invalidArg('The "chunk" argument must be an instance of Buffer, TypedArray or DataView.');
    if (bytes.byteLength === 0) throw invalidState("chunk ArrayBuffer is zero-length or detached");
    if (!this.#control.open()) throw invalidState("Controller is already closed");
    this.#control.enqueue(bytes);
  }
  error(error = undefined) { this.#control.fail(error); }
  get [Symbol.toStringTag]() { return "ReadableByteStreamController"; }
  static {
    wrap = (control) => {
      const controller = new ReadableByteStreamController(INSIDE);
      controller.#control = control;
      return controller;
    };
  }
}

export class ReadableStreamBYOBRequest {
  #control = null;
  #view = null;
  constructor(inside) { if (inside !== INSIDE) throw illegal(); }
  get view() { return this.#view; }
  respond(count) {
    if (!this.#control) throw invalidState("This BYOB request has been invalidated");
    this.#control.respond(Number(count));
  }
  respondWithNewView(view) {
    if (!this.#control) throw invalidState("This BYOB request has been invalidated");
    const bytes = ArrayBuffer.isView(view) ? viewBytes(view) : undefined;
    if (!bytes) throw invalidArg('The "view" argument must be an instance of Buffer, TypedArray or DataView.');
    this.#control.respondView(bytes);
  }
  get [Symbol.toStringTag]() { return "ReadableStreamBYOBRequest"; }
  static {
    wrapRequest = {
      make(control, view) {
        const request = new ReadableStreamBYOBRequest(INSIDE);
        request.#control = control;
        request.#view = view;
        return request;
      },
      end(request) {
        request.#control = null;
        request.#view = null;
      },
    };
  }
}

export class ByteControl extends Control {
  pending = []; // reads that wait with a buffer of their own
  asked = null; // the BYOB request that the source holds
  constructor(c, source, mark) {
    super(c, source, mark);
    const size = source.autoAllocateChunkSize;
    if (size !== undefined && !(Number(size) > 0)) throw invalidArg("The property 'source.autoAllocateChunkSize' is invalid", "ERR_INVALID_ARG_VALUE");
    this.allocate = size === undefined ? 0 : Math.trunc(Number(size));
    this.api = wrap(this);
  }
  request() {
    if (!this.asked && this.pending.length > 0) {
      const { bytes, filled } = this.pending[0];
      this.asked = wrapRequest.make(this, bytes.subarray(filled));
    }
    return this.asked;
  }
  forget() {
    if (this.asked) wrapRequest.end(this.asked);
    this.asked = null;
  }
  enqueue(bytes) {
    this.forget();
    const { reader } = this.core;
    if (reader?.kind === "default" && reader.requests.length > 0) {
      if (this.pending[0]?.auto) this.pending.shift();
      reader.requests.shift().chunk(bytes);
    } else {
      this.queue.push(bytes);
      this.total += bytes.byteLength;
      if (reader?.kind === "byob") this.serve();
    }
    this.callPull();
  }
  close() {
    if (this.total > 0) {
      this.closing = true;
      return;
    }
    const first = this.pending[0];
    if (first && first.filled % first.unit !== 0) {
      const error = invalidArg("Partial read", "ERR_INVALID_STATE");
      this.fail(error);
      throw error;
    }
    this.pullFn = this.cancelFn = undefined;
    closeStream(this.core);
  }
  fail(error) {
    this.pending = [];
    this.forget();
    super.fail(error);
  }
  cancel(reason) {
    this.pending = [];
    this.forget();
    return super.cancel(reason);
  }
  released() {
    for (const entry of this.pending) entry.auto = true;
    this.pending.length = 0;
    this.forget();
  }
  take() {
    const bytes = this.queue.shift();
    this.total -= bytes.byteLength;
    return bytes;
  }
  drained() {
    if (this.total === 0 && this.closing) {
      this.pullFn = this.cancelFn = undefined;
      closeStream(this.core);
    } else {
      this.callPull();
    }
  }
  pullSteps(request) {
    if (this.total > 0) {
      const bytes = this.take();
      this.drained();
      request.chunk(bytes);
      return;
    }
    if (this.allocate > 0) {
      this.pending.push({ auto: true, bytes: new Uint8Array(this.allocate), filled: 0, unit: 1, min: 1 });
    }
    this.core.reader.requests.push(request);
    this.callPull();
  }
  /** A read that brought its own view. */
  pullInto(view, min, request) {
    const unit = view.BYTES_PER_ELEMENT ?? 1;
    const make = (filled) => (view instanceof DataView ? new DataView(view.buffer, view.byteOffset, filled) : new view.constructor(view.buffer, view.byteOffset, filled / unit));
    const entry = { auto: false, bytes: viewBytes(view), filled: 0, unit, min: min * unit, make };
    if (this.core.state === "closed") {
      request.close(make(0));
      return;
    }
    if (this.pending.length === 0 && this.total > 0 && this.fill(entry)) {
      this.drained();
      request.chunk(this.whole(entry));
      return;
    }
    if (this.closing && this.total === 0) {
      const error = invalidState("Insufficient bytes to fill elements in the given buffer");
      this.fail(error);
      request.error(error);
      return;
    }
    this.pending.push(entry);
    this.core.reader.requests.push(request);
    this.callPull();
  }
  /** Copies what is queued into a waiting view; true when the read can be answered. */
  fill(entry) {
    while (this.total > 0 && entry.filled < entry.bytes.byteLength) {
      const room = entry.bytes.byteLength - entry.filled;
      const bytes = this.take();
      const used = Math.min(room, bytes.byteLength);
      entry.bytes.set(bytes.subarray(0, used), entry.filled);
      entry.filled += used;
      if (used < bytes.byteLength) {
        this.queue.unshift(bytes.subarray(used));
        this.total += bytes.byteLength - used;
      }
    }
    return entry.filled >= entry.min;
  }
  /** The view over the full elements; bytes of an element that is not complete go back to the queue. */
  whole(entry) {
    const rest = entry.filled % entry.unit;
    if (rest > 0) {
      const back = entry.bytes.slice(entry.filled - rest, entry.filled);
      this.queue.unshift(back);
      this.total += rest;
    }
    return entry.make(entry.filled - rest);
  }
  serve() {
    while (this.pending.length > 0 && this.total > 0) {
      if (!this.fill(this.pending[0])) return;
      const entry = this.pending.shift();
      this.core.reader.requests.shift().chunk(this.whole(entry));
      if (this.total === 0 && this.closing) this.drained();
    }
  }
  respond(count) {
    const first = this.pending[0];
    if (this.core.state === "closed") {
      if (count !== 0) throw invalidArg("bytesWritten is not 0", "ERR_INVALID_ARG_VALUE");
      this.forget();
      for (const entry of this.pending.splice(0)) if (!entry.auto) this.core.reader?.requests.shift()?.close(entry.make(0));
      return;
    }
    if (!(count > 0)) throw invalidState("bytesWritten is 0");
    if (first.filled + count > first.bytes.byteLength) throw codedError(RangeError, "ERR_INVALID_ARG_VALUE", "bytesWritten is larger than the view");
    this.forget();
    first.filled += count;
    if (first.auto) {
      this.pending.shift();
      this.core.reader.requests.shift().chunk(first.bytes.subarray(0, first.filled));
    } else if (first.filled >= first.min) {
      this.pending.shift();
      this.core.reader.requests.shift().chunk(this.whole(first));
      this.serve();
    }
    this.callPull();
  }
  respondView(bytes) {
    const first = this.pending[0];
    if (this.core.state === "readable") {
      if (bytes.byteLength > first.bytes.byteLength - first.filled) throw codedError(RangeError, "ERR_INVALID_ARG_VALUE", "view is too long");
      if (bytes.buffer !== first.bytes.buffer) first.bytes.set(bytes, first.filled);
    }
    this.respond(bytes.byteLength);
  }
}

export class ReadableStreamBYOBReader {
  #record;
  constructor(stream) {
    const record = attach(stream, "byob");
    if (!(record.core.control instanceof ByteControl)) {
      release(record);
      throw invalidArg("Cannot use a BYOB reader with a non-byte stream", "ERR_INVALID_ARG_VALUE");
    }
    this.#record = record;
  }
  get closed() { return this.#record.closed.promise; }
  read(view, options = undefined) {
    if (!ArrayBuffer.isView(view)) return Promise.reject(invalidArg('The "view" argument must be an instance of Buffer, TypedArray or DataView.'));
    if (view.byteLength === 0) return Promise.reject(invalidState("View or ArrayBuffer is zero-length or detached"));
    const min = options?.min === undefined ? 1 : Math.trunc(Number(options.min));
    if (!(min > 0) || min > (view.length ?? view.byteLength)) {
      return Promise.reject(codedError(min > 0 ? RangeError : TypeError, "ERR_INVALID_ARG_VALUE", "options.min must be > 0 and not larger than the view"));
    }
    const record = this.#record;
    if (!record.core) return Promise.reject(invalidState("The reader is not attached to a stream"));
    return new Promise((resolve, reject) => {
      const c = record.core;
      c.disturbed = true;
      const request = { chunk: (value) => resolve({ value, done: false }), close: (value) => resolve({ value, done: true }), error: reject };
      if (c.state === "errored") reject(c.error);
      else c.control.pullInto(view, min, request);
    });
  }
  cancel(reason = undefined) {
    if (!this.#record.core) return Promise.reject(invalidState("The reader is not attached to a stream"));
    return cancelStream(this.#record.core, reason);
  }
  releaseLock() { release(this.#record); }
  get [Symbol.toStringTag]() { return "ReadableStreamBYOBReader"; }
}
