// `finished`: calls back once when a stream has ended, finished, failed or was closed too early.
import { nextTick } from "node:process";
import { errors, isNodeStream, isReadableNode, isWebReadable, isWebWritable, isWritableNode } from "jackfield:node/internal/streams/legacy";
import { abortError, invalidArgType, needFunction } from "jackfield:node/internal/io_errors";

const nothing = () => {};

export function finished(stream, options, callback) {
  if (typeof options === "function") {
    callback = options;
    options = {};
  } else if (options == null) {
    options = {};
  } else if (typeof options !== "object") {
    throw invalidArgType("options", "of type object", options);
  }
  needFunction(callback, "callback");
  if (isWebReadable(stream) || isWebWritable(stream)) return webFinished(stream, options, callback);
  if (!isNodeStream(stream)) throw invalidArgType("stream", "an instance of ReadableStream, WritableStream, or Stream", stream);

  const original = callback;
  let called = false;
  callback = (...args) => {
    if (called) return;
    called = true;
    original.apply(stream, args);
  };
  const r = stream._readableState;
  const w = stream._writableState;
  const readable = options.readable ?? isReadableNode(stream);
  const writable = options.writable ?? isWritableNode(stream);
  const request = typeof stream.setHeader === "function" && typeof stream.abort === "function";
  let willClose = willEmitClose(stream) && isReadableNode(stream) === readable && isWritableNode(stream) === writable;
  let writeDone = isWriteDone(stream, false);
  let readDone = isReadDone(stream, false);

  const onfinish = () => {
    writeDone = true;
    if (stream.destroyed) willClose = false;
    if (willClose && (!stream.writable || writable)) return;
    if (!readable || readDone) callback();
  };
  const onend = () => {
    readDone = true;
    if (stream.destroyed) willClose = false;
    if (willClose && (!stream.readable || readable)) return;
    if (!writable || writeDone) callback();
  };
  const onerror = (error) => callback(error);
  const failed = () => r?.errored || w?.errored;
  const onclose = () => {
    const error = failed();
    if (error && typeof error !== "boolean") return callback(error);
    if (readable && !readDone && isReadableNode(stream) && !isReadDone(stream, false)) return callback(errors.premature());
    if (writable && !writeDone && !isWriteDone(stream, false)) return callback(errors.premature());
    return callback();
  };
  const onlegacy = () => {
    if (!stream.writable) onfinish();
  };
  const onrequest = () => stream.req.on("finish", onfinish);
  if (request) {
    stream.on("complete", onfinish);
    if (!willClose) stream.on("abort", onclose);
    if (stream.req) onrequest();
    else stream.on("request", onrequest);
  } else if (writable && !w) {
    stream.on("end", onlegacy);
    stream.on("close", onlegacy);
  }
  stream.on("end", onend);
  stream.on("finish", onfinish);
  if (options.error !== false) stream.on("error", onerror);
  stream.on("close", onclose);

  const closed = (w?.closed ?? r?.closed ?? (stream.closed || stream._closed)) === true;
  if (closed) nextTick(onclose);
  else if (w?.errorEmitted || r?.errorEmitted) {
    if (!willClose) nextTick(() => callback(failed() || undefined));
  } else if (!readable && (!willClose || stream.readable) && (writeDone || stream.writable === false)) nextTick(onclose);
  else if (!writable && (!willClose || stream.writable) && (readDone || stream.readable === false)) nextTick(onclose);
  else if (r && stream.req && stream.aborted) nextTick(onclose);

  const cleanup = () => {
    called = true;
    callback = nothing;
    for (const [name, listener] of [["aborted", onclose], ["complete", onfinish], ["abort", onclose], ["request", onrequest], ["end", onlegacy],
      ["close", onlegacy], ["finish", onfinish], ["end", onend], ["error", onerror], ["close", onclose]]) stream.removeListener(name, listener);
    stream.req?.removeListener?.("finish", onfinish);
  };
  if (options.signal && !closed) {
    const { signal } = options;
    const abort = () => {
      const tell = callback;
      const already = called;
      cleanup();
      if (!already) original.call(stream, abortError(signal));
      else tell();
    };
    if (signal.aborted) nextTick(abort);
    else {
      signal.addEventListener("abort", abort, { once: true });
      const inner = callback;
      callback = (...args) => {
        signal.removeEventListener("abort", abort);
        inner.apply(stream, args);
      };
    }
  }
  return cleanup;
}

function willEmitClose(stream) {
  const state = stream._writableState ?? stream._readableState;
  return !!((!state && typeof stream._sent100 === "boolean") || (state && state.autoDestroy && state.emitClose && state.closed === false));
}

function isWriteDone(stream, strict) {
  if (!isWritableNode(stream)) return null;
  if (stream.writableFinished === true) return true;
  const w = stream._writableState;
  if (w?.errored) return false;
  if (typeof w?.finished !== "boolean") return null;
  return !!(w.finished || (strict === false && w.ended === true && w.length === 0));
}

function isReadDone(stream, strict) {
  if (!isReadableNode(stream)) return null;
  const r = stream._readableState;
  if (r?.errored) return false;
  if (typeof r?.endEmitted !== "boolean") return null;
  return !!(r.endEmitted || (strict === false && r.ended === true && r.length === 0));
}

// Web streams tell through the promise of a reader or writer; a locked one cannot be watched.
function webFinished(stream, options, callback) {
  let done = false;
  const tell = (error) => {
    if (done) return;
    done = true;
    nextTick(() => callback.call(stream, error));
  };
  const handle = isWebReadable(stream) ? (stream.locked ? null : stream.getReader()) : stream.locked ? null : stream.getWriter();
  if (handle) {
    handle.closed.then(() => tell(), tell);
    handle.releaseLock();
    handle.closed?.catch?.(nothing);
  }
  options.signal?.addEventListener("abort", () => tell(abortError(options.signal)), { once: true });
  return () => { done = true; };
}

/** `finished` as a promise. */
export function finishedPromise(stream, options) {
  let cleanup = false;
  if (options?.cleanup) cleanup = options.cleanup;
  return new Promise((resolve, reject) => {
    const undo = finished(stream, options ?? {}, (error) => {
      if (cleanup) undo();
      if (error) reject(error);
      else resolve();
    });
  });
}

Object.defineProperty(finished, Symbol.for("nodejs.util.promisify.custom"), { value: finishedPromise, configurable: true });
