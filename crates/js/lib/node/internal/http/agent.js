// Agent: kept for its options and for code that makes its own connections (proxies derive from it). The pool of
// connections is the host's, so the lists of sockets are always empty.
import EventEmitter from "node:events";
import { connect as netConnect } from "node:net";
import { connect as tlsConnect } from "node:tls";

export class Agent extends EventEmitter {
  constructor(options) {
    super();
    this.options = { path: null, noDelay: true, ...options };
    this.defaultPort = 80;
    this.protocol = "http:";
    this.requests = Object.create(null);
    this.sockets = Object.create(null);
    this.freeSockets = Object.create(null);
    this.keepAliveMsecs = this.options.keepAliveMsecs ?? 1000;
    this.keepAlive = this.options.keepAlive ?? false;
    this.maxSockets = this.options.maxSockets ?? Infinity;
    this.maxFreeSockets = this.options.maxFreeSockets ?? 256;
    this.scheduling = this.options.scheduling ?? "lifo";
    this.maxTotalSockets = this.options.maxTotalSockets ?? Infinity;
    this.totalSocketCount = 0;
  }

  getName(options = {}) {
    let name = options.host || "localhost";
    name += `:${options.port ?? ""}:${options.localAddress ?? ""}`;
    if (options.family === 4 || options.family === 6) name += `:${options.family}`;
    if (options.socketPath) name += `:${options.socketPath}`;
    return name;
  }

  createConnection(options, callback) {
    return netConnect(options, callback);
  }

  /** Makes a socket for a request. */
  createSocket(request, options, callback) {
    let told = false;
    const done = (error, socket) => {
      if (told) return;
      told = true;
      callback(error, socket);
    };
    const socket = this.createConnection(options, done);
    if (socket) done(null, socket);
  }

  addRequest(request, options) {
    this.createSocket(request, options, (error, socket) => {
      if (error) request.destroy(error);
      else request.onSocket(socket);
    });
  }

  destroy() {}
  keepSocketAlive() { return true; }
  reuseSocket() {}
}

export class HttpsAgent extends Agent {
  constructor(options) {
    super(options);
    this.defaultPort = 443;
    this.protocol = "https:";
    this.maxCachedSessions = this.options.maxCachedSessions ?? 100;
  }

  createConnection(options, callback) {
    return tlsConnect(options, callback);
  }
}

/** Whether an agent connects in its own way, so that the host's pool cannot serve it. */
export function connectsItself(agent) {
  if (!agent) return false;
  const usual = [Agent.prototype, HttpsAgent.prototype];
  return ["createConnection", "createSocket", "addRequest"].some((name) => typeof agent[name] === "function" && !usual.some((base) => agent[name] === base[name]));
}
