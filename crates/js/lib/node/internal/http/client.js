// ClientRequest. A plain request goes through the host's `http` call when it is complete (the body is gathered
// first), which gives pooling, TLS and redirects in the host's hands (none are followed here, as in Node). A request
// over a unix socket, with a connection of the caller's own, with CONNECT or with Upgrade speaks HTTP/1.1 over a
// socket of node:net, or of node:tls, and sends its body as it comes.
import { nextTick } from "node:process";
import { Buffer } from "node:buffer";
import { stream } from "jackfield:host";
import { connect as netConnect } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { Socket } from "jackfield:node/internal/net/socket";
import { Agent, HttpsAgent, connectsItself } from "jackfield:node/internal/http/agent";
import { IncomingMessage } from "jackfield:node/internal/http/incoming";
import { OutgoingMessage } from "jackfield:node/internal/http/outgoing";
import { Parser } from "jackfield:node/internal/http/parser";
import { STATUS_CODES, isToken, toPairs, validateHeaderName } from "jackfield:node/internal/http/words";
import { abortError, callError, codeOf, fromHost, invalidArgType, nodeError } from "jackfield:node/internal/io_errors";

const BODILESS = new Set(["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT"]);
// The host frames the message itself.
const HOSTS_OWN = new Set(["connection", "keep-alive", "transfer-encoding", "content-length", "proxy-connection", "expect"]);
const hangUp = () => Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });

/** A URL as request options, with the user and password as `auth`. */
export function urlToOptions(url) {
  const hostname = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  const options = { protocol: url.protocol, hostname, hash: url.hash, search: url.search, pathname: url.pathname, path: `${url.pathname || ""}${url.search || ""}`, href: url.href };
  if (url.port !== "") options.port = Number(url.port);
  if (url.username || url.password) options.auth = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return options;
}

export class ClientRequest extends OutgoingMessage {
  constructor(input, options, callback, defaults = {}) {
    super({ autoDestroy: false });
    if (typeof input === "string") {
      let url;
      try {
        url = new URL(input);
      } catch {
        throw Object.assign(nodeError(TypeError, "ERR_INVALID_URL", "Invalid URL"), { input });
      }
      input = urlToOptions(url);
    } else if (input && typeof input.href === "string" && typeof input.searchParams === "object") {
      input = urlToOptions(input);
    } else {
      callback = options;
      options = input;
      input = null;
    }
    if (typeof options === "function") [callback, options] = [options, {}];
    const settings = { ...input, ...options };
    this._isRequest = true;
    this.#setup(settings, defaults);
    if (callback) this.once("response", callback);
    this.#headers(settings);
    this._raw = settings.socketPath || typeof settings.createConnection === "function" || this.method === "CONNECT" || this.hasHeader("upgrade") ||
      connectsItself(this.agent);
    this._settings = settings;
    if (settings.signal) this.#follow(settings.signal);
    if (this._raw) nextTick(() => this.#connect());
    else nextTick(() => this.#pretend());
  }

  #setup(settings, defaults) {
    const secure = (settings.protocol ?? defaults.protocol) === "https:";
    let { agent } = settings;
    if (agent === false) agent = new (secure ? HttpsAgent : Agent)();
    else if (agent == null) agent = typeof settings.createConnection === "function" ? null : defaults.agent?.();
    else if (typeof agent !== "object") throw invalidArgType("options.agent", "one of Agent-like Object, undefined, or false", agent);
    this.agent = agent;
    this.protocol = settings.protocol ?? agent?.protocol ?? defaults.protocol ?? "http:";
    const expected = defaults.protocol ?? agent?.protocol;
    if (expected && this.protocol !== expected && agent?.protocol !== this.protocol) {
      throw nodeError(TypeError, "ERR_INVALID_PROTOCOL", `Protocol "${this.protocol}" not supported. Expected "${expected}"`);
    }
    if (settings.path != null) {
      this.path = `${settings.path}`;
      if (/[^\x21-\xff]/.test(this.path)) throw nodeError(TypeError, "ERR_UNESCAPED_CHARACTERS", "Request path contains unescaped characters");
    }
    this.path ||= "/";
    this.host = settings.hostname ?? settings.host ?? "localhost";
    if (typeof this.host !== "string") throw invalidArgType("options.host", "of type string", this.host);
    this.port = settings.port ?? settings.defaultPort ?? agent?.defaultPort ?? (this.protocol === "https:" ? 443 : 80);
    const { method } = settings;
    if (method != null && typeof method !== "string") throw invalidArgType("options.method", "of type string", method);
    if (method != null && method !== "" && !isToken(method)) throw nodeError(TypeError, "ERR_INVALID_HTTP_TOKEN", `Method must be a valid HTTP token ["${method}"]`);
    this.method = (method || "GET").toUpperCase();
    this.useChunkedEncodingByDefault = !BODILESS.has(this.method);
    this.shouldKeepAlive = agent?.keepAlive ?? true;
    this.aborted = false;
    this.res = null;
    this.reusedSocket = false;
    this.maxHeadersCount = null;
    this.timeout = settings.timeout ?? agent?.options?.timeout;
    if (this.timeout !== undefined && typeof this.timeout !== "number") throw invalidArgType("timeout", "of type number", this.timeout);
    this._joinDuplicates = !!settings.joinDuplicateHeaders;
  }

  #headers(settings) {
    if (Array.isArray(settings.headers) || (settings.headers && typeof settings.headers.get === "function" && typeof settings.headers.entries === "function")) {
      for (const [name, value] of Array.isArray(settings.headers) ? toPairs(settings.headers) : settings.headers) this.appendHeader(name, value);
    } else {
      for (const [name, value] of toPairs(settings.headers)) {
        validateHeaderName(name);
        if (value !== undefined) this.setHeader(name, value);
        else throw nodeError(TypeError, "ERR_HTTP_INVALID_HEADER_VALUE", `Invalid value "undefined" for header "${name}"`);
      }
    }
    if (!this.hasHeader("host") && settings.setHost !== false) {
      const name = this.host.includes(":") && !this.host.startsWith("[") ? `[${this.host}]` : this.host;
      const usual = this.protocol === "https:" ? 443 : 80;
      this.setHeader("Host", Number(this.port) === usual ? name : `${name}:${this.port}`);
    }
    if (settings.auth && !this.hasHeader("authorization")) this.setHeader("Authorization", `Basic ${Buffer.from(settings.auth).toString("base64")}`);
  }

  #follow(signal) {
    const abort = () => this.destroy(abortError(signal));
    if (signal.aborted) nextTick(abort);
    else {
      signal.addEventListener("abort", abort, { once: true });
      this.once("close", () => signal.removeEventListener("abort", abort));
    }
  }

  _implicitHeader() {
    this._storeHead(`${this.method} ${this.path} HTTP/1.1`);
  }

  // ---- through the host ------------------------------------------------------------------------------------------

  // A socket that is only there to be asked and set.
  #pretend() {
    if (this.destroyed) return;
    const socket = new Socket();
    socket.encrypted = this.protocol === "https:";
    socket.authorized = socket.encrypted;
    socket._remote = { address: this.host, port: Number(this.port) };
    this.socket = socket;
    socket.on("timeout", () => this.emit("timeout"));
    if (this.timeout) socket.setTimeout(this.timeout);
    this.emit("socket", socket);
  }

  _flushHead() {
    if (this._raw) super._flushHead();
  }

  _put(chunk, callback) {
    if (this._raw) {
      super._put(chunk, callback);
      return;
    }
    if (!this.headersSent) this._implicitHeader();
    this._held.push(chunk);
    nextTick(callback);
  }

  _final(callback) {
    if (this._raw) {
      super._final(callback);
      return;
    }
    if (!this.headersSent) this._implicitHeader();
    nextTick(() => {
      if (!this.destroyed) this.#ask();
    });
    callback();
  }

  #ask() {
    const name = this.host.includes(":") && !this.host.startsWith("[") ? `[${this.host}]` : this.host;
    const usual = this.protocol === "https:" ? 443 : 80;
    const authority = Number(this.port) === usual ? name : `${name}:${this.port}`;
    const url = /^https?:\/\//.test(this.path) ? this.path : `${this.protocol}//${authority}${this.path.startsWith("/") ? "" : "/"}${this.path}`;
    const headers = [];
    for (const [key, [label, value]] of this._list) {
      if (HOSTS_OWN.has(key) || (key === "host" && `${value}`.toLowerCase() === authority.toLowerCase())) continue;
      for (const one of Array.isArray(value) ? value : [value]) headers.push([label, `${one}`]);
    }
    const params = { url, method: this.method, headers, redirect: "manual", raw: true };
    if (this._held.length > 0) params.body = new Uint8Array(Buffer.concat(this._held));
    this._held = [];
    let response = null;
    let source = null;
    const finish = () => {
      this._source = null;
      response._finish([]);
    };
    try {
      source = stream("http", params, (kind, value) => {
        if (this.destroyed && !response) return;
        this.socket?._touch();
        if (kind === "data" && value.status !== undefined) {
          response = this.#response({
            httpVersion: "1.1", statusCode: value.status, statusMessage: value.status_text ?? STATUS_CODES[value.status] ?? "", rawHeaders: rawHeaders(value.headers),
          });
        } else if (kind === "data" && value.data && response && !response.destroyed && !response._dumped) {
          response.push(typeof value.data === "string" ? Buffer.from(value.data) : Buffer.from(value.data.buffer, value.data.byteOffset, value.data.byteLength));
        } else if (kind === "end" && response) {
          finish();
        } else if (kind === "end") {
          this.destroy(hangUp());
        } else if (kind === "error") {
          this._source = null;
          this.#failed(value, response);
        }
      });
    } catch (error) {
      this.#failed(error, null);
      return;
    }
    this._source = source;
  }

  #failed(error, response) {
    const code = codeOf(error);
    let problem;
    if (error?.code === "io" && error.details?.errno) {
      problem = code === "ENOTFOUND" || code === "EAI_AGAIN"
        ? callError(code, "getaddrinfo", this.host, { hostname: this.host })
        : callError(code, code === "ECONNRESET" ? "read" : "connect", code === "ECONNRESET" ? "" : `${this.host}:${this.port}`, { address: this.host, port: Number(this.port) });
    } else {
      problem = fromHost(error, "request", `${this.protocol}//${this.host}:${this.port}`);
    }
    if (response) response.destroy(Object.assign(new Error("aborted"), { code: "ECONNRESET", cause: problem }));
    else this.destroy(problem);
  }

  #response(head) {
    const response = new IncomingMessage(this.socket)._fill(head);
    response.joinDuplicateHeaders = this._joinDuplicates;
    response.req = this;
    this.res = response;
    response._onDestroy = (error) => {
      if (!response.complete) this.#cut(error);
    };
    response.once("close", () => this.#over());
    if (!this.emit("response", response)) response._dump();
    return response;
  }

  #cut() {
    this._source?.close();
    this._source = null;
    if (this._raw) this.socket?.destroy();
  }

  #over() {
    this.socket?.setTimeout?.(0);
    if (!this.destroyed) super.destroy();
  }

  // ---- over a socket -----------------------------------------------------------------------------------------------

  #connect() {
    if (this.destroyed) return;
    const { _settings: settings } = this;
    const options = { ...this.agent?.options, ...settings, host: this.host, port: Number(this.port), path: settings.socketPath };
    if (!settings.socketPath) delete options.path;
    if (this.protocol === "https:") options.servername = settings.servername ?? this.host;
    const use = (error, socket) => {
      if (error) this.destroy(error);
      else this.#useSocket(socket);
    };
    try {
      if (settings.createConnection) {
        const socket = settings.createConnection.call(this.agent ?? this, options, use);
        if (socket) this.#useSocket(socket);
      } else if (connectsItself(this.agent)) {
        this.agent.addRequest(this, options);
      } else {
        this.#useSocket((this.protocol === "https:" ? tlsConnect : netConnect)(options));
      }
    } catch (error) {
      this.destroy(error);
    }
  }

  #useSocket(socket) {
    if (this._used) return;
    this._used = true;
    if (this.destroyed) {
      socket.destroy();
      return;
    }
    this.socket = socket;
    let response = null;
    const parser = new Parser("response", {
      head: (head) => {
        if (head.statusCode === 101 || (this.method === "CONNECT" && head.statusCode >= 200 && head.statusCode < 300)) {
          detach();
          const message = new IncomingMessage(socket)._fill(head);
          message.req = this;
          this.res = message;
          const event = this.method === "CONNECT" ? "connect" : "upgrade";
          nextTick(() => {
            message._finish([]);
            if (!this.emit(event, message, socket, Buffer.from(parser.takeRest()))) socket.destroy();
          });
          return "upgrade";
        }
        if (head.statusCode < 200) {
          if (head.statusCode === 100) this.emit("continue");
          this.emit("information", { statusCode: head.statusCode, statusMessage: head.statusMessage, httpVersion: head.httpVersion, rawHeaders: head.rawHeaders });
          informed = true;
          return "skip";
        }
        informed = false;
        response = this.#response(head);
        return this.method === "HEAD" ? "skip" : undefined;
      },
      body: (bytes) => {
        if (!response.destroyed && !response._dumped) response.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      },
      end: (trailers) => {
        if (informed) return;
        response._finish(trailers);
        detach();
        socket.on("error", () => {});
        socket.end();
        socket.resume();
      },
    });
    let informed = false;
    const ondata = (bytes) => {
      try {
        parser.feed(bytes);
      } catch (error) {
        socket.destroy();
        if (response) response.destroy(error);
        else this.destroy(error);
      }
    };
    const onend = () => {
      try {
        parser.close();
      } catch {
        if (response) response.destroy(Object.assign(new Error("aborted"), { code: "ECONNRESET" }));
      }
      if (!response) this.destroy(hangUp());
    };
    const onerror = (error) => this.destroy(error);
    const onclose = () => {
      if (!response) this.destroy(hangUp());
      else if (!response.complete) response.destroy(Object.assign(new Error("aborted"), { code: "ECONNRESET" }));
    };
    const detach = () => {
      socket.removeListener("data", ondata);
      socket.removeListener("end", onend);
      socket.removeListener("error", onerror);
      socket.removeListener("close", onclose);
    };
    socket.on("data", ondata);
    socket.on("end", onend);
    socket.on("error", onerror);
    socket.on("close", onclose);
    socket.on("timeout", () => this.emit("timeout"));
    if (this.timeout) socket.setTimeout(this.timeout);
    this._attach((bytes, callback) => socket.write(bytes, callback ? () => callback() : undefined));
    this.emit("socket", socket);
  }

  // ---- ending --------------------------------------------------------------------------------------------------------

  onSocket(socket) { this.#useSocket(socket); }
  setNoDelay() {}
  setSocketKeepAlive() {}
  clearTimeout(callback) { return this.setTimeout(0, callback); }

  abort() {
    if (this.aborted) return;
    this.aborted = true;
    nextTick(() => this.emit("abort"));
    this.destroy();
  }

  destroy(error, callback) {
    if (this.destroyed) return this;
    const early = !this.res;
    this.#cut();
    if (this.res && !this.res.complete) this.res.destroy(error);
    this.socket?.setTimeout?.(0);
    return super.destroy(error ?? (early ? hangUp() : undefined), callback);
  }
}

function rawHeaders(headers) {
  const raw = [];
  for (const [name, value] of toPairs(headers)) for (const one of [value].flat()) raw.push(name, `${one}`);
  return raw;
}
