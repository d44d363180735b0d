// Socket: a Duplex over the host's `net` stream, for connections that this program makes and for those that a
// Server accepted. The host does not tell when bytes have left, so writes are done as soon as they are handed over,
// and a side that does not read cannot hold the other back: what is not read is kept, up to a limit.
import { nextTick } from "node:process";
import { Buffer } from "node:buffer";
import { stream } from "jackfield:host";
import { Duplex } from "jackfield:node/internal/streams/duplex";
import { isIP } from "jackfield:node/internal/net/address";
import { place } from "jackfield:node/internal/fs/core";
import { abortError, callError, codeOf, fromHost, invalidArgType, needFunction, nodeError, outOfRange } from "jackfield:node/internal/io_errors";

const kWire = Symbol("wire");
const kTimer = Symbol("timer");
const MAX_UNREAD = 64 * 1024 * 1024;
/** How long a connection that was ended here, and not yet by the other side, may still carry what was written. */
export const LINGER = 30000;

const familyOf = (address) => ({ 4: "IPv4", 6: "IPv6" })[isIP(address)];

/** `{address, port}` from what the host says of an end: an object, `1.2.3.4:5`, `[::1]:5` or a path. */
export function endpoint(value) {
  if (value === null || value === undefined) return {};
  if (typeof value === "object") return value;
  const found = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(value);
  return found ? { address: found[1] ?? found[2], port: Number(found[3]) } : { address: value };
}

export function toPort(port, name = "options.port") {
  const text = typeof port === "string" ? port.trim() : port;
  const number = typeof text === "string" && text !== "" ? Number(text) : text;
  if (typeof number !== "number" || !Number.isInteger(number) || number < 0 || number > 65535) {
    const shown = typeof port === "string" ? `type string ('${port}')` : `type ${typeof port} (${port})`;
    throw nodeError(RangeError, "ERR_SOCKET_BAD_PORT", `${name} should be >= 0 and < 65536. Received ${shown}.`);
  }
  return number;
}

export function Socket(options) {
  if (!(this instanceof Socket)) return new Socket(options);
  const settings = typeof options === "number" ? { fd: options } : options ?? {};
  Duplex.call(this, {
    allowHalfOpen: settings.allowHalfOpen ?? false, emitClose: false, autoDestroy: true, decodeStrings: true,
    highWaterMark: settings.highWaterMark, readableHighWaterMark: settings.readableHighWaterMark, writableHighWaterMark: settings.writableHighWaterMark,
  });
  this.connecting = false;
  this.timeout = 0;
  this.bytesRead = 0;
  this._bytesWritten = 0;
  this._local = {};
  this._remote = {};
  this._host = null;
  this._hadError = false;
  this[kWire] = null;
  this[kTimer] = null;
  if (settings.signal) {
    const abort = () => this.destroy(abortError(settings.signal));
    if (settings.signal.aborted) abort();
    else settings.signal.addEventListener("abort", abort, { once: true });
  }
  if (!settings.allowHalfOpen) this.on("end", onReadEnd);
}
Object.setPrototypeOf(Socket.prototype, Duplex.prototype);
Object.setPrototypeOf(Socket, Duplex);

// What is written after the other side has ended fails.
function onReadEnd() {
  if (!this.allowHalfOpen) this.write = writeAfterEnd;
}

function writeAfterEnd(chunk, encoding, callback) {
  if (typeof encoding === "function") callback = encoding;
  const error = Object.assign(new Error("This socket has been ended by the other party"), { code: "EPIPE" });
  if (typeof callback === "function") nextTick(callback, error);
  this.destroy(error);
  return false;
}

const proto = Socket.prototype;

/** (port, host, callback), (path, callback), (options, callback). */
export function connectArguments(args) {
  if (args.length === 1 && Array.isArray(args[0])) args = args[0];
  const last = args[args.length - 1];
  const callback = typeof last === "function" ? last : undefined;
  let options = {};
  if (args[0] !== null && typeof args[0] === "object") options = args[0];
  else if (typeof args[0] === "string" && Number.isNaN(Number(args[0]))) options.path = args[0];
  else {
    options.port = args[0];
    if (typeof args[1] === "string") options.host = args[1];
  }
  return [options, callback];
}

proto.connect = function connect(...args) {
  const [options, callback] = connectArguments(args);
  if (callback) this.once("connect", callback);
  if (this.destroyed) this._undestroy();
  if (this.write === writeAfterEnd) delete this.write;
  const params = { op: "connect" };
  if (options.path != null) {
    if (typeof options.path !== "string") throw invalidArgType("options.path", "of type string", options.path);
    params.path = place(options.path);
  } else {
    if (options.port === undefined) throw nodeError(TypeError, "ERR_MISSING_ARGS", 'The "options" or "port" or "path" argument must be specified');
    params.port = toPort(options.port, "Port");
    params.host = options.host ?? "localhost";
    if (typeof params.host !== "string") throw invalidArgType("options.host", "of type string", params.host);
    this._host = params.host;
  }
  if (options.tls) {
    params.tls = true;
    if (options.servername) params.server_name = options.servername;
  }
  this.connecting = true;
  this._start(params);
  return this;
};

proto._start = function start(params) {
  const where = params.path ?? `${params.host}:${params.port}`;
  const fail = (error) => {
    const code = codeOf(error);
    let problem;
    if (!this.connecting) problem = callError(code, "read");
    else if (code === "ENOTFOUND" || code === "EAI_AGAIN") problem = callError(code, "getaddrinfo", params.host, { hostname: params.host });
    else if (error.code === "io" && error.details?.errno) problem = callError(code, "connect", where, params.path ? { address: params.path } : { address: params.host, port: params.port });
    else problem = fromHost(error, "connect", where);
    this.destroy(problem);
  };
  let source;
  let lingering = null;
  try {
    source = stream("net", params, (kind, value) => {
      if (kind !== "data") clearTimeout(lingering);
      if (this.destroyed && kind !== "end") return;
      if (kind === "data") this._told(value);
      else if (kind === "error") fail(value);
      else this._wireClosed();
    });
  } catch (error) {
    nextTick(fail, error);
    return;
  }
  this[kWire] = {
    data: (bytes) => source.send({ data: bytes }), end: () => source.send({ end: true }), close: () => source.close(),
    finish: (ended) => {
      // When both sides have ended the host closes by itself, after the last byte.
      if (ended) return;
      lingering = setTimeout(() => source.close(), LINGER);
      lingering?.unref?.();
    },
    ref: () => source.ref?.(), unref: () => source.unref?.(),
  };
};

/** A connection that a Server got. */
proto._adopt = function adopt(wire, open) {
  this[kWire] = wire;
  this._local = endpoint(open?.local);
  this._remote = endpoint(open?.remote);
};

proto._told = function told(value) {
  this._touch();
  if (value.open) {
    this._local = endpoint(value.open.local);
    this._remote = endpoint(value.open.remote);
    this.connecting = false;
    this.emit("connect");
    this.emit("ready");
  } else if (value.data) {
    const bytes = typeof value.data === "string" ? Buffer.from(value.data) : Buffer.from(value.data.buffer, value.data.byteOffset, value.data.byteLength);
    this.bytesRead += bytes.length;
    this.push(bytes);
    if (this.readableLength > MAX_UNREAD) this.destroy(callError("ENOBUFS", "read", "more was received than was read"));
  } else if (value.end) {
    this._readEnded();
  }
};

proto._readEnded = function readEnded() {
  if (this._readableState.ended) return;
  this.push(null);
  this.read(0);
};

proto._wireClosed = function wireClosed() {
  if (this.destroyed) return;
  this[kWire] = null;
  this._readEnded();
  if (this.writableEnded || this.allowHalfOpen) this.end();
  if (this.readableEnded || this.readableLength === 0) nextTick(() => this.destroy());
  else this.once("end", () => this.destroy());
};

proto._read = function _read() {};

proto._send = function send(bytes, callback) {
  if (this.connecting) {
    this.once("connect", () => this._send(bytes, callback));
    this.once("close", () => callback(nodeError(Error, "ERR_SOCKET_CLOSED_BEFORE_CONNECTION", "Socket closed before the connection was established")));
    return;
  }
  if (!this[kWire]) {
    callback(callError("EPIPE", "write"));
    return;
  }
  this._touch();
  this._bytesWritten += bytes.length;
  this[kWire].data(bytes);
  // One message per turn of the loop: what is written meanwhile waits and goes together.
  setImmediate(callback);
};

proto._write = function _write(chunk, encoding, callback) {
  this._send(chunk, once(callback));
};
proto._writev = function _writev(chunks, callback) {
  this._send(Buffer.concat(chunks.map(({ chunk }) => chunk)), once(callback));
};

function once(callback) {
  let called = false;
  return (error) => {
    if (called) return;
    called = true;
    callback(error);
  };
}

proto._final = function _final(callback) {
  if (this.connecting) {
    this.once("connect", () => this._final(callback));
    return;
  }
  this[kWire]?.end();
  callback();
};

proto._destroy = function _destroy(error, callback) {
  this.connecting = false;
  clearTimeout(this[kTimer]);
  this[kTimer] = null;
  const wire = this[kWire];
  this[kWire] = null;
  if (wire) {
    if (error || !this.writableFinished) wire.close();
    else wire.finish(this._readableState.ended);
  }
  callback(error);
  nextTick(() => nextTick(() => this.emit("close", !!error)));
};

proto.destroySoon = function destroySoon() {
  if (this.writable) this.end();
  if (this.writableFinished) this.destroy();
  else this.once("finish", this.destroy);
};

proto.resetAndDestroy = function resetAndDestroy() {
  this.destroy(this.connecting ? nodeError(Error, "ERR_SOCKET_CLOSED_BEFORE_CONNECTION", "Socket closed before the connection was established") : undefined);
  return this;
};

proto._touch = function touch() {
  if (this[kTimer]) {
    clearTimeout(this[kTimer]);
    this[kTimer] = setTimeout(() => this._onTimeout(), this.timeout);
    this[kTimer]?.unref?.();
  }
};

proto._onTimeout = function onTimeout() {
  this[kTimer] = null;
  this.emit("timeout");
};

proto.setTimeout = function (ms, callback) {
  if (typeof ms !== "number") throw invalidArgType("msecs", "of type number", ms);
  if (!(ms >= 0 && ms < Infinity)) throw outOfRange("msecs", "a non-negative finite number", ms);
  if (callback !== undefined) needFunction(callback, "callback");
  this.timeout = ms;
  clearTimeout(this[kTimer]);
  this[kTimer] = null;
  if (ms === 0) {
    if (callback) this.removeListener("timeout", callback);
  } else {
    this[kTimer] = setTimeout(() => this._onTimeout(), ms);
    this[kTimer]?.unref?.();
    if (callback) this.once("timeout", callback);
  }
  return this;
};

proto.setNoDelay = function setNoDelay() { return this; };
proto.setKeepAlive = function setKeepAlive() { return this; };
proto.ref = function ref() {
  this[kWire]?.ref?.();
  return this;
};
proto.unref = function unref() {
  this[kWire]?.unref?.();
  return this;
};
proto.address = function address() {
  const { address: where, port } = this._local;
  return where === undefined ? {} : { address: where, family: familyOf(where), port };
};

const flag = (name, get) => Object.defineProperty(proto, name, { get, enumerable: false, configurable: true });
flag("pending", function () { return !this[kWire] || this.connecting; });
flag("readyState", function () {
  if (this.connecting) return "opening";
  if (this.readable && this.writable) return "open";
  if (this.readable) return "readOnly";
  return this.writable ? "writeOnly" : "closed";
});
flag("bufferSize", function () { return this.writableLength; });
flag("bytesWritten", function () { return this._bytesWritten + (this.writableLength ?? 0); });
flag("remoteAddress", function () { return this._remote.address; });
flag("remotePort", function () { return this._remote.port; });
flag("remoteFamily", function () { return familyOf(this._remote.address ?? ""); });
flag("localAddress", function () { return this._local.address; });
flag("localPort", function () { return this._local.port; });
flag("localFamily", function () { return familyOf(this._local.address ?? ""); });
