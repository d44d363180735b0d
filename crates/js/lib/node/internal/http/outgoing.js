// OutgoingMessage: headers and framing of what is sent, for requests and for answers. The bytes go to `_sink`, which
// the server or the client sets; until then they wait here.
import { nextTick } from "node:process";
import { Buffer } from "node:buffer";
import { Writable } from "jackfield:node/internal/streams/writable";
import { toPairs, validateHeaderName, validateHeaderValue } from "jackfield:node/internal/http/words";
import { invalidArgType, nodeError } from "jackfield:node/internal/io_errors";

const CRLF = "\r\n";
let dateText = "";
let dateAt = 0;

function utcDate() {
  const now = Date.now();
  if (now - dateAt >= 1000 || dateText === "") {
    dateAt = now - (now % 1000);
    dateText = new Date(now).toUTCString();
  }
  return dateText;
}

export class OutgoingMessage extends Writable {
  constructor(options) {
    super({ decodeStrings: true, autoDestroy: options?.autoDestroy ?? true, highWaterMark: options?.highWaterMark });
    this.socket = null;
    this.headersSent = false;
    this.sendDate = false;
    this.shouldKeepAlive = true;
    this.chunkedEncoding = false;
    this.useChunkedEncodingByDefault = true;
    this.strictContentLength = false;
    this.maxRequestsOnConnectionReached = false;
    this.finished = false;
    this._hasBody = true;
    this._list = new Map();
    this._trailer = "";
    this._sink = null;
    this._held = [];
    this._removed = new Set();
    this._last = false;
  }

  get connection() { return this.socket; }
  set connection(value) { this.socket = value; }
  get _header() { return this.headersSent ? this._headText ?? "" : null; }

  #open(name) {
    if (this.headersSent) throw nodeError(Error, "ERR_HTTP_HEADERS_SENT", `Cannot ${name} headers after they are sent to the client`);
  }

  setHeader(name, value) {
    this.#open("set");
    validateHeaderName(name);
    validateHeaderValue(name, value);
    if (Array.isArray(value)) for (const one of value) validateHeaderValue(name, one);
    const key = name.toLowerCase();
    this._list.set(key, [name, value]);
    this._removed.delete(key);
    return this;
  }

  setHeaders(headers) {
    this.#open("set");
    if (headers === null || typeof headers !== "object" || Array.isArray(headers) || typeof headers.keys !== "function" || typeof headers.get !== "function") {
      throw invalidArgType("headers", "an instance of Headers or Map", headers);
    }
    const cookies = [];
    for (const [name, value] of headers) {
      if (name === "set-cookie") cookies.push(...[value].flat());
      else this.setHeader(name, value);
    }
    if (cookies.length) this.setHeader("set-cookie", cookies);
    return this;
  }

  appendHeader(name, value) {
    this.#open("append");
    validateHeaderName(name);
    validateHeaderValue(name, value);
    const present = this._list.get(name.toLowerCase());
    if (present) present[1] = [present[1], value].flat();
    else this.setHeader(name, value);
    return this;
  }

  getHeader(name) {
    if (typeof name !== "string") throw invalidArgType("name", "of type string", name);
    return this._list.get(name.toLowerCase())?.[1];
  }
  hasHeader(name) {
    if (typeof name !== "string") throw invalidArgType("name", "of type string", name);
    return this._list.has(name.toLowerCase());
  }
  getHeaderNames() { return [...this._list.keys()]; }
  getRawHeaderNames() { return [...this._list.values()].map(([name]) => name); }
  getHeaders() {
    const headers = Object.create(null);
    for (const [key, [, value]] of this._list) headers[key] = value;
    return headers;
  }
  removeHeader(name) {
    if (typeof name !== "string") throw invalidArgType("name", "of type string", name);
    this.#open("remove");
    const key = name.toLowerCase();
    this._list.delete(key);
    this._removed.add(key);
  }

  addTrailers(headers) {
    for (const [name, value] of toPairs(headers)) {
      validateHeaderName(name, "Trailer name");
      validateHeaderValue(name, value);
      for (const one of [value].flat()) this._trailer += `${name}: ${one}${CRLF}`;
    }
  }

  setTimeout(ms, callback) {
    if (callback) this.on("timeout", callback);
    if (this.socket) this.socket.setTimeout?.(ms);
    else this.once("socket", (socket) => socket.setTimeout(ms));
    return this;
  }

  flushHeaders() {
    if (!this.headersSent) this._implicitHeader();
    this._flushHead();
  }

  _implicitHeader() {
    throw nodeError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _implicitHeader() method is not implemented");
  }

  /** Fixes the head: the first line, the headers, and how the body will be framed. */
  _storeHead(firstLine) {
    const lines = [];
    for (const [, [name, value]] of this._list) {
      for (const one of Array.isArray(value) && name.toLowerCase() !== "cookie" ? value : [Array.isArray(value) ? value.join("; ") : value]) lines.push(`${name}: ${one}`);
    }
    const has = (key) => this._list.has(key);
    const text = (key) => `${this._list.get(key)?.[1] ?? ""}`.toLowerCase();
    if (this.sendDate && !has("date")) lines.push(`Date: ${utcDate()}`);
    if (has("connection")) {
      if (/(^|,)\s*close\s*(,|$)/.test(text("connection"))) this._last = true;
      else if (/keep-alive/.test(text("connection"))) this.shouldKeepAlive = true;
    }
    const framing = [];
    if (has("transfer-encoding")) this.chunkedEncoding = /chunked\s*$/.test(text("transfer-encoding"));
    else if (!has("content-length")) {
      if (!this._hasBody) this.chunkedEncoding = false;
      else if (this._knownLength !== undefined && !this._removed.has("content-length")) framing.push(`Content-Length: ${this._knownLength}`);
      else if (!this.useChunkedEncodingByDefault) this._last = !this._isRequest;
      else if (!this._removed.has("transfer-encoding")) {
        framing.push("Transfer-Encoding: chunked");
        this.chunkedEncoding = true;
      } else this._last = true;
    }
    if (!has("connection") && !this._removed.has("connection")) {
      const keep = this.shouldKeepAlive && !this._last;
      lines.push(`Connection: ${keep ? "keep-alive" : "close"}`);
      if (keep && this._keepAliveTimeout >= 1000) lines.push(`Keep-Alive: timeout=${Math.floor(this._keepAliveTimeout / 1000)}`);
      if (!keep) this._last = true;
    }
    lines.push(...framing);
    this._headText = `${firstLine}${CRLF}${lines.join(CRLF)}${lines.length ? CRLF : ""}${CRLF}`;
    this.headersSent = true;
  }

  _flushHead() {
    if (this._headFlushed) return;
    this._headFlushed = true;
    this._emitBytes(Buffer.from(this._headText, "latin1"));
  }

  _emitBytes(bytes, callback) {
    if (this._sink) this._sink(bytes, callback);
    else {
      this._held.push(bytes);
      if (callback) nextTick(callback);
    }
  }

  /** From now on bytes go out. */
  _attach(sink) {
    this._sink = sink;
    const held = this._held;
    this._held = [];
    for (const bytes of held) sink(bytes);
  }

  _frame(chunk) {
    if (!this.chunkedEncoding) return chunk;
    return Buffer.concat([Buffer.from(`${chunk.length.toString(16)}${CRLF}`, "latin1"), chunk, Buffer.from(CRLF)]);
  }

  _put(chunk, callback) {
    if (!this.headersSent) this._implicitHeader();
    if (!this._hasBody) {
      nextTick(callback);
      return;
    }
    if (this.strictContentLength && this._list.has("content-length")) {
      this._sent = (this._sent ?? 0) + chunk.length;
      if (this._sent > Number(this.getHeader("content-length"))) {
        const told = `the content-length of ${this.getHeader("content-length")} byte(s) set in header`;
        callback(nodeError(Error, "ERR_HTTP_CONTENT_LENGTH_MISMATCH", `Response body's content-length of ${this._sent} byte(s) does not match ${told}`));
        return;
      }
    }
    if (this._headFlushed || chunk.length === 0) {
      this._flushHead();
      if (chunk.length > 0) this._emitBytes(this._frame(chunk), callback);
      else nextTick(callback);
      return;
    }
    this._headFlushed = true;
    this._emitBytes(Buffer.concat([Buffer.from(this._headText, "latin1"), this._frame(chunk)]), callback);
  }

  _write(chunk, encoding, callback) { this._put(chunk, callback); }
  _writev(chunks, callback) { this._put(Buffer.concat(chunks.map(({ chunk }) => chunk)), callback); }

  write(chunk, encoding, callback) {
    if (!this.headersSent && chunk !== null && !this.destroyed && !this.writableEnded) this._implicitHeader();
    if (this.writableEnded && !this.destroyed) {
      // Told, but what was ended properly still goes out.
      const error = nodeError(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end");
      const done = typeof encoding === "function" ? encoding : callback;
      nextTick(() => {
        if (typeof done === "function") done(error);
        this.emit("error", error);
      });
      return false;
    }
    return super.write(chunk, encoding, callback);
  }

  end(chunk, encoding, callback) {
    if (typeof chunk === "function") [chunk, callback] = [undefined, chunk];
    else if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
    if (!this.headersSent && !this.writableEnded && !this.destroyed) {
      // All of it is known: its length can be told.
      if (chunk == null) this._knownLength = this.writableLength;
      else if (typeof chunk === "string") this._knownLength = Buffer.byteLength(chunk, encoding) + this.writableLength;
      else if (chunk instanceof Uint8Array) this._knownLength = chunk.byteLength + this.writableLength;
      if (this._knownLength === 0 && this._isRequest && !this.useChunkedEncodingByDefault) this._knownLength = undefined;
      if (chunk == null || typeof chunk === "string" || chunk instanceof Uint8Array) this._implicitHeader();
    }
    this.finished = true;
    return super.end(chunk, encoding ?? undefined, callback);
  }

  _final(callback) {
    if (!this.headersSent) this._implicitHeader();
    this._flushHead();
    if (this.chunkedEncoding && this._hasBody) this._emitBytes(Buffer.from(`0${CRLF}${this._trailer}${CRLF}`, "latin1"), callback);
    else nextTick(callback);
  }

  get writableObjectMode() { return false; }
}
