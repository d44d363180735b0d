// Duplex (both sides), Transform (what is written comes out changed), PassThrough, and `Duplex.from`.
import { nextTick } from "node:process";
import {
  Stream, bothErrors, errors, isDestroyed, isIterable, isNodeStream, isReadableNode, isWebPair, isWebReadable, isWebWritable, isWritableNode,
} from "jackfield:node/internal/streams/legacy";
import { Readable } from "jackfield:node/internal/streams/readable";
import { Writable } from "jackfield:node/internal/streams/writable";
import { destroyer } from "jackfield:node/internal/streams/destroy";
import { addAbortSignalTo } from "jackfield:node/internal/streams/abort";
import { finished } from "jackfield:node/internal/streams/eos";
import { duplexFromWeb, duplexToWeb, readableFromWeb, writableFromWeb } from "jackfield:node/internal/streams/web";
import { invalidArgType } from "jackfield:node/internal/io_errors";

export function Duplex(options) {
  if (!(this instanceof Duplex)) return new Duplex(options);
  this.allowHalfOpen = options?.allowHalfOpen !== false;
  Stream.call(this, options);
  Readable.prepare(this, options, true);
  Writable.prepare(this, options ? { ...options, signal: undefined } : options, true);
  if (options?.readable === false) Object.assign(this._readableState, { readable: false, ended: true, endEmitted: true });
  if (options?.writable === false) Object.assign(this._writableState, { writable: false, ending: true, ended: true, finished: true });
  if (options?.signal) addAbortSignalTo(options.signal, this);
}
Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
Object.setPrototypeOf(Duplex, Readable);

// Named one by one: what both sides have (pipe, closed, errored …) stays that of the readable side.
for (const name of ["write", "end", "cork", "uncork", "setDefaultEncoding", "_write", "_writev", "destroy", "_destroy", "_undestroy", "writable",
  "writableFinished", "writableObjectMode", "writableBuffer", "writableEnded", "writableNeedDrain", "writableHighWaterMark", "writableCorked",
  "writableLength", "writableAborted"]) {
  Object.defineProperty(Duplex.prototype, name, Object.getOwnPropertyDescriptor(Writable.prototype, name));
}
const flag = (name, get, set) => Object.defineProperty(Duplex.prototype, name, { get, set, enumerable: false, configurable: true });
flag("destroyed", function () {
  return !!this._readableState && !!this._writableState && this._readableState.destroyed && this._writableState.destroyed;
}, function (value) {
  if (this._readableState && this._writableState) this._readableState.destroyed = this._writableState.destroyed = value;
});

Duplex.fromWeb = (pair, options) => duplexFromWeb(pair, options);
Duplex.toWeb = (duplex) => duplexToWeb(duplex);
Duplex.from = (body) => toDuplex(body, "body");

const kCallback = Symbol("callback");

export function Transform(options) {
  if (!(this instanceof Transform)) return new Transform(options);
  // Without room on the readable side nothing is taken in ahead of a reader.
  const own = options?.readableHighWaterMark === 0 ? { ...options, highWaterMark: null, writableHighWaterMark: options.writableHighWaterMark || 0 } : options;
  Duplex.call(this, own);
  this._readableState.sync = false;
  this[kCallback] = null;
  if (options) {
    if (typeof options.transform === "function") this._transform = options.transform;
    if (typeof options.flush === "function") this._flush = options.flush;
  }
  this.on("prefinish", onPrefinish);
}
Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
Object.setPrototypeOf(Transform, Duplex);

function flushAll(callback) {
  if (typeof this._flush !== "function" || this.destroyed) {
    this.push(null);
    callback?.();
    return;
  }
  this._flush((error, data) => {
    if (error) {
      if (callback) callback(error);
      else this.destroy(error);
      return;
    }
    if (data != null) this.push(data);
    this.push(null);
    callback?.();
  });
}

// A subclass with its own `_final` still gets its `_flush`.
function onPrefinish() {
  if (this._final !== flushAll) flushAll.call(this);
}

Transform.prototype._final = flushAll;
Transform.prototype._transform = function _transform() {
  throw errors.notImplemented("_transform()");
};
Transform.prototype._write = function _write(chunk, encoding, callback) {
  const r = this._readableState;
  const w = this._writableState;
  const before = r.length;
  this._transform(chunk, encoding, (error, value) => {
    if (error) {
      callback(error);
      return;
    }
    if (value != null) this.push(value);
    // After a push(null) the end has to be told first.
    if (r.ended) nextTick(callback);
    else if (w.ended || before === r.length || r.length < r.highWaterMark) callback();
    else this[kCallback] = callback;
  });
};
Transform.prototype._read = function _read() {
  const callback = this[kCallback];
  if (!callback) return;
  this[kCallback] = null;
  callback();
};

export function PassThrough(options) {
  if (!(this instanceof PassThrough)) return new PassThrough(options);
  Transform.call(this, options);
}
Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
Object.setPrototypeOf(PassThrough, Transform);
PassThrough.prototype._transform = function _transform(chunk, encoding, callback) {
  callback(null, chunk);
};

/** Makes a Duplex of a stream, an iterable, a promise, a function or a pair { readable, writable }. */
export function toDuplex(body, name) {
  if (isNodeStream(body)) {
    if (isReadableNode(body) && isWritableNode(body)) return body;
    if (isReadableNode(body)) return joinSides({ readable: body });
    if (isWritableNode(body)) return joinSides({ writable: body });
  }
  if (isWebReadable(body)) return joinSides({ readable: readableFromWeb(body) });
  if (isWebWritable(body)) return joinSides({ writable: writableFromWeb(body) });
  if (typeof body === "function") return fromFunction(body);
  if (body && typeof body.arrayBuffer === "function" && typeof body.stream === "function") return toDuplex(body.arrayBuffer(), name);
  if (isIterable(body)) return joinSides({ readable: Readable.from(body) });
  if (isWebPair(body) || body?.readable || body?.writable) {
    const readable = body.readable && (isReadableNode(body.readable) ? body.readable : toDuplex(body.readable, name));
    const writable = body.writable && (isWritableNode(body.writable) ? body.writable : toDuplex(body.writable, name));
    return joinSides({ readable, writable });
  }
  if (typeof body?.then === "function") {
    return joinSides({
      readable: Readable.from((async function* once() {
        const value = await body;
        if (value != null) yield value;
      })()),
    });
  }
  throw invalidArgType(name, "one of type Blob, ReadableStream, WritableStream, Stream, Iterable, AsyncIterable, Function, { readable, writable } pair or Promise", body);
}

// `async function*(source)` becomes the both sides of a stream: what is written is the source.
function fromFunction(body) {
  const inbox = new PassThrough({ objectMode: true });
  const result = body((async function* source() { yield* inbox; })());
  if (isIterable(result)) return joinSides({ writable: inbox, readable: Readable.from(result) });
  if (typeof result?.then === "function") {
    const out = joinSides({ writable: inbox });
    const settle = result.then((value) => {
      if (value != null) out.destroy(invalidArgType("body", "one of type AsyncIterable or undefined", value));
    });
    settle.catch((error) => out.destroy(error));
    const final = out._final;
    out._final = function last(callback) {
      final.call(this, (error) => settle.then(() => callback(error), callback));
    };
    return out;
  }
  throw invalidArgType("body", "a function that returns an async iterable or a promise", result);
}

/** A Duplex whose sides are other streams. */
export function joinSides({ readable, writable }) {
  let onread = null;
  let ondrain = null;
  let onfinish = null;
  let onclose = null;
  const joined = new Duplex({
    readableObjectMode: readable?.readableObjectMode ?? !!readable, writableObjectMode: writable?.writableObjectMode ?? !!writable,
    readable: !!readable, writable: !!writable,
  });
  const settle = (error) => {
    const callback = onclose;
    onclose = null;
    if (callback) callback(error);
    else if (error) joined.destroy(error);
  };
  if (writable) {
    finished(writable, { readable: false }, (error) => {
      if (error) destroyer(readable, error);
      settle(error);
    });
    joined._write = (chunk, encoding, callback) => {
      if (writable.write(chunk, encoding)) callback();
      else ondrain = callback;
    };
    joined._final = (callback) => {
      writable.end();
      onfinish = callback;
    };
    writable.on("drain", () => {
      const callback = ondrain;
      ondrain = null;
      callback?.();
    });
    writable.on("finish", () => {
      const callback = onfinish;
      onfinish = null;
      callback?.();
    });
  }
  if (readable) {
    finished(readable, { writable: false }, (error) => {
      if (error) destroyer(writable, error);
      settle(error);
    });
    const pump = () => {
      while (onread) {
        const chunk = readable.read();
        if (chunk === null) return;
        if (!joined.push(chunk)) onread = null;
      }
    };
    readable.on("readable", () => pump());
    readable.on("end", () => joined.push(null));
    joined._read = () => {
      onread = true;
      pump();
    };
  }
  joined._destroy = (error, callback) => {
    onread = ondrain = onfinish = null;
    const open = [writable, readable].filter((side) => side && !isDestroyed(side));
    if (open.length === 0) {
      nextTick(callback, error);
      return;
    }
    onclose = (problem) => callback(bothErrors(problem && problem !== error && problem.code !== "ERR_STREAM_PREMATURE_CLOSE" ? problem : null, error) ?? null);
    for (const side of open) destroyer(side, error);
  };
  return joined;
}
