// Agent: kept for its options and for code that makes its own connections. The pool of connections is the host's,
// so the lists of sockets are always empty.
import EventEmitter from "node:events";

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
}
