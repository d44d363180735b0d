// Reads HTTP/1.1 messages from bytes as they come: requests for the server, responses for the client over a socket.
// Strict where it matters for safety: one framing only (never both Transfer-Encoding and Content-Length), no folded
// lines, no bare line feeds in chunk sizes, no control characters, limits for head, trailers and chunk sizes.
import { native } from "jackfield:host";
import { METHODS, hasBadValue, isToken } from "jackfield:node/internal/http/words";

const HEAD = 0;
const FIXED = 1;
const CHUNK_SIZE = 2;
const CHUNK_DATA = 3;
const CHUNK_END = 4;
const TRAILERS = 5;
const UNTIL_CLOSE = 6;
const STOPPED = 7;
const CR = 13;
const LF = 10;

function problem(code, reason, status = 400) {
  const error = new Error(`Parse Error: ${reason}`);
  error.code = code;
  error.reason = reason;
  error.status = status;
  return error;
}

const METHOD_SET = new Set(METHODS);

export class Parser {
  #kind;
  #on;
  #maxHead;
  #state = HEAD;
  #rest = new Uint8Array(0);
  #left = 0;
  #paused = false;
  #failed = false;
  #looked = 0;

  /** `kind` is "request" or "response"; `on` has head(message) → "skip" | "upgrade" | undefined, body(bytes), end(trailers). */
  constructor(kind, on, maxHead = 16 * 1024) {
    this.#kind = kind;
    this.#on = on;
    this.#maxHead = maxHead;
  }

  get waiting() { return this.#rest.length; }
  /** Between two messages with nothing begun. */
  get idle() { return this.#state === HEAD && this.#rest.length === 0; }
  get inHead() { return this.#state === HEAD; }

  /** What follows a message is kept until `resume`. */
  pause() { this.#paused = true; }

  resume() {
    this.#paused = false;
    this.feed(new Uint8Array(0));
  }

  /** Bytes that belong to nobody: after an upgrade. */
  takeRest() {
    const rest = this.#rest;
    this.#rest = new Uint8Array(0);
    return rest;
  }

  feed(bytes) {
    if (this.#failed || this.#state === STOPPED) {
      if (this.#state === STOPPED && bytes.length > 0) this.#append(bytes);
      return;
    }
    this.#append(bytes);
    try {
      while (this.#step());
    } catch (error) {
      this.#failed = true;
      throw error;
    }
  }

  /** The other side has ended: that is the end of some bodies and a fault in all other places. */
  close() {
    if (this.#failed || this.#state === STOPPED) return;
    if (this.#state === UNTIL_CLOSE) {
      this.#state = STOPPED;
      this.#on.end([]);
    } else if (!this.idle) {
      this.#failed = true;
      throw problem("HPE_INVALID_EOF_STATE", "Invalid EOF state");
    }
  }

  #append(bytes) {
    if (bytes.length === 0) return;
    if (this.#rest.length === 0) {
      this.#rest = bytes;
      return;
    }
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    this.#rest = all;
  }

  #take(count) {
    const part = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return part;
  }

  /** One line without its end, or null if it is not there yet. */
  #line(limit, code) {
    const at = this.#rest.indexOf(LF);
    if (at === -1) {
      if (this.#rest.length > limit) throw problem(code, "line too long", 431);
      return null;
    }
    if (at > limit) throw problem(code, "line too long", 431);
    if (at === 0 || this.#rest[at - 1] !== CR) throw problem("HPE_CR_EXPECTED", "Missing expected CR after header value");
    const text = native("latin1_decode", this.#rest.subarray(0, at - 1));
    this.#rest = this.#rest.subarray(at + 1);
    return text;
  }

  #step() {
    switch (this.#state) {
      case HEAD: return this.#head();
      case FIXED: {
        if (this.#rest.length === 0) return false;
        const part = this.#take(Math.min(this.#left, this.#rest.length));
        this.#left -= part.length;
        const done = this.#left === 0;
        this.#on.body(part);
        if (done) this.#finish([]);
        return true;
      }
      case CHUNK_SIZE: {
        const line = this.#line(1024, "HPE_CHUNK_EXTENSIONS_OVERFLOW");
        if (line === null) return false;
        const found = /^([0-9a-fA-F]{1,13})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/.exec(line);
        if (!found) throw problem("HPE_INVALID_CHUNK_SIZE", "Invalid character in chunk size");
        this.#left = Number.parseInt(found[1], 16);
        this.#state = this.#left === 0 ? TRAILERS : CHUNK_DATA;
        this.#trailers = [];
        return true;
      }
      case CHUNK_DATA: {
        if (this.#rest.length === 0) return false;
        const part = this.#take(Math.min(this.#left, this.#rest.length));
        this.#left -= part.length;
        if (this.#left === 0) this.#state = CHUNK_END;
        this.#on.body(part);
        return true;
      }
      case CHUNK_END: {
        if (this.#rest.length < 2) return false;
        if (this.#rest[0] !== CR || this.#rest[1] !== LF) throw problem("HPE_STRICT", "Expected LF after chunk data");
        this.#take(2);
        this.#state = CHUNK_SIZE;
        return true;
      }
      case TRAILERS: {
        const line = this.#line(this.#maxHead, "HPE_HEADER_OVERFLOW");
        if (line === null) return false;
        if (line === "") this.#finish(this.#trailers);
        else {
          this.#trailers.push(...parseHeader(line));
          if (this.#trailers.length > 200) throw problem("HPE_HEADER_OVERFLOW", "too many trailers", 431);
        }
        return true;
      }
      case UNTIL_CLOSE: {
        if (this.#rest.length === 0) return false;
        this.#on.body(this.#take(this.#rest.length));
        return false;
      }
      default: return false;
    }
  }

  #trailers = [];

  #finish(trailers) {
    this.#state = HEAD;
    this.#on.end(trailers);
  }

  #head() {
    if (this.#paused) return false;
    // Empty lines before a request are skipped.
    while (this.#looked === 0 && this.#rest.length >= 2 && this.#rest[0] === CR && this.#rest[1] === LF) this.#take(2);
    if (this.#rest.length === 0) return false;
    let end = -1;
    const from = Math.max(0, this.#looked - 3);
    for (let at = this.#rest.indexOf(LF, from); at !== -1; at = this.#rest.indexOf(LF, at + 1)) {
      if (this.#rest[at + 1] === CR && this.#rest[at + 2] === LF) {
        end = at + 3;
        break;
      }
    }
    if (end === -1 ? this.#rest.length > this.#maxHead : end > this.#maxHead) throw problem("HPE_HEADER_OVERFLOW", "Header overflow", 431);
    if (end === -1) {
      this.#looked = this.#rest.length;
      this.#checkStart();
      return false;
    }
    this.#looked = 0;
    const text = native("latin1_decode", this.#take(end).subarray(0, end - 4));
    const lines = text.split("\r\n");
    const message = this.#kind === "request" ? requestLine(lines[0]) : statusLine(lines[0]);
    const raw = [];
    for (let i = 1; i < lines.length; i++) raw.push(...parseHeader(lines[i]));
    if (raw.length > 4000) throw problem("HPE_HEADER_OVERFLOW", "Header overflow", 431);
    message.rawHeaders = raw;
    this.#begin(message);
    return true;
  }

  // Garbage is refused with its first line and not only when the head is complete.
  #checkStart() {
    const at = this.#rest.indexOf(LF);
    const first = native("latin1_decode", this.#rest.subarray(0, at === -1 ? Math.min(this.#rest.length, 32) : at));
    if (at !== -1) {
      if (!first.endsWith("\r")) throw problem("HPE_CR_EXPECTED", "Missing expected CR after request line");
      if (this.#kind === "request") requestLine(first.slice(0, -1));
      else statusLine(first.slice(0, -1));
    } else if (this.#kind === "request" && !/^[A-Z-]{1,20}( .*)?$|^\r?$/s.test(first)) {
      throw problem("HPE_INVALID_METHOD", "Invalid method encountered");
    }
  }

  #begin(message) {
    const facts = framing(message.rawHeaders);
    Object.assign(message, facts.connection);
    const old = message.httpVersion === "1.0";
    message.keepAlive = old ? facts.keepAlive && !facts.close : !facts.close;
    message.hasUpgrade = message.upgrade && (this.#kind === "response" ? message.statusCode === 101 : true);
    if (facts.chunked && facts.length !== null) throw problem("HPE_INVALID_TRANSFER_ENCODING", "Content-Length can't be present with Transfer-Encoding");
    if (this.#kind === "request" && facts.encodings && !facts.chunked) throw problem("HPE_INVALID_TRANSFER_ENCODING", "Request has invalid `Transfer-Encoding`");
    const answer = this.#on.head(message);
    if (answer === "upgrade") {
      this.#state = STOPPED;
      return;
    }
    const bodiless = this.#kind === "response" &&
      (answer === "skip" || (message.statusCode >= 100 && message.statusCode < 200) || message.statusCode === 204 || message.statusCode === 304);
    if (bodiless || facts.length === 0) this.#finish([]);
    else if (facts.chunked) this.#state = CHUNK_SIZE;
    else if (facts.length !== null) {
      this.#left = facts.length;
      this.#state = FIXED;
    } else if (this.#kind === "request") this.#finish([]);
    else {
      message.keepAlive = false;
      this.#state = UNTIL_CLOSE;
    }
  }
}

function requestLine(line) {
  const found = /^(\S+) (\S+) HTTP\/(\d)\.(\d)$/.exec(line);
  if (!found) throw problem(/^\S+ \S+ HTTP/.test(line) ? "HPE_INVALID_VERSION" : "HPE_INVALID_METHOD", "Invalid method encountered");
  const [, method, url, major, minor] = found;
  if (!METHOD_SET.has(method)) throw problem("HPE_INVALID_METHOD", "Invalid method encountered");
  if (/[\x00-\x20\x7f]/.test(url)) throw problem("HPE_INVALID_URL", "Invalid characters in url");
  if (major !== "1" || minor > "1") throw problem("HPE_INVALID_VERSION", "Invalid HTTP version");
  return { method, url, httpVersion: `${major}.${minor}` };
}

function statusLine(line) {
  const found = /^HTTP\/(1)\.([01]) (\d{3})(?: (.*))?$/.exec(line);
  if (!found) throw problem("HPE_INVALID_CONSTANT", "Expected HTTP/");
  return { statusCode: Number(found[3]), statusMessage: found[4] ?? "", httpVersion: `${found[1]}.${found[2]}` };
}

function parseHeader(line) {
  const colon = line.indexOf(":");
  const name = line.slice(0, colon);
  if (colon < 1 || !isToken(name)) throw problem("HPE_INVALID_HEADER_TOKEN", "Invalid header token");
  const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, "");
  if (hasBadValue(value)) throw problem("HPE_INVALID_HEADER_TOKEN", "Invalid header value char");
  return [name, value];
}

function framing(raw) {
  let length = null;
  let encodings = "";
  let close = false;
  let keepAlive = false;
  let upgrade = false;
  let upgrades = false;
  for (let i = 0; i < raw.length; i += 2) {
    const value = raw[i + 1];
    switch (raw[i].toLowerCase()) {
      case "content-length":
        if (length !== null) throw problem("HPE_UNEXPECTED_CONTENT_LENGTH", "Content-Length already present");
        if (!/^\d{1,15}$/.test(value)) throw problem("HPE_INVALID_CONTENT_LENGTH", "Invalid character in Content-Length");
        length = Number(value);
        break;
      case "transfer-encoding":
        encodings += `${encodings ? "," : ""}${value.toLowerCase()}`;
        break;
      case "connection":
        for (const word of value.toLowerCase().split(",")) {
          close ||= word.trim() === "close";
          keepAlive ||= word.trim() === "keep-alive";
          upgrades ||= word.trim() === "upgrade";
        }
        break;
      case "upgrade":
        upgrade = true;
        break;
      default:
    }
  }
  const list = encodings.split(",").map((word) => word.trim());
  const chunked = list[list.length - 1] === "chunked";
  if (list.filter((word) => word === "chunked").length > (chunked ? 1 : 0)) throw problem("HPE_INVALID_TRANSFER_ENCODING", "Transfer-Encoding is repeated");
  return { length, encodings, chunked, close, keepAlive, connection: { upgrade: upgrade && upgrades } };
}
