// ReadStream and WriteStream over descriptors, with `open` and `ready`, positions, autoClose and signals.
import { Readable } from "jackfield:node/internal/streams/readable";
import { Writable } from "jackfield:node/internal/streams/writable";
import { Buffer } from "node:buffer";
import { nextTick } from "node:process";
import { run, runCallback, toOptions, toPath } from "jackfield:node/internal/fs/core";
import * as fds from "jackfield:node/internal/fs/fd";
import { FileHandle } from "jackfield:node/internal/fs/handle";
import { invalidArgType, needInteger, outOfRange } from "jackfield:node/internal/io_errors";

const kHandle = Symbol("handle");
const kBusy = Symbol("busy");

function useDescriptor(stream, options) {
  if (options.fd == null) {
    stream.fd = null;
    return;
  }
  if (typeof options.fd === "number") stream.fd = needInteger(options.fd, "fd", 0);
  else if (options.fd instanceof FileHandle) {
    stream[kHandle] = options.fd;
    stream.fd = options.fd.fd;
    options.fd.on("close", () => stream.destroy());
  } else throw invalidArgType("options.fd", "of type number or an instance of FileHandle", options.fd);
}

function construct(callback) {
  if (typeof this.fd === "number") {
    callback();
    return;
  }
  // Old packages (graceful-fs) replace `open` of a stream.
  if (this.open !== standardOpen) {
    const emit = this.emit;
    this.emit = function (name, ...args) {
      if (name === "open") {
        this.emit = emit;
        callback();
        emit.call(this, name, ...args);
      } else if (name === "error") {
        this.emit = emit;
        callback(args[0]);
      } else {
        emit.call(this, name, ...args);
      }
    };
    this.open();
    return;
  }
  const opened = (error, fd) => {
    if (error) {
      callback(error);
      return;
    }
    this.fd = fd;
    callback();
    this.emit("open", fd);
    this.emit("ready");
  };
  if (typeof this.fs?.open === "function") this.fs.open(this.path, this.flags, this.mode, opened);
  else runCallback(fds.open(this.path, this.flags, this.mode), opened);
}

function standardOpen() {}

function closeDescriptor(stream, error, callback) {
  const finish = (problem) => callback(problem ?? error);
  const { fd } = stream;
  stream.fd = null;
  if (stream[kHandle]) {
    stream[kHandle].close().then(() => finish(), finish);
    return;
  }
  if (typeof stream.fs?.close === "function") stream.fs.close(fd, finish);
  else runCallback(fds.close(fd), finish);
}

function destroyWith(stream, error, callback) {
  if (stream[kBusy]) stream.once(kBusy, (problem) => finishDestroy(stream, error ?? problem, callback));
  else finishDestroy(stream, error, callback);
}

function finishDestroy(stream, error, callback) {
  if (typeof stream.fd === "number" && stream.autoClose !== false) closeDescriptor(stream, error, callback);
  else callback(error);
}

function idle(stream) {
  stream[kBusy] = false;
  if (stream.destroyed) stream.emit(kBusy);
}

function closeMethod(callback) {
  if (callback) {
    if (this.closed) {
      nextTick(callback);
      return;
    }
    this.once("close", () => callback());
  }
  if (!this.autoClose && this instanceof WriteStream) this.on("finish", this.destroy);
  if (this instanceof WriteStream) this.end();
  else this.destroy();
}

function prepare(stream, path, options, defaults) {
  const settings = { ...toOptions(options) };
  settings.highWaterMark ??= defaults.highWaterMark;
  stream.fs = settings.fs;
  stream.flags = settings.flags ?? defaults.flags;
  stream.mode = settings.mode ?? 0o666;
  stream.autoClose = settings.autoClose ?? true;
  settings.autoDestroy = stream.autoClose;
  settings.emitClose ??= true;
  if (settings.fd == null) stream.path = toPath(path);
  else stream.path = path == null ? undefined : toPath(path);
  useDescriptor(stream, settings);
  stream.start = settings.start;
  if (stream.start !== undefined) needInteger(stream.start, "start", 0);
  stream.pos = stream.start;
  return settings;
}

export function ReadStream(path, options) {
  if (!(this instanceof ReadStream)) return new ReadStream(path, options);
  const settings = prepare(this, path, options, { highWaterMark: 64 * 1024, flags: "r" });
  this.end = settings.end ?? Infinity;
  this.bytesRead = 0;
  if (this.end !== Infinity) {
    needInteger(this.end, "end", 0);
    if (this.start !== undefined && this.start > this.end) throw outOfRange("start", `<= "end" (here: ${this.end})`, this.start);
    if (this.start === undefined && typeof this.fd !== "number") this.pos = this.start = 0;
  }
  const { encoding, signal, highWaterMark, autoDestroy, emitClose, objectMode } = settings;
  Readable.call(this, { signal, highWaterMark, autoDestroy, emitClose, objectMode });
  if (encoding) this.setEncoding(encoding);
}
Object.setPrototypeOf(ReadStream.prototype, Readable.prototype);
Object.setPrototypeOf(ReadStream, Readable);
ReadStream.prototype.open = standardOpen;
ReadStream.prototype._construct = construct;

ReadStream.prototype._read = function _read(size) {
  const left = this.pos !== undefined ? this.end - this.pos + 1 : this.end - this.bytesRead + 1;
  const count = Math.min(left, size);
  if (count <= 0) {
    this.push(null);
    return;
  }
  const buffer = Buffer.allocUnsafe(count);
  this[kBusy] = true;
  const done = (error, got) => {
    idle(this);
    if (this.destroyed) return;
    if (error) {
      this.destroy(error);
    } else if (got > 0) {
      if (this.pos !== undefined) this.pos += got;
      this.bytesRead += got;
      this.push(got === buffer.length ? buffer : buffer.subarray(0, got));
    } else {
      this.push(null);
    }
  };
  if (typeof this.fs?.read === "function") this.fs.read(this.fd, buffer, 0, count, this.pos ?? null, done);
  else run(fds.read(this.fd, buffer, 0, count, this.pos ?? null)).then((got) => done(null, got), done);
};
ReadStream.prototype._destroy = function _destroy(error, callback) {
  destroyWith(this, error, callback);
};
ReadStream.prototype.close = closeMethod;
Object.defineProperty(ReadStream.prototype, "pending", { get() { return this.fd === null; }, configurable: true });

export function WriteStream(path, options) {
  if (!(this instanceof WriteStream)) return new WriteStream(path, options);
  const settings = prepare(this, path, options, { highWaterMark: 16 * 1024, flags: "w" });
  this.bytesWritten = 0;
  const { encoding, signal, highWaterMark, autoDestroy, emitClose } = settings;
  Writable.call(this, { signal, highWaterMark, autoDestroy, emitClose, decodeStrings: true });
  if (encoding) this.setDefaultEncoding(encoding);
}
Object.setPrototypeOf(WriteStream.prototype, Writable.prototype);
Object.setPrototypeOf(WriteStream, Writable);
WriteStream.prototype.open = standardOpen;
WriteStream.prototype._construct = construct;

function writeBytes(stream, data, callback) {
  stream[kBusy] = true;
  const done = (error, count) => {
    idle(stream);
    if (error) {
      if (stream.autoClose) stream.destroy();
      callback(error);
      return;
    }
    stream.bytesWritten += count;
    callback();
  };
  const position = stream.pos;
  if (stream.pos !== undefined) stream.pos += data.length;
  if (typeof stream.fs?.write === "function") stream.fs.write(stream.fd, data, 0, data.length, position ?? null, done);
  else run(fds.write(stream.fd, data, 0, data.length, position ?? null)).then((count) => done(null, count), done);
}

WriteStream.prototype._write = function _write(data, encoding, callback) {
  writeBytes(this, data, callback);
};
WriteStream.prototype._writev = function _writev(chunks, callback) {
  writeBytes(this, Buffer.concat(chunks.map(({ chunk }) => chunk)), callback);
};
WriteStream.prototype._destroy = function _destroy(error, callback) {
  destroyWith(this, error, callback);
};
WriteStream.prototype.close = closeMethod;
WriteStream.prototype.destroySoon = WriteStream.prototype.end;
Object.defineProperty(WriteStream.prototype, "pending", { get() { return this.fd === null; }, configurable: true });
export function createReadStream(path, options) {
  return new ReadStream(path, options);
}

export function createWriteStream(path, options) {
  return new WriteStream(path, options);
}
