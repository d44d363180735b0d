// How a stream is constructed late, fails and is destroyed: the parts that both sides of a stream share. Order of
// events: `error` (once) and then `close`, both in a later tick than the call that caused them.
import { nextTick } from "node:process";
import { bothErrors, errors, isDestroyed, isNodeStream } from "jackfield:node/internal/streams/legacy";
import { abortError } from "jackfield:node/internal/io_errors";

const kConstruct = Symbol("construct");
const kDestroy = Symbol("destroy");

function note(error, w, r) {
  if (!error) return;
  if (w && !w.errored) w.errored = error;
  if (r && !r.errored) r.errored = error;
}

/** `stream.destroy`, for both kinds. */
export function destroy(error, callback) {
  const r = this._readableState;
  const w = this._writableState;
  const state = w ?? r;
  if (w?.destroyed || r?.destroyed) {
    callback?.();
    return this;
  }
  note(error, w, r);
  if (w) w.destroyed = true;
  if (r) r.destroyed = true;
  if (!state.constructed) this.once(kDestroy, (later) => run(this, bothErrors(later, error), callback));
  else run(this, error, callback);
  return this;
}

function run(stream, error, callback) {
  let called = false;
  const done = (problem) => {
    if (called) return;
    called = true;
    const r = stream._readableState;
    const w = stream._writableState;
    note(problem, w, r);
    if (w) w.closed = true;
    if (r) r.closed = true;
    callback?.(problem);
    nextTick(problem ? failAndClose : emitClose, stream, problem);
  };
  try {
    stream._destroy(error || null, done);
  } catch (problem) {
    done(problem);
  }
}

function failAndClose(stream, error) {
  emitError(stream, error);
  emitClose(stream);
}

function emitError(stream, error) {
  const r = stream._readableState;
  const w = stream._writableState;
  if (w?.errorEmitted || r?.errorEmitted) return;
  if (w) w.errorEmitted = true;
  if (r) r.errorEmitted = true;
  stream.emit("error", error);
}

function emitClose(stream) {
  const r = stream._readableState;
  const w = stream._writableState;
  if (w) w.closeEmitted = true;
  if (r) r.closeEmitted = true;
  if (w?.emitClose || r?.emitClose) stream.emit("close");
}

/** Makes a destroyed stream usable again: what old packages call when they reopen one. */
export function undestroy() {
  const r = this._readableState;
  const w = this._writableState;
  if (r) {
    Object.assign(r, { constructed: true, closed: false, closeEmitted: false, destroyed: false, errored: null, errorEmitted: false, reading: false });
    r.ended = r.endEmitted = r.readable === false;
  }
  if (w) {
    Object.assign(w, { constructed: true, destroyed: false, closed: false, closeEmitted: false, errored: null, errorEmitted: false, finalCalled: false, prefinished: false });
    w.ended = w.ending = w.finished = w.writable === false;
  }
}

/** Fails a stream: destroys it if it destroys itself, else only tells. */
export function errorOrDestroy(stream, error, sync) {
  const r = stream._readableState;
  const w = stream._writableState;
  if (w?.destroyed || r?.destroyed) return;
  if (r?.autoDestroy || w?.autoDestroy) {
    stream.destroy(error);
  } else if (error) {
    note(error, w, r);
    if (sync) nextTick(emitError, stream, error);
    else emitError(stream, error);
  }
}

/** Runs `_construct` in the next tick, if there is one; the stream holds back until it called back. */
export function construct(stream, ready) {
  if (typeof stream._construct !== "function") return;
  const r = stream._readableState;
  const w = stream._writableState;
  if (r) r.constructed = false;
  if (w) w.constructed = false;
  stream.once(kConstruct, ready);
  if (stream.listenerCount(kConstruct) > 1) return;
  nextTick(runConstruct, stream);
}

function runConstruct(stream) {
  let called = false;
  const done = (error) => {
    if (called) {
      errorOrDestroy(stream, error ?? errors.multipleCallback());
      return;
    }
    called = true;
    const r = stream._readableState;
    const w = stream._writableState;
    const state = w ?? r;
    if (r) r.constructed = true;
    if (w) w.constructed = true;
    if (state.destroyed) stream.emit(kDestroy, error);
    else if (error) errorOrDestroy(stream, error, true);
    else nextTick(() => stream.emit(kConstruct));
  };
  try {
    stream._construct((error) => nextTick(done, error));
  } catch (error) {
    nextTick(done, error);
  }
}

function isRequest(stream) {
  return stream?.setHeader && typeof stream.abort === "function";
}

/** Ends any stream-like object, whatever method it has for that. */
export function destroyer(stream, error) {
  if (!stream || isDestroyed(stream)) return;
  if (!error && !isFinishedBoth(stream)) error = abortError();
  if (isRequest(stream)) stream.abort();
  else if (isRequest(stream.req)) stream.req.abort();
  else if (typeof stream.destroy === "function") stream.destroy(error);
  else if (typeof stream.close === "function") stream.close();
  else if (error) nextTick(() => stream.emit?.("error", error));
  else nextTick(() => stream.emit?.("close"));
  if (!stream.destroyed && isNodeStream(stream)) {
    try {
      stream.destroyed = true;
    } catch {
      // A getter without a setter: the object keeps its own account.
    }
  }
}

function isFinishedBoth(stream) {
  if (!isNodeStream(stream)) return null;
  if (isDestroyed(stream)) return true;
  const r = stream._readableState;
  const w = stream._writableState;
  if (stream.readable && !(r?.endEmitted)) return false;
  return !(stream.writable && !(w?.finished));
}
