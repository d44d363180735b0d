// Readable: the buffer, flowing and paused mode, `read`, `push`, `pipe` and async iteration. The helper methods
// (map, filter, toArray …) and the web adapters live in other parts and are only evaluated when called.
import { nextTick } from "node:process";
import { Buffer } from "node:buffer";
import { StringDecoder } from "node:string_decoder";
import { Stream, errors, getDefaultHighWaterMark, highWaterMark } from "jackfield:node/internal/streams/legacy";
import { construct, destroy, destroyer, errorOrDestroy, undestroy } from "jackfield:node/internal/streams/destroy";
import { finished } from "jackfield:node/internal/streams/eos";
import { addAbortSignalTo } from "jackfield:node/internal/streams/abort";
import { install } from "jackfield:node/internal/streams/pipe";
import { asReadable } from "jackfield:node/internal/streams/from";
import { operators } from "jackfield:node/internal/streams/operators";
import { readableFromWeb, readableToWeb } from "jackfield:node/internal/streams/web";
import { abortError, invalidArgType, nodeError } from "jackfield:node/internal/io_errors";

export function ReadableState(options, stream, isDuplex) {
  isDuplex ??= stream?._writableState !== undefined || stream?.allowHalfOpen !== undefined;
  this.objectMode = !!(options?.objectMode || (isDuplex && options?.readableObjectMode));
  this.highWaterMark = options ? highWaterMark(this, options, "readableHighWaterMark", isDuplex) : getDefaultHighWaterMark(this.objectMode);
  this.buffer = [];
  this.length = 0;
  this.pipes = [];
  this.flowing = null;
  this.ended = false;
  this.endEmitted = false;
  this.reading = false;
  this.constructed = true;
  this.sync = true;
  this.needReadable = false;
  this.emittedReadable = false;
  this.readableListening = false;
  this.resumeScheduled = false;
  this.paused = undefined;
  this.errorEmitted = false;
  this.emitClose = options?.emitClose !== false;
  this.autoDestroy = options?.autoDestroy !== false;
  this.destroyed = false;
  this.errored = null;
  this.closed = false;
  this.closeEmitted = false;
  this.defaultEncoding = options?.defaultEncoding || "utf8";
  this.awaitDrainWriters = new Set();
  this.readingMore = false;
  this.dataEmitted = false;
  this.decoder = null;
  this.encoding = null;
  if (options?.encoding) {
    this.decoder = new StringDecoder(options.encoding);
    this.encoding = options.encoding;
  }
}

export function Readable(options) {
  if (!(this instanceof Readable)) return new Readable(options);
  Readable.prepare(this, options, false);
}
Object.setPrototypeOf(Readable.prototype, Stream.prototype);
Object.setPrototypeOf(Readable, Stream);
Readable.ReadableState = ReadableState;

// What the constructors of Readable and Duplex both do for this side.
Object.defineProperty(Readable, "prepare", {
  value(stream, options, isDuplex) {
    stream._readableState = new ReadableState(options, stream, isDuplex);
    if (options) {
      if (typeof options.read === "function") stream._read = options.read;
      if (typeof options.destroy === "function") stream._destroy = options.destroy;
      if (typeof options.construct === "function") stream._construct = options.construct;
    }
    Stream.call(stream, options);
    if (options?.signal && !isDuplex) addAbortSignalTo(options.signal, stream);
    construct(stream, () => {
      if (stream._readableState.needReadable) readMore(stream, stream._readableState);
    });
  },
});

const proto = Readable.prototype;
proto.destroy = destroy;
proto._undestroy = undestroy;
proto._destroy = function _destroy(error, callback) { callback(error); };
proto._read = function _read() { throw errors.notImplemented("_read()"); };

proto[Symbol.for("nodejs.rejection")] = function onRejection(error) { this.destroy(error); };
if (Symbol.asyncDispose) {
  proto[Symbol.asyncDispose] = function asyncDispose() {
    const error = this.destroyed || this.readableEnded ? null : abortError();
    if (error) this.destroy(error);
    return new Promise((resolve, reject) => finished(this, (problem) => (problem && problem !== error ? reject(problem) : resolve(null))));
  };
}

proto.push = function push(chunk, encoding) { return take(this, chunk, encoding, false); };
proto.unshift = function unshift(chunk, encoding) { return take(this, chunk, encoding, true); };
proto.isPaused = function isPaused() {
  return this._readableState.paused === true || this._readableState.flowing === false;
};

function take(stream, chunk, encoding, front) {
  const state = stream._readableState;
  let problem;
  if (!state.objectMode) {
    if (typeof chunk === "string") {
      encoding ||= state.defaultEncoding;
      if (state.encoding !== encoding) {
        if (front && state.encoding) chunk = Buffer.from(chunk, encoding).toString(state.encoding);
        else {
          chunk = Buffer.from(chunk, encoding);
          encoding = "";
        }
      }
    } else if (chunk instanceof Uint8Array) {
      if (!Buffer.isBuffer(chunk)) chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      encoding = "";
    } else if (ArrayBuffer.isView(chunk)) {
      chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      encoding = "";
    } else if (chunk != null) {
      problem = invalidArgType("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk);
    }
  }
  if (problem) {
    errorOrDestroy(stream, problem);
  } else if (chunk === null || (chunk === undefined && !state.objectMode)) {
    state.reading = false;
    if (chunk === null) atEnd(stream, state);
  } else if (state.objectMode || chunk.length > 0) {
    if (front) {
      if (state.endEmitted) errorOrDestroy(stream, errors.unshiftAfterEnd());
      else if (state.destroyed || state.errored) return false;
      else keep(stream, state, chunk, true);
    } else if (state.ended) {
      errorOrDestroy(stream, errors.pushAfterEof());
    } else if (state.destroyed || state.errored) {
      return false;
    } else {
      state.reading = false;
      if (state.decoder && !encoding) {
        chunk = state.decoder.write(chunk);
        if (state.objectMode || chunk.length !== 0) keep(stream, state, chunk, false);
        else readMore(stream, state);
      } else {
        keep(stream, state, chunk, false);
      }
    }
  } else if (!front) {
    state.reading = false;
    readMore(stream, state);
  }
  return !state.ended && (state.length < state.highWaterMark || state.length === 0);
}

function keep(stream, state, chunk, front) {
  if (state.flowing && state.length === 0 && !state.sync && stream.listenerCount("data") > 0) {
    state.awaitDrainWriters.clear();
    state.dataEmitted = true;
    stream.emit("data", chunk);
  } else {
    state.length += state.objectMode ? 1 : chunk.length;
    if (front) state.buffer.unshift(chunk);
    else state.buffer.push(chunk);
    if (state.needReadable) emitReadable(stream);
  }
  readMore(stream, state);
}

function atEnd(stream, state) {
  if (state.ended) return;
  if (state.decoder) {
    const rest = state.decoder.end();
    if (rest?.length) {
      state.buffer.push(rest);
      state.length += state.objectMode ? 1 : rest.length;
    }
  }
  state.ended = true;
  if (state.sync) {
    emitReadable(stream);
  } else {
    state.needReadable = false;
    state.emittedReadable = true;
    tellReadable(stream);
  }
}

proto.setEncoding = function setEncoding(encoding) {
  const state = this._readableState;
  const decoder = new StringDecoder(encoding);
  state.decoder = decoder;
  state.encoding = decoder.encoding;
  let text = "";
  for (const chunk of state.buffer) text += decoder.write(chunk);
  state.buffer = text === "" ? [] : [text];
  state.length = text.length;
  return this;
};

const MAX_MARK = 0x40000000;

function amount(n, state) {
  if (n <= 0 || (state.length === 0 && state.ended)) return 0;
  if (state.objectMode) return 1;
  if (Number.isNaN(n)) return state.flowing && state.length ? state.buffer[0].length : state.length;
  if (n <= state.length) return n;
  return state.ended ? state.length : 0;
}

proto.read = function read(n) {
  const state = this._readableState;
  if (n === undefined) n = NaN;
  else if (!Number.isInteger(n)) n = Number.parseInt(n, 10);
  const asked = n;
  if (n > state.highWaterMark && !state.objectMode) {
    if (n > MAX_MARK) throw nodeError(RangeError, "ERR_OUT_OF_RANGE", `The value of "size" is out of range. It must be <= 1GiB. Received ${n}`);
    state.highWaterMark = 2 ** Math.ceil(Math.log2(n));
  }
  if (n !== 0) state.emittedReadable = false;
  const full = state.highWaterMark !== 0 ? state.length >= state.highWaterMark : state.length > 0;
  if (n === 0 && state.needReadable && (full || state.ended)) {
    if (state.length === 0 && state.ended) finish(this);
    else emitReadable(this);
    return null;
  }
  n = amount(n, state);
  if (n === 0 && state.ended) {
    if (state.length === 0) finish(this);
    return null;
  }
  const blocked = state.ended || state.reading || state.destroyed || state.errored || !state.constructed;
  if (!blocked && (state.needReadable || state.length === 0 || state.length - n < state.highWaterMark)) {
    state.reading = true;
    state.sync = true;
    if (state.length === 0) state.needReadable = true;
    try {
      this._read(state.highWaterMark);
    } catch (error) {
      errorOrDestroy(this, error);
    }
    state.sync = false;
    if (!state.reading) n = amount(asked, state);
  }
  const chunk = n > 0 ? shift(n, state) : null;
  if (chunk === null) {
    if (state.length <= state.highWaterMark) state.needReadable = true;
    n = 0;
  } else {
    state.length -= n;
    state.awaitDrainWriters.clear();
  }
  if (state.length === 0) {
    if (!state.ended) state.needReadable = true;
    if (asked !== n && state.ended) finish(this);
  }
  if (chunk !== null && !state.errorEmitted && !state.closeEmitted) {
    state.dataEmitted = true;
    this.emit("data", chunk);
  }
  return chunk;
};

function shift(n, state) {
  const { buffer } = state;
  if (state.length === 0) return null;
  if (state.objectMode) return buffer.shift();
  if (!n || n >= state.length) {
    const all = state.decoder ? buffer.join("") : buffer.length === 1 ? buffer[0] : Buffer.concat(buffer, state.length);
    state.buffer = [];
    return all;
  }
  const first = buffer[0];
  if (n < first.length) {
    buffer[0] = first.slice(n);
    return first.slice(0, n);
  }
  if (n === first.length) return buffer.shift();
  const parts = [];
  while (n > 0) {
    const part = buffer[0];
    if (part.length <= n) {
      parts.push(buffer.shift());
      n -= part.length;
    } else {
      parts.push(part.slice(0, n));
      buffer[0] = part.slice(n);
      n = 0;
    }
  }
  return state.decoder ? parts.join("") : Buffer.concat(parts);
}

function emitReadable(stream) {
  const state = stream._readableState;
  state.needReadable = false;
  if (state.emittedReadable) return;
  state.emittedReadable = true;
  nextTick(tellReadable, stream);
}

function tellReadable(stream) {
  const state = stream._readableState;
  if (!state.destroyed && !state.errored && (state.length || state.ended)) {
    stream.emit("readable");
    state.emittedReadable = false;
  }
  state.needReadable = !state.flowing && !state.ended && state.length <= state.highWaterMark;
  flow(stream);
}

function readMore(stream, state) {
  if (state.readingMore || !state.constructed) return;
  state.readingMore = true;
  nextTick(() => {
    while (!state.reading && !state.ended && (state.length < state.highWaterMark || (state.flowing && state.length === 0))) {
      const before = state.length;
      stream.read(0);
      if (before === state.length) break;
    }
    state.readingMore = false;
  });
}

function finish(stream) {
  const state = stream._readableState;
  if (state.endEmitted) return;
  state.ended = true;
  nextTick(emitEnd, state, stream);
}

function emitEnd(state, stream) {
  if (state.errored || state.closeEmitted || state.endEmitted || state.length !== 0) return;
  state.endEmitted = true;
  stream.emit("end");
  if (stream.writable && stream.allowHalfOpen === false) {
    nextTick(() => {
      if (stream.writable && !stream.writableEnded && !stream.destroyed) stream.end();
    });
  } else if (state.autoDestroy) {
    const w = stream._writableState;
    if (!w || (w.autoDestroy && (w.finished || w.writable === false))) stream.destroy();
  }
}

proto.on = function on(name, listener) {
  Stream.prototype.on.call(this, name, listener);
  const state = this._readableState;
  if (name === "data") {
    state.readableListening = this.listenerCount("readable") > 0;
    if (state.flowing !== false) this.resume();
  } else if (name === "readable" && !state.endEmitted && !state.readableListening) {
    state.readableListening = state.needReadable = true;
    state.flowing = false;
    state.emittedReadable = false;
    if (state.length) emitReadable(this);
    else if (!state.reading) nextTick(() => this.read(0));
  }
  return this;
};
proto.addListener = proto.on;

proto.removeListener = function removeListener(name, listener) {
  Stream.prototype.removeListener.call(this, name, listener);
  if (name === "readable") nextTick(updateListening, this);
  return this;
};
proto.off = proto.removeListener;
proto.removeAllListeners = function removeAllListeners(...names) {
  Stream.prototype.removeAllListeners.apply(this, names);
  if (names[0] === "readable" || names[0] === undefined) nextTick(updateListening, this);
  return this;
};

function updateListening(stream) {
  const state = stream._readableState;
  state.readableListening = stream.listenerCount("readable") > 0;
  if (state.resumeScheduled && state.paused === false) state.flowing = true;
  else if (stream.listenerCount("data") > 0) stream.resume();
  else if (!state.readableListening) state.flowing = null;
}

proto.resume = function resume() {
  const state = this._readableState;
  if (!state.flowing) {
    state.flowing = !state.readableListening;
    if (!state.resumeScheduled) {
      state.resumeScheduled = true;
      nextTick(() => {
        if (!state.reading) this.read(0);
        state.resumeScheduled = false;
        this.emit("resume");
        flow(this);
        if (state.flowing && !state.reading) this.read(0);
      });
    }
  }
  state.paused = false;
  return this;
};

proto.pause = function pause() {
  const state = this._readableState;
  if (state.flowing !== false) {
    state.flowing = false;
    this.emit("pause");
  }
  state.paused = true;
  return this;
};

function flow(stream) {
  const state = stream._readableState;
  while (state.flowing && stream.read() !== null);
}

proto.iterator = function iterator(options) {
  return iterate(this, options);
};
proto[Symbol.asyncIterator] = function asyncIterator() {
  return iterate(this);
};

async function* iterate(stream, options) {
  let wake = () => {};
  let error;
  const onreadable = () => wake();
  if (typeof stream.read !== "function") stream = new Readable({ objectMode: true }).wrap(stream);
  stream.on("readable", onreadable);
  const cleanup = finished(stream, { writable: false }, (problem) => {
    error = problem ?? null;
    wake();
  });
  try {
    while (true) {
      const chunk = stream.destroyed ? null : stream.read();
      if (chunk !== null) yield chunk;
      else if (error) throw error;
      else if (error === null) return;
      else {
        await new Promise((resolve) => { wake = resolve; });
        wake = () => {};
      }
    }
  } catch (problem) {
    error = problem;
    throw problem;
  } finally {
    if ((error || options?.destroyOnReturn !== false) && (error === undefined || stream._readableState?.autoDestroy)) {
      destroyer(stream, null);
    } else {
      stream.removeListener("readable", onreadable);
      cleanup();
    }
  }
}

const lazy = (name, pick) => {
  Object.defineProperty(proto, name, {
    value(...args) { return pick().apply(this, args); }, writable: true, configurable: true, enumerable: false,
  });
};
for (const name of ["map", "filter", "forEach", "toArray", "some", "every", "find", "reduce", "take", "drop", "flatMap", "asIndexedPairs", "compose"]) {
  lazy(name, () => operators[name]);
}

Readable.from = (iterable, options) => asReadable(Readable, iterable, options);
Readable.fromWeb = (web, options) => readableFromWeb(web, options);
Readable.toWeb = (stream, options) => readableToWeb(stream, options);
Readable.wrap = (source, options) => new Readable({ objectMode: source.readableObjectMode ?? source.objectMode ?? true, ...options,
  destroy(error, callback) { destroyer(source, error); callback(error); } }).wrap(source);

const flag = (name, get, set) => Object.defineProperty(proto, name, { get, set, enumerable: false, configurable: true });
flag("readable", function () {
  const r = this._readableState;
  return !!r && r.readable !== false && !r.destroyed && !r.errorEmitted && !r.endEmitted;
}, function (value) { if (this._readableState) this._readableState.readable = !!value; });
flag("readableDidRead", function () { return this._readableState.dataEmitted; });
flag("readableAborted", function () {
  const r = this._readableState;
  return !!(r.readable !== false && (r.destroyed || r.errored) && !r.endEmitted);
});
flag("readableHighWaterMark", function () { return this._readableState.highWaterMark; });
flag("readableBuffer", function () { return this._readableState?.buffer; });
flag("readableFlowing", function () { return this._readableState.flowing; }, function (value) { if (this._readableState) this._readableState.flowing = value; });
flag("readableLength", function () { return this._readableState.length; });
flag("readableObjectMode", function () { return this._readableState?.objectMode ?? false; });
flag("readableEncoding", function () { return this._readableState?.encoding ?? null; });
flag("errored", function () { return this._readableState?.errored ?? null; });
flag("closed", function () { return this._readableState?.closed ?? false; });
flag("destroyed", function () { return this._readableState?.destroyed ?? false; }, function (value) { if (this._readableState) this._readableState.destroyed = value; });
flag("readableEnded", function () { return this._readableState?.endEmitted ?? false; });
install(proto);
