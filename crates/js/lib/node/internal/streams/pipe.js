// `pipe`, `unpipe` and `wrap` of Readable, kept apart from the core for length. `install` puts them on the prototype.
import { nextTick } from "node:process";
import { errors } from "jackfield:node/internal/streams/legacy";
import { errorOrDestroy } from "jackfield:node/internal/streams/destroy";

function prepend(emitter, name, listener) {
  if (typeof emitter.prependListener === "function") emitter.prependListener(name, listener);
  else emitter.on(name, listener);
}

function pipe(dest, options) {
  const source = this;
  const state = source._readableState;
  state.pipes.push(dest);
  const stdio = dest === globalThis.process?.stdout || dest === globalThis.process?.stderr;
  const ends = options?.end !== false && !stdio;
  const atEnd = ends ? () => dest.end() : () => source.unpipe(dest);
  if (state.endEmitted) nextTick(atEnd);
  else source.once("end", atEnd);

  let drain = null;
  let cleaned = false;
  const ondata = (chunk) => {
    if (dest.write(chunk) === false) hold();
  };
  const hold = () => {
    if (!cleaned) {
      if (state.pipes.includes(dest)) state.awaitDrainWriters.add(dest);
      source.pause();
    }
    if (!drain) {
      drain = () => {
        state.awaitDrainWriters.delete(dest);
        if (state.awaitDrainWriters.size === 0 && source.listenerCount("data")) source.resume();
      };
      dest.on("drain", drain);
    }
  };
  const onunpipe = (from, info) => {
    if (from === source && info && !info.hasUnpiped) {
      info.hasUnpiped = true;
      cleanup();
    }
  };
  const onerror = (error) => {
    source.unpipe(dest);
    dest.removeListener("error", onerror);
    if (dest.listenerCount("error") === 0) {
      const other = dest._writableState ?? dest._readableState;
      if (other && !other.errorEmitted) errorOrDestroy(dest, error);
      else dest.emit("error", error);
    }
  };
  const onclose = () => {
    dest.removeListener("finish", onfinish);
    source.unpipe(dest);
  };
  const onfinish = () => {
    dest.removeListener("close", onclose);
    source.unpipe(dest);
  };
  const cleanup = () => {
    dest.removeListener("close", onclose);
    dest.removeListener("finish", onfinish);
    if (drain) dest.removeListener("drain", drain);
    dest.removeListener("error", onerror);
    dest.removeListener("unpipe", onunpipe);
    source.removeListener("end", atEnd);
    source.removeListener("data", ondata);
    cleaned = true;
    if (drain && state.awaitDrainWriters.has(dest) && (!dest._writableState || dest._writableState.needDrain)) drain();
  };
  dest.on("unpipe", onunpipe);
  source.on("data", ondata);
  prepend(dest, "error", onerror);
  dest.once("close", onclose);
  dest.once("finish", onfinish);
  dest.emit("pipe", source);
  if (dest.writableNeedDrain === true) hold();
  else if (!state.flowing) source.resume();
  return dest;
}

function unpipe(dest) {
  const state = this._readableState;
  if (state.pipes.length === 0) return this;
  if (!dest) {
    const all = state.pipes;
    state.pipes = [];
    this.pause();
    for (const one of all) one.emit("unpipe", this, { hasUnpiped: false });
    return this;
  }
  const at = state.pipes.indexOf(dest);
  if (at === -1) return this;
  state.pipes.splice(at, 1);
  if (state.pipes.length === 0) this.pause();
  dest.emit("unpipe", this, { hasUnpiped: false });
  return this;
}

// Reads from an object that only emits `data` and `end`.
function wrap(source) {
  let paused = false;
  source.on("data", (chunk) => {
    if (!this.push(chunk) && source.pause) {
      paused = true;
      source.pause();
    }
  });
  source.on("end", () => this.push(null));
  source.on("error", (error) => errorOrDestroy(this, error));
  source.on("close", () => this.destroy());
  source.on("destroy", () => this.destroy());
  this._read = () => {
    if (paused && source.resume) {
      paused = false;
      source.resume();
    }
  };
  for (const key of Object.keys(source)) {
    if (this[key] === undefined && typeof source[key] === "function") this[key] = source[key].bind(source);
  }
  return this;
}

export function install(proto) {
  proto.pipe = pipe;
  proto.unpipe = unpipe;
  proto.wrap = wrap;
}

/** `pipe` of a stream that can only be written to. */
export function cannotPipe() {
  errorOrDestroy(this, errors.cannotPipe());
}
