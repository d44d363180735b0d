// Writable: buffering with backpressure, cork, `_writev`, `_final`, `end` and its order of events
// (prefinish, finish, close).
import { nextTick } from "node:process";
import { Buffer } from "node:buffer";
import { Stream, errors, getDefaultHighWaterMark, highWaterMark } from "jackfield:node/internal/streams/legacy";
import { construct, destroy, errorOrDestroy, undestroy } from "jackfield:node/internal/streams/destroy";
import { addAbortSignalTo } from "jackfield:node/internal/streams/abort";
import { cannotPipe } from "jackfield:node/internal/streams/pipe";
import { writableFromWeb, writableToWeb } from "jackfield:node/internal/streams/web";
import { finished } from "jackfield:node/internal/streams/eos";
import { abortError, invalidArgType } from "jackfield:node/internal/io_errors";

const nothing = () => {};

export function WritableState(options, stream, isDuplex) {
  isDuplex ??= stream?._readableState !== undefined && stream?.allowHalfOpen !== undefined;
  this.objectMode = !!(options?.objectMode || (isDuplex && options?.writableObjectMode));
  this.highWaterMark = options ? highWaterMark(this, options, "writableHighWaterMark", isDuplex) : getDefaultHighWaterMark(this.objectMode);
  this.finalCalled = false;
  this.needDrain = false;
  this.ending = false;
  this.ended = false;
  this.finished = false;
  this.destroyed = false;
  this.decodeStrings = options?.decodeStrings !== false;
  this.defaultEncoding = options?.defaultEncoding || "utf8";
  this.length = 0;
  this.writing = false;
  this.corked = 0;
  this.sync = true;
  this.bufferProcessing = false;
  this.onwrite = (error) => onWrite(stream, error);
  this.writecb = null;
  this.writelen = 0;
  this.afterWrites = null;
  this.buffered = [];
  this.bufferedIndex = 0;
  this.allNoop = true;
  this.pendingcb = 0;
  this.constructed = true;
  this.prefinished = false;
  this.errorEmitted = false;
  this.emitClose = options?.emitClose !== false;
  this.autoDestroy = options?.autoDestroy !== false;
  this.errored = null;
  this.closed = false;
  this.closeEmitted = false;
  this.onfinish = [];
}

WritableState.prototype.getBuffer = function getBuffer() {
  return this.buffered.slice(this.bufferedIndex);
};
Object.defineProperty(WritableState.prototype, "bufferedRequestCount", {
  get() { return this.buffered.length - this.bufferedIndex; },
});

export function Writable(options) {
  const isDuplex = this?._readableState !== undefined && this?.allowHalfOpen !== undefined;
  if (!isDuplex && !Function.prototype[Symbol.hasInstance].call(Writable, this)) return new Writable(options);
  Writable.prepare(this, options, isDuplex);
}
Object.setPrototypeOf(Writable.prototype, Stream.prototype);
Object.setPrototypeOf(Writable, Stream);
Writable.WritableState = WritableState;

// A Duplex counts as a Writable although it inherits from Readable.
Object.defineProperty(Writable, Symbol.hasInstance, {
  value(object) {
    if (Function.prototype[Symbol.hasInstance].call(this, object)) return true;
    return this === Writable && object?._writableState instanceof WritableState;
  },
});

Object.defineProperty(Writable, "prepare", {
  value(stream, options, isDuplex) {
    stream._writableState = new WritableState(options, stream, isDuplex);
    if (options) {
      if (typeof options.write === "function") stream._write = options.write;
      if (typeof options.writev === "function") stream._writev = options.writev;
      if (typeof options.destroy === "function") stream._destroy = options.destroy;
      if (typeof options.final === "function") stream._final = options.final;
      if (typeof options.construct === "function") stream._construct = options.construct;
    }
    if (!isDuplex) Stream.call(stream, options);
    if (options?.signal) addAbortSignalTo(options.signal, stream);
    construct(stream, () => {
      const state = stream._writableState;
      if (!state.writing) clearBuffer(stream, state);
      finishMaybe(stream, state);
    });
  },
});

const proto = Writable.prototype;
proto.pipe = cannotPipe;

proto.write = function write(chunk, encoding, callback) {
  return put(this, chunk, encoding, callback) === true;
};

function put(stream, chunk, encoding, callback) {
  const state = stream._writableState;
  if (typeof encoding === "function") {
    callback = encoding;
    encoding = state.defaultEncoding;
  } else {
    if (!encoding) encoding = state.defaultEncoding;
    else if (encoding !== "buffer" && !Buffer.isEncoding(encoding)) throw errors.unknownEncoding(encoding);
    if (typeof callback !== "function") callback = nothing;
  }
  if (chunk === null) throw errors.nullValue();
  if (!state.objectMode) {
    if (typeof chunk === "string") {
      if (state.decodeStrings) {
        chunk = Buffer.from(chunk, encoding);
        encoding = "buffer";
      }
    } else if (chunk instanceof Uint8Array) {
      if (!Buffer.isBuffer(chunk)) chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      encoding = "buffer";
    } else if (ArrayBuffer.isView(chunk)) {
      chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      encoding = "buffer";
    } else {
      throw invalidArgType("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk);
    }
  }
  const problem = state.ending ? errors.writeAfterEnd() : state.destroyed ? errors.destroyed("write") : null;
  if (problem) {
    nextTick(callback, problem);
    errorOrDestroy(stream, problem, true);
    return problem;
  }
  state.pendingcb++;
  return writeOrKeep(stream, state, chunk, encoding, callback);
}

function writeOrKeep(stream, state, chunk, encoding, callback) {
  const size = state.objectMode ? 1 : chunk.length;
  state.length += size;
  const room = state.length < state.highWaterMark;
  if (!room) state.needDrain = true;
  if (state.writing || state.corked || state.errored || !state.constructed) {
    state.buffered.push({ chunk, encoding, callback });
    if (callback !== nothing) state.allNoop = false;
  } else {
    state.writelen = size;
    state.writecb = callback;
    state.writing = true;
    state.sync = true;
    stream._write(chunk, encoding, state.onwrite);
    state.sync = false;
  }
  return room && !state.errored && !state.destroyed;
}

function doWrite(stream, state, many, size, chunk, encoding, callback) {
  state.writelen = size;
  state.writecb = callback;
  state.writing = true;
  state.sync = true;
  if (state.destroyed) state.onwrite(errors.destroyed("write"));
  else if (many) stream._writev(chunk, state.onwrite);
  else stream._write(chunk, encoding, state.onwrite);
  state.sync = false;
}

function onWrite(stream, error) {
  const state = stream._writableState;
  const { sync, writecb: callback } = state;
  if (typeof callback !== "function") {
    errorOrDestroy(stream, errors.multipleCallback());
    return;
  }
  state.writing = false;
  state.writecb = null;
  state.length -= state.writelen;
  state.writelen = 0;
  if (error) {
    state.errored ??= error;
    const r = stream._readableState;
    if (r) r.errored ??= error;
    if (sync) nextTick(failWrite, stream, state, error, callback);
    else failWrite(stream, state, error, callback);
    return;
  }
  if (state.buffered.length > state.bufferedIndex) clearBuffer(stream, state);
  if (!sync) {
    afterWrite(stream, state, [callback]);
  } else if (state.afterWrites) {
    state.afterWrites.push(callback);
  } else {
    state.afterWrites = [callback];
    nextTick(() => {
      const callbacks = state.afterWrites;
      state.afterWrites = null;
      afterWrite(stream, state, callbacks);
    });
  }
}

function failWrite(stream, state, error, callback) {
  state.pendingcb--;
  callback(error);
  failBuffer(state);
  errorOrDestroy(stream, error);
}

function afterWrite(stream, state, callbacks) {
  if (!state.ending && !stream.destroyed && state.length === 0 && state.needDrain) {
    state.needDrain = false;
    stream.emit("drain");
  }
  for (const callback of callbacks) {
    state.pendingcb--;
    callback(null);
  }
  if (state.destroyed) failBuffer(state);
  finishMaybe(stream, state);
}

// What was not written yet is told why.
function failBuffer(state) {
  if (state.writing) return;
  for (let i = state.bufferedIndex; i < state.buffered.length; i++) {
    const { chunk, callback } = state.buffered[i];
    state.length -= state.objectMode ? 1 : chunk.length;
    callback(state.errored ?? errors.destroyed("write"));
  }
  const waiting = state.onfinish;
  state.onfinish = [];
  for (const callback of waiting) callback(state.errored ?? errors.destroyed("end"));
  resetBuffer(state);
}

function resetBuffer(state) {
  state.buffered = [];
  state.bufferedIndex = 0;
  state.allNoop = true;
}

function clearBuffer(stream, state) {
  if (state.corked || state.bufferProcessing || state.destroyed || !state.constructed) return;
  const { buffered, bufferedIndex, objectMode } = state;
  const left = buffered.length - bufferedIndex;
  if (left <= 0) return;
  state.bufferProcessing = true;
  if (left > 1 && stream._writev) {
    state.pendingcb -= left - 1;
    const chunks = bufferedIndex === 0 ? buffered : buffered.slice(bufferedIndex);
    const callback = state.allNoop ? nothing : (error) => {
      for (const entry of chunks) entry.callback(error);
    };
    chunks.allBuffers = chunks.every((entry) => entry.encoding === "buffer");
    doWrite(stream, state, true, state.length, chunks, "", callback);
    resetBuffer(state);
  } else {
    let i = bufferedIndex;
    do {
      const { chunk, encoding, callback } = buffered[i];
      buffered[i++] = null;
      doWrite(stream, state, false, objectMode ? 1 : chunk.length, chunk, encoding, callback);
    } while (i < buffered.length && !state.writing);
    if (i === buffered.length) resetBuffer(state);
    else if (i > 256) {
      buffered.splice(0, i);
      state.bufferedIndex = 0;
    } else {
      state.bufferedIndex = i;
    }
  }
  state.bufferProcessing = false;
}

proto._write = function _write(chunk, encoding, callback) {
  if (this._writev) this._writev([{ chunk, encoding }], callback);
  else throw errors.notImplemented("_write()");
};
proto._writev = null;

proto.cork = function cork() {
  this._writableState.corked++;
};
proto.uncork = function uncork() {
  const state = this._writableState;
  if (!state.corked) return;
  state.corked--;
  if (!state.writing) clearBuffer(this, state);
};
proto.setDefaultEncoding = function setDefaultEncoding(encoding) {
  if (typeof encoding === "string") encoding = encoding.toLowerCase();
  if (!Buffer.isEncoding(encoding)) throw errors.unknownEncoding(encoding);
  this._writableState.defaultEncoding = encoding;
  return this;
};

proto.end = function end(chunk, encoding, callback) {
  const state = this._writableState;
  if (typeof chunk === "function") {
    callback = chunk;
    chunk = encoding = null;
  } else if (typeof encoding === "function") {
    callback = encoding;
    encoding = null;
  }
  let problem;
  if (chunk != null) {
    const result = put(this, chunk, encoding);
    if (result instanceof Error) problem = result;
  }
  if (state.corked) {
    state.corked = 1;
    this.uncork();
  }
  if (problem) {
    // Told below.
  } else if (!state.errored && !state.ending) {
    state.ending = true;
    finishMaybe(this, state, true);
    state.ended = true;
  } else if (state.finished) {
    problem = errors.alreadyFinished("end");
  } else if (state.destroyed) {
    problem = errors.destroyed("end");
  }
  if (typeof callback === "function") {
    if (problem) nextTick(callback, problem);
    else if (state.errored) nextTick(callback, state.errored);
    else if (state.finished) nextTick(callback, null);
    else state.onfinish.push(callback);
  }
  return this;
};

function readyToFinish(state) {
  return state.ending && !state.destroyed && state.constructed && state.length === 0 && !state.errored &&
    state.buffered.length === 0 && !state.finished && !state.writing && !state.errorEmitted && !state.closeEmitted;
}

function finishMaybe(stream, state, sync) {
  if (!readyToFinish(state)) return;
  prefinish(stream, state);
  if (state.pendingcb !== 0) return;
  if (sync) {
    state.pendingcb++;
    nextTick(() => {
      if (readyToFinish(state)) finish(stream, state);
      else state.pendingcb--;
    });
  } else if (readyToFinish(state)) {
    state.pendingcb++;
    finish(stream, state);
  }
}

function prefinish(stream, state) {
  if (state.prefinished || state.finalCalled) return;
  if (typeof stream._final === "function" && !state.destroyed) {
    state.finalCalled = true;
    callFinal(stream, state);
  } else {
    state.prefinished = true;
    stream.emit("prefinish");
  }
}

function callFinal(stream, state) {
  let called = false;
  const done = (error) => {
    if (called) {
      errorOrDestroy(stream, error ?? errors.multipleCallback());
      return;
    }
    called = true;
    state.pendingcb--;
    if (error) {
      const waiting = state.onfinish;
      state.onfinish = [];
      for (const callback of waiting) callback(error);
      errorOrDestroy(stream, error, state.sync);
    } else if (readyToFinish(state)) {
      state.prefinished = true;
      stream.emit("prefinish");
      state.pendingcb++;
      nextTick(finish, stream, state);
    }
  };
  state.sync = true;
  state.pendingcb++;
  try {
    stream._final(done);
  } catch (error) {
    done(error);
  }
  state.sync = false;
}

function finish(stream, state) {
  state.pendingcb--;
  state.finished = true;
  const waiting = state.onfinish;
  state.onfinish = [];
  for (const callback of waiting) callback(null);
  stream.emit("finish");
  if (!state.autoDestroy) return;
  const r = stream._readableState;
  if (!r || (r.autoDestroy && (r.endEmitted || r.readable === false))) stream.destroy();
}

proto.destroy = function (error, callback) {
  const state = this._writableState;
  if (!state.destroyed && (state.bufferedIndex < state.buffered.length || state.onfinish.length)) nextTick(failBuffer, state);
  destroy.call(this, error, callback);
  return this;
};
Object.defineProperty(proto.destroy, "name", { value: "destroy" });
proto._undestroy = undestroy;
proto._destroy = function _destroy(error, callback) { callback(error); };
proto[Symbol.for("nodejs.rejection")] = function onRejection(error) { this.destroy(error); };
if (Symbol.asyncDispose) {
  proto[Symbol.asyncDispose] = function asyncDispose() {
    const error = this.destroyed || this.writableFinished ? null : abortError();
    if (error) this.destroy(error);
    return new Promise((resolve, reject) => finished(this, (problem) => (problem && problem.name !== "AbortError" ? reject(problem) : resolve(null))));
  };
}

Writable.fromWeb = (web, options) => writableFromWeb(web, options);
Writable.toWeb = (stream) => writableToWeb(stream);

const flag = (name, get, set) => Object.defineProperty(proto, name, { get, set, enumerable: false, configurable: true });
flag("closed", function () { return this._writableState?.closed ?? false; });
flag("destroyed", function () { return this._writableState?.destroyed ?? false; }, function (value) { if (this._writableState) this._writableState.destroyed = value; });
flag("writable", function () {
  const w = this._writableState;
  return !!w && w.writable !== false && !w.destroyed && !w.errored && !w.ending && !w.ended;
}, function (value) { if (this._writableState) this._writableState.writable = !!value; });
flag("writableFinished", function () { return this._writableState?.finished ?? false; });
flag("writableObjectMode", function () { return this._writableState?.objectMode ?? false; });
flag("writableBuffer", function () { return this._writableState?.getBuffer(); });
flag("writableEnded", function () { return this._writableState?.ending ?? false; });
flag("writableNeedDrain", function () {
  const w = this._writableState;
  return !!w && !w.destroyed && !w.ending && w.needDrain;
});
flag("writableHighWaterMark", function () { return this._writableState?.highWaterMark; });
flag("writableCorked", function () { return this._writableState?.corked ?? 0; });
flag("writableLength", function () { return this._writableState?.length; });
flag("errored", function () { return this._writableState?.errored ?? null; });
flag("writableAborted", function () {
  const w = this._writableState;
  return !!(w.writable !== false && (w.destroyed || w.errored) && !w.finished);
});
