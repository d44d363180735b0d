// http.Server: one request at a time per connection (pipelined ones wait their turn), keep-alive, time limits, and
// an answer of its own for what is not HTTP.
import { nextTick } from "node:process";
import { Buffer } from "node:buffer";
import { Server as NetServer } from "jackfield:node/internal/net/server";
import { Parser } from "jackfield:node/internal/http/parser";
import { IncomingMessage } from "jackfield:node/internal/http/incoming";
import { OutgoingMessage } from "jackfield:node/internal/http/outgoing";
import { STATUS_CODES, hasBadValue, toPairs } from "jackfield:node/internal/http/words";
import { invalidArgType, nodeError } from "jackfield:node/internal/io_errors";

// What may wait behind a request that is still being answered.
const MAX_WAITING = 1024 * 1024;
// What may lie unread of a body: the host cannot be told to wait.
const MAX_UNREAD = 64 * 1024 * 1024;

export class ServerResponse extends OutgoingMessage {
  constructor(request, options) {
    super(options);
    this.req = request;
    this.statusCode = 200;
    this.statusMessage = undefined;
    this.sendDate = true;
    if (request?.method === "HEAD") this._hasBody = false;
    if (request && request.httpVersion === "1.0") this.useChunkedEncodingByDefault = false;
  }

  assignSocket(socket) {
    this.socket = socket;
    this._attach((bytes, callback) => {
      if (socket.destroyed || !socket.writable) {
        if (callback) nextTick(callback);
        return;
      }
      socket.write(bytes, callback ? () => callback() : undefined);
    });
    this.emit("socket", socket);
  }

  detachSocket() { this.socket = null; }

  writeContinue(callback) {
    this._emitBytes(Buffer.from("HTTP/1.1 100 Continue\r\n\r\n"), callback);
  }
  writeProcessing() {
    this._emitBytes(Buffer.from("HTTP/1.1 102 Processing\r\n\r\n"));
  }
  writeEarlyHints(hints, callback) {
    let text = "HTTP/1.1 103 Early Hints\r\n";
    for (const [name, value] of toPairs(hints)) text += `${name}: ${[value].flat().join(", ")}\r\n`;
    this._emitBytes(Buffer.from(`${text}\r\n`, "latin1"), callback);
  }

  _implicitHeader() {
    this.writeHead(this.statusCode);
  }

  writeHead(statusCode, reason, headers) {
    if (this.headersSent) throw nodeError(Error, "ERR_HTTP_HEADERS_SENT", "Cannot write headers after they are sent to the client");
    const original = statusCode;
    statusCode |= 0;
    if (statusCode < 100 || statusCode > 999) throw nodeError(RangeError, "ERR_HTTP_INVALID_STATUS_CODE", `Invalid status code: ${original}`);
    if (typeof reason === "string") this.statusMessage = reason;
    else {
      this.statusMessage ||= STATUS_CODES[statusCode] ?? "unknown";
      headers ??= reason;
    }
    this.statusCode = statusCode;
    if (hasBadValue(this.statusMessage)) throw nodeError(TypeError, "ERR_INVALID_CHAR", 'Invalid character in statusMessage');
    if (Array.isArray(headers)) {
      const seen = new Set();
      for (const [name, value] of toPairs(headers)) {
        const key = `${name}`.toLowerCase();
        if (seen.has(key)) this.appendHeader(name, value);
        else this.setHeader(name, value);
        seen.add(key);
      }
    } else {
      for (const [name, value] of toPairs(headers)) if (name) this.setHeader(name, value);
    }
    if (statusCode === 204 || statusCode === 304 || (statusCode >= 100 && statusCode <= 199)) this._hasBody = false;
    this._storeHead(`HTTP/1.1 ${statusCode} ${this.statusMessage}`);
    return this;
  }
  writeHeader(...args) { return this.writeHead(...args); }
}

export class Server extends NetServer {
  constructor(options, listener) {
    if (typeof options === "function") [options, listener] = [{}, options];
    else if (options != null && typeof options !== "object") throw invalidArgType("options", "of type object", options);
    super({ allowHalfOpen: true });
    const settings = options ?? {};
    this._IncomingMessage = settings.IncomingMessage ?? IncomingMessage;
    this._ServerResponse = settings.ServerResponse ?? ServerResponse;
    this.timeout = 0;
    this.keepAliveTimeout = settings.keepAliveTimeout ?? 5000;
    this.requestTimeout = settings.requestTimeout ?? 300000;
    this.headersTimeout = settings.headersTimeout ?? Math.min(60000, this.requestTimeout || 60000);
    this.maxHeadersCount = null;
    this.maxRequestsPerSocket = settings.maxRequestsPerSocket ?? 0;
    this.maxHeaderSize = settings.maxHeaderSize ?? 16 * 1024;
    this._connections = new Set();
    if (listener) this.on("request", listener);
    this.on("connection", (socket) => new Connection(this, socket));
  }

  setTimeout(ms, callback) {
    this.timeout = ms;
    if (callback) this.on("timeout", callback);
    return this;
  }

  close(callback) {
    this.closeIdleConnections();
    return super.close(callback);
  }

  closeAllConnections() {
    for (const connection of [...this._connections]) connection.socket.destroy();
  }

  closeIdleConnections() {
    for (const connection of [...this._connections]) if (connection.idle) connection.socket.destroy();
  }
}

class Connection {
  constructor(server, socket) {
    this.server = server;
    this.socket = socket;
    this.request = null;
    this.response = null;
    this.served = 0;
    this.timer = null;
    this.upgraded = false;
    server._connections.add(this);
    this.parser = new Parser("request", {
      head: (head) => this.#head(head),
      body: (bytes) => {
        const request = this.request;
        if (!request || request._dumped || request.destroyed) return;
        request.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
        if (request.readableLength > MAX_UNREAD) socket.destroy();
      },
      end: (trailers) => {
        this.#limit(0);
        this.parser.pause();
        this.request?._finish(trailers);
        this.bodyDone = true;
        this.#maybeNext();
      },
    }, server.maxHeaderSize);
    this.onData = (bytes) => this.#data(bytes);
    this.onEnd = () => this.#ended();
    this.onError = (error) => {
      if (!server.emit("clientError", error, socket)) socket.destroy();
    };
    socket.on("data", this.onData);
    socket.on("end", this.onEnd);
    socket.on("error", this.onError);
    socket.on("close", () => this.#closed());
    if (server.timeout > 0) socket.setTimeout(server.timeout);
    socket.on("timeout", () => {
      const told = this.request?.emit("timeout", socket) || this.response?.emit("timeout", socket);
      if (!server.emit("timeout", socket) && !told) socket.destroy();
    });
    this.#limit(server.headersTimeout);
  }

  get idle() { return !this.response && this.parser.idle; }

  // One timer per connection: for the head, for the body, or for staying idle.
  #limit(ms, quiet) {
    clearTimeout(this.timer);
    this.timer = null;
    if (!(ms > 0)) return;
    this.timer = setTimeout(() => {
      if (quiet) this.socket.destroy();
      else this.#fail(nodeError(Error, "ERR_HTTP_REQUEST_TIMEOUT", "Request timeout"), 408);
    }, ms);
    this.timer?.unref?.();
  }

  #data(bytes) {
    if (this.timer === null && !this.response) this.#limit(this.server.headersTimeout);
    else if (this.quiet) {
      this.quiet = false;
      this.#limit(this.server.headersTimeout);
    }
    try {
      this.parser.feed(bytes);
    } catch (error) {
      this.#fail(error, error.status ?? 400, bytes);
      return;
    }
    if (!this.upgraded && this.parser.waiting > MAX_WAITING && this.response) this.socket.destroy();
  }

  #fail(error, status, rawPacket) {
    this.#limit(0);
    this.socket.removeListener("data", this.onData);
    if (rawPacket) error.rawPacket = rawPacket;
    error.bytesParsed = error.bytesParsed ?? 0;
    if (this.server.listenerCount("clientError") > 0) {
      this.server.emit("clientError", error, this.socket);
      return;
    }
    if (this.socket.writable && !this.response?.headersSent) {
      this.socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`, () => this.socket.destroy());
    } else {
      this.socket.destroy();
    }
    this.request?.destroy(error);
  }

  #head(head) {
    const { server, socket } = this;
    const request = new server._IncomingMessage(socket)._fill(head);
    this.request = request;
    this.bodyDone = false;
    if (head.method === "CONNECT" || head.upgrade) {
      const event = head.method === "CONNECT" ? "connect" : "upgrade";
      if (server.listenerCount(event) > 0) {
        this.#release();
        nextTick(() => {
          request._finish([]);
          server.emit(event, request, socket, Buffer.from(this.parser.takeRest()));
        });
        return "upgrade";
      }
      if (event === "connect") throw Object.assign(new Error("nobody listens for CONNECT"), { status: 405, code: "HPE_INVALID_METHOD" });
      request.upgrade = false;
    }
    if (head.httpVersion === "1.1" && request.headers.host === undefined) {
      throw Object.assign(new Error("Parse Error: Missing Host header"), { status: 400, code: "HPE_INVALID_HEADER_TOKEN" });
    }
    const response = new server._ServerResponse(request);
    this.response = response;
    this.served++;
    response.shouldKeepAlive = head.keepAlive && !(server.maxRequestsPerSocket > 0 && this.served >= server.maxRequestsPerSocket) && !server._closing;
    response._keepAliveTimeout = server.keepAliveTimeout;
    response.assignSocket(socket);
    request._onDestroy = () => {
      if (!request.complete && !socket.destroyed && request.errored) socket.destroy();
    };
    response.once("finish", () => {
      response._done = true;
      this.#maybeNext();
    });
    response.once("close", () => {
      if (!response._done && !socket.destroyed) socket.destroy();
    });
    this.#limit(server.requestTimeout);
    const expect = request.headers.expect;
    if (expect !== undefined && head.httpVersion === "1.1") {
      if (/^100-continue$/i.test(expect)) {
        if (server.listenerCount("checkContinue") > 0) {
          server.emit("checkContinue", request, response);
          return undefined;
        }
        response.writeContinue();
      } else if (server.listenerCount("checkExpectation") > 0) {
        server.emit("checkExpectation", request, response);
        return undefined;
      } else {
        response.writeHead(417);
        response.end();
        return undefined;
      }
    }
    server.emit("request", request, response);
    return undefined;
  }

  // A connection goes on when the answer is out and the request was taken in.
  #maybeNext() {
    const { response, socket, server } = this;
    if (!response?._done) return;
    if (response._last || !response.shouldKeepAlive || server._closing) {
      socket.destroySoon();
      return;
    }
    if (!this.bodyDone) {
      this.request._dump();
      return;
    }
    if (this.request && !this.request.readableEnded) this.request._dump();
    this.request = null;
    this.response = null;
    response.detachSocket(socket);
    nextTick(() => {
      if (socket.destroyed || this.upgraded) return;
      this.quiet = true;
      this.#limit(server.keepAliveTimeout, true);
      try {
        this.parser.resume();
      } catch (error) {
        this.#fail(error, error.status ?? 400);
        return;
      }
      if (this.ended && !this.response) socket.end();
    });
  }

  #ended() {
    this.ended = true;
    try {
      this.parser.close();
    } catch (error) {
      if (!this.response || !this.bodyDone) {
        this.#fail(error, 400);
        return;
      }
    }
    if (!this.response) this.socket.end();
    else if (this.response) this.response.shouldKeepAlive = false;
  }

  #release() {
    this.upgraded = true;
    this.#limit(0);
    const { socket } = this;
    socket.removeListener("data", this.onData);
    socket.removeListener("end", this.onEnd);
    socket.removeListener("error", this.onError);
    this.server._connections.delete(this);
  }

  #closed() {
    this.#limit(0);
    this.server._connections.delete(this);
    const { request, response } = this;
    if (request && !request.complete) request.destroy();
    if (response && !response.destroyed) response.destroy();
  }
}
