// The base of all streams (an event emitter with the old `pipe`), the errors that streams raise, and the
// predicates that decide what an object is. Constructors are functions, not classes, because packages still
// call them with `Readable.call(this)` after `util.inherits`.
import EventEmitter from "node:events";
import { nodeError } from "jackfield:node/internal/io_errors";

export function Stream(options) {
  if (typeof EventEmitter.init === "function") EventEmitter.init.call(this, options);
  else EventEmitter.call(this, options);
}
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Stream, EventEmitter);

// Used only by objects that are a bare Stream: data is handed on, and pause/resume are asked for if they exist.
Stream.prototype.pipe = function pipe(dest, options) {
  const source = this;
  let ended = false;
  const ondata = (chunk) => {
    if (dest.writable && dest.write(chunk) === false) source.pause?.();
  };
  const ondrain = () => {
    if (source.readable) source.resume?.();
  };
  const onend = () => {
    if (ended) return;
    ended = true;
    dest.end();
  };
  const onclose = () => {
    if (ended) return;
    ended = true;
    dest.destroy?.();
  };
  const cleanup = () => {
    source.removeListener("data", ondata);
    dest.removeListener("drain", ondrain);
    source.removeListener("end", onend);
    source.removeListener("close", onclose);
    for (const [emitter, name] of [[source, "end"], [source, "close"], [dest, "close"]]) emitter.removeListener(name, cleanup);
    source.removeListener("error", onerror);
    dest.removeListener("error", onerror);
  };
  function onerror(error) {
    cleanup();
    if (this.listenerCount("error") === 0) this.emit("error", error);
  }
  source.on("data", ondata);
  dest.on("drain", ondrain);
  if (!dest._isStdio && options?.end !== false) {
    source.on("end", onend);
    source.on("close", onclose);
  }
  source.prependListener("error", onerror);
  dest.prependListener("error", onerror);
  source.on("end", cleanup);
  source.on("close", cleanup);
  dest.on("close", cleanup);
  dest.emit("pipe", source);
  return dest;
};

export const errors = {
  destroyed: (name) => nodeError(Error, "ERR_STREAM_DESTROYED", `Cannot call ${name} after a stream was destroyed`),
  writeAfterEnd: () => nodeError(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end"),
  alreadyFinished: (name) => nodeError(Error, "ERR_STREAM_ALREADY_FINISHED", `Cannot call ${name} after a stream was finished`),
  premature: () => nodeError(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close"),
  pushAfterEof: () => nodeError(Error, "ERR_STREAM_PUSH_AFTER_EOF", "stream.push() after EOF"),
  unshiftAfterEnd: () => nodeError(Error, "ERR_STREAM_UNSHIFT_AFTER_END_EVENT", "stream.unshift() after end event"),
  nullValue: () => nodeError(TypeError, "ERR_STREAM_NULL_VALUES", "May not write null values to stream"),
  multipleCallback: () => nodeError(Error, "ERR_MULTIPLE_CALLBACK", "Callback called multiple times"),
  cannotPipe: () => nodeError(Error, "ERR_STREAM_CANNOT_PIPE", "Cannot pipe, not readable"),
  notImplemented: (name) => nodeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", `The ${name} method is not implemented`),
  unknownEncoding: (name) => nodeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`),
};

/** The error that stands for both, when closing failed after a failure. */
export function bothErrors(inner, outer) {
  if (!inner || !outer || inner === outer) return inner || outer;
  if (Array.isArray(outer.errors)) {
    outer.errors.push(inner);
    return outer;
  }
  const error = new AggregateError([outer, inner], outer.message);
  error.code = outer.code;
  return error;
}

let defaultBytes = 64 * 1024;
let defaultObjects = 16;

export function getDefaultHighWaterMark(objectMode) {
  return objectMode ? defaultObjects : defaultBytes;
}

export function setDefaultHighWaterMark(objectMode, value) {
  if (!Number.isInteger(value) || value < 0) throw nodeError(RangeError, "ERR_OUT_OF_RANGE", `The value of "value" is out of range. It must be >= 0. Received ${value}`);
  if (objectMode) defaultObjects = value;
  else defaultBytes = value;
}

export function highWaterMark(state, options, key, isDuplex) {
  const value = options?.highWaterMark ?? (isDuplex ? options?.[key] : undefined);
  if (value == null) return getDefaultHighWaterMark(state.objectMode);
  if (!Number.isInteger(value) || value < 0) {
    const name = isDuplex && options.highWaterMark == null ? `options.${key}` : "options.highWaterMark";
    throw nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The property '${name}' is invalid. Received ${value}`);
  }
  return Math.floor(value);
}

export function isNodeStream(value) {
  return !!value && (
    value._readableState || value._writableState ||
    (typeof value.write === "function" && typeof value.on === "function") ||
    (typeof value.pipe === "function" && typeof value.on === "function")
  );
}

export function isReadableNode(value) {
  return !!value && typeof value.pipe === "function" && typeof value.on === "function" &&
    (!value._writableState || value._readableState?.readable !== false) &&
    (!value._writableState || !!value._readableState);
}

export function isWritableNode(value) {
  return !!value && typeof value.write === "function" && typeof value.on === "function" &&
    (!value._readableState || value._writableState?.writable !== false);
}

export const isWebReadable = (value) => !!value && !isNodeStream(value) && typeof value.pipeThrough === "function" &&
  typeof value.getReader === "function" && typeof value.cancel === "function";
export const isWebWritable = (value) => !!value && !isNodeStream(value) && typeof value.getWriter === "function" && typeof value.abort === "function";
export const isWebPair = (value) => !!value && !isNodeStream(value) && typeof value.readable === "object" && typeof value.writable === "object";
export const isIterable = (value) => value != null &&
  (typeof value[Symbol.asyncIterator] === "function" || typeof value[Symbol.iterator] === "function");

export function isDestroyed(stream) {
  if (!isNodeStream(stream)) return null;
  const state = stream._writableState ?? stream._readableState;
  return !!(stream.destroyed || state?.destroyed);
}

export function isDisturbed(stream) {
  const state = stream?._readableState;
  return !!(stream && (stream.readableDidRead ?? (state && (state.dataEmitted || state.endEmitted))) ||
    stream?.readableAborted || state?.dataEmitted);
}

export function isErrored(stream) {
  return !!(stream && (stream.readableErrored ?? stream.writableErrored ?? stream._readableState?.errored ?? stream._writableState?.errored));
}

export function isReadable(stream) {
  if (!stream) return null;
  if (isWebReadable(stream)) return !stream.locked;
  if (typeof stream.readable !== "boolean") return null;
  if (isDestroyed(stream)) return false;
  const state = stream._readableState;
  return !!(stream.readable && (!state || (!state.endEmitted && !state.errored)));
}

export function isWritable(stream) {
  if (!stream || typeof stream.writable !== "boolean") return null;
  if (isDestroyed(stream)) return false;
  return !!(isWritableNode(stream) && stream.writable && !stream._writableState?.ended);
}
