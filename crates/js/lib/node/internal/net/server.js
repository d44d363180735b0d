// net.Server over the host's `net` listen stream. Without a host it listens on this machine only (127.0.0.1), where
// Node would take every interface; an address that others can reach has to be named, and granted.
import EventEmitter from "node:events";
import { nextTick } from "node:process";
import { stream } from "jackfield:host";
import { LINGER, Socket, endpoint, toPort } from "jackfield:node/internal/net/socket";
import { isIP } from "jackfield:node/internal/net/address";
import { place } from "jackfield:node/internal/fs/core";
import { callError, codeOf, fromHost, invalidArgType, invalidArgValue, nodeError } from "jackfield:node/internal/io_errors";

export function Server(options, listener) {
  if (!(this instanceof Server)) return new Server(options, listener);
  if (typeof EventEmitter.init === "function") EventEmitter.init.call(this);
  else EventEmitter.call(this);
  if (typeof options === "function") {
    listener = options;
    options = {};
  } else if (options != null && typeof options !== "object") {
    throw invalidArgType("options", "of type Object", options);
  }
  if (typeof listener === "function") this.on("connection", listener);
  this.allowHalfOpen = options?.allowHalfOpen ?? false;
  this.pauseOnConnect = !!options?.pauseOnConnect;
  this.maxConnections = undefined;
  this._source = null;
  this._where = null;
  this._sockets = new Map();
  this._lingering = new Map();
  this._closing = false;
  this._unbound = false;
}
Object.setPrototypeOf(Server.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Server, EventEmitter);

const proto = Server.prototype;

proto.listen = function listen(...args) {
  const last = args[args.length - 1];
  const callback = typeof last === "function" ? args.pop() : undefined;
  const params = { op: "listen" };
  let options = {};
  if (args[0] !== null && typeof args[0] === "object") options = args[0];
  else if (typeof args[0] === "string" && Number.isNaN(Number(args[0]))) options.path = args[0];
  else {
    options.port = args[0];
    if (typeof args[1] === "string") options.host = args[1];
  }
  if (this._source) throw nodeError(Error, "ERR_SERVER_ALREADY_LISTEN", "Listen method has been called more than once without closing.");
  if (options.path != null) {
    params.path = place(options.path);
    this._path = options.path;
  } else {
    this._path = undefined;
    if (options.port != null && typeof options.port !== "number" && typeof options.port !== "string") throw invalidArgValue("options", options);
    params.port = options.port == null ? 0 : toPort(options.port);
    if (options.host != null) params.host = `${options.host}`;
  }
  if (callback) this.once("listening", callback);
  this._closing = false;
  this._unbound = false;
  const where = params.path ?? `${params.host ?? "127.0.0.1"}:${params.port}`;
  const fail = (error) => {
    const source = this._source;
    this._source = null;
    let problem;
    if (error.code === "io" && error.details?.errno) {
      problem = callError(codeOf(error), "listen", "", params.path ? { address: params.path, port: -1 } : { address: params.host ?? "127.0.0.1", port: params.port });
      problem.message = `listen ${problem.code}: ${WORDS[problem.code] ?? error.message} ${where}`;
    } else {
      problem = fromHost(error, "listen", where);
    }
    if (source || !this._where) this.emit("error", problem);
  };
  try {
    const source = stream("net", params, (kind, value) => {
      if (kind === "data") {
        this._told(value, source);
        return;
      }
      for (const timer of this._lingering.values()) clearTimeout(timer);
      this._lingering.clear();
      if (kind === "error") fail(value);
      else if (this._source === source) this._ended();
    });
    this._source = source;
  } catch (error) {
    nextTick(fail, error);
    return this;
  }
  if (options.signal) {
    if (options.signal.aborted) this.close();
    else options.signal.addEventListener("abort", () => this.close(), { once: true });
  }
  return this;
};

const WORDS = { EADDRINUSE: "address already in use", EACCES: "permission denied", EADDRNOTAVAIL: "address not available" };

proto._told = function told(value, source) {
  if (value.listening) {
    const { address, port } = endpoint(value.listening);
    this._where = this._path ?? { address, family: isIP(address) === 6 ? "IPv6" : "IPv4", port };
    if (this._closing) return;
    this.emit("listening");
    return;
  }
  const { conn } = value;
  if (conn === undefined) {
    // The port is free again; before that somebody could still connect.
    if (value.closed && this._source === source) {
      this._unbound = true;
      this._maybeClosed();
    }
    return;
  }
  const socket = this._sockets.get(conn);
  if (value.open) {
    // One that slipped in while the listener was closing.
    if (this._source !== source || this._closing) source.send({ conn, close: true });
    else this._accept(conn, value.open);
    return;
  }
  if (value.closed) {
    clearTimeout(this._lingering.get(conn));
    this._lingering.delete(conn);
  }
  if (!socket) return;
  if (value.closed) {
    this._sockets.delete(conn);
    socket._wireClosed();
    this._maybeClosed();
  } else if (!socket.destroyed) {
    socket._told(value);
  }
};

proto._accept = function accept(conn, open) {
  const source = this._source;
  const send = (value) => {
    try {
      source.send({ conn, ...value });
    } catch {
      // The listening stream is gone, and the connection with it.
    }
  };
  if (this.maxConnections != null && this._sockets.size >= this.maxConnections) {
    send({ close: true });
    this.emit("drop", endpoint(open.remote));
    return null;
  }
  const socket = new Socket({ allowHalfOpen: this.allowHalfOpen });
  const gone = () => {
    if (this._sockets.get(conn) === socket) this._sockets.delete(conn);
  };
  socket._adopt({
    data: (bytes) => send({ data: bytes }), end: () => send({ end: true }),
    close: () => {
      gone();
      send({ close: true });
    },
    finish: (ended) => {
      gone();
      if (ended) return;
      const timer = setTimeout(() => send({ close: true }), LINGER);
      timer?.unref?.();
      this._lingering.set(conn, timer);
    },
  }, open);
  socket.server = this;
  this._sockets.set(conn, socket);
  socket.once("close", () => {
    gone();
    this._maybeClosed();
  });
  if (this.pauseOnConnect) socket.pause();
  this.emit("connection", socket);
  return socket;
};

proto._ended = function ended() {
  this._source = null;
  for (const socket of this._sockets.values()) socket._wireClosed();
  this._sockets.clear();
  this._closing = true;
  this._unbound = true;
  this._maybeClosed();
};

proto._maybeClosed = function maybeClosed() {
  if (!this._closing || !this._unbound || this._sockets.size > 0 || this._where === null) return;
  this._where = null;
  // The host's side ends when the last byte of the last connection is out.
  this._source = null;
  nextTick(() => this.emit("close"));
};

proto.close = function close(callback) {
  if (typeof callback === "function") {
    if (!this._source || this._closing) this.once("close", () => callback(nodeError(Error, "ERR_SERVER_NOT_RUNNING", "Server is not running.")));
    else this.once("close", () => callback());
  }
  if (!this._source) {
    nextTick(() => this.emit("close"));
    return this;
  }
  if (this._closing) return this;
  this._closing = true;
  this._source.send({ close: true });
  this._where ??= {};
  return this;
};

proto.address = function address() {
  return this._closing ? null : this._where;
};
proto.getConnections = function getConnections(callback) {
  nextTick(callback, null, this._sockets.size);
  return this;
};
proto.ref = function ref() {
  this._source?.ref?.();
  return this;
};
proto.unref = function unref() {
  this._source?.unref?.();
  return this;
};
Object.defineProperty(proto, "listening", { get() { return !!this._source && this._where !== null && !this._closing; }, configurable: true });
if (Symbol.asyncDispose) {
  proto[Symbol.asyncDispose] = function asyncDispose() {
    return this._source ? new Promise((resolve) => this.close(() => resolve())) : Promise.resolve();
  };
}
