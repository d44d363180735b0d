// process.stdout, stderr and stdin. An extension has no terminal and no pipe: lines that it writes go to its log
// (stdout as info, stderr as warnings), and stdin has ended before it began. Written as small writable objects with
// Node's surface rather than real streams, so that a log line does not load the stream modules.
import { native } from "jackfield:host";
import { EventEmitter } from "node:events";

const LIMIT = 65536;

function logLine(level, text) {
  native("console", level, text);
}

export class LogWriter extends EventEmitter {
  #rest = "";
  #level;
  #flushing = false;
  constructor(fd) {
    super();
    this.#level = fd === 2 ? "warn" : "info";
    Object.assign(this, {
      fd, isTTY: false, columns: 80, rows: 24, writable: true, writableEnded: false, writableFinished: false, destroyed: false,
      writableLength: 0, writableHighWaterMark: 16384, writableObjectMode: false, writableNeedDrain: false, _type: "pipe",
    });
  }
  write(chunk, encoding, callback) {
    const done = typeof encoding === "function" ? encoding : callback;
    this.#rest += typeof chunk === "string" ? chunk : native("utf8_decode", chunk, false, true);
    let end;
    while ((end = this.#rest.indexOf("\n")) !== -1) {
      logLine(this.#level, this.#rest.slice(0, end));
      this.#rest = this.#rest.slice(end + 1);
    }
    if (this.#rest.length > LIMIT) this.#flush();
    else if (this.#rest !== "" && !this.#flushing) {
      // An unfinished line appears when the code that wrote it lets go.
      this.#flushing = true;
      setTimeout(() => {
        this.#flushing = false;
        this.#flush();
      }, 0);
    }
    if (typeof done === "function") queueMicrotask(() => done(null));
    return true;
  }
  #flush() {
    const rest = this.#rest;
    this.#rest = "";
    if (rest !== "") logLine(this.#level, rest);
  }
  end(chunk, encoding, callback) {
    if (typeof chunk !== "function" && chunk != null) this.write(chunk, encoding);
    this.#flush();
    const done = [chunk, encoding, callback].find((a) => typeof a === "function");
    if (done) queueMicrotask(done);
    return this;
  }
  cork() {}
  uncork() {}
  destroy() { return this; }
  setDefaultEncoding() { return this; }
  ref() { return this; }
  unref() { return this; }
  getColorDepth() { return 1; }
  hasColors() { return false; }
  getWindowSize() { return [this.columns, this.rows]; }
  clearLine(_, callback) { return this.#moved(callback); }
  clearScreenDown(callback) { return this.#moved(callback); }
  cursorTo(_x, y, callback) { return this.#moved(typeof y === "function" ? y : callback); }
  moveCursor(_x, _y, callback) { return this.#moved(callback); }
  #moved(callback) {
    if (typeof callback === "function") queueMicrotask(callback);
    return true;
  }
}

export const output = (name) => new LogWriter(name === "stderr" ? 2 : 1);

class EmptyInput extends EventEmitter {
  fd = 0;
  isTTY = false;
  isRaw = false;
  readable = true;
  readableEnded = false;
  destroyed = false;
  #told = false;
  on(name, listener) {
    super.on(name, listener);
    if (name === "data" || name === "end" || name === "readable") this.resume();
    return this;
  }
  resume() {
    if (this.#told) return this;
    this.#told = true;
    queueMicrotask(() => {
      this.readable = false;
      this.readableEnded = true;
      this.emit("end");
      this.emit("close");
    });
    return this;
  }
  addListener(name, listener) { return this.on(name, listener); }
  pause() { return this; }
  read() { return null; }
  setEncoding() { return this; }
  setRawMode() { return this; }
  pipe(destination, options) {
    if (options?.end !== false) queueMicrotask(() => destination.end());
    return destination;
  }
  unpipe() { return this; }
  destroy() { return this; }
  ref() { return this; }
  unref() { return this; }
  isPaused() { return false; }
  async *[Symbol.asyncIterator]() {}
}

export const emptyInput = () => new EmptyInput();
