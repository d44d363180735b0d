// IncomingMessage: a request as a server sees it, or a response as a client does.
import { Readable } from "jackfield:node/internal/streams/readable";
import { collect, collectDistinct } from "jackfield:node/internal/http/words";
import { nextTick } from "node:process";

export class IncomingMessage extends Readable {
  constructor(socket) {
    super({ autoDestroy: true, highWaterMark: socket?.readableHighWaterMark });
    this.socket = socket ?? null;
    this.httpVersion = null;
    this.httpVersionMajor = null;
    this.httpVersionMinor = null;
    this.complete = false;
    this.rawHeaders = [];
    this.rawTrailers = [];
    this.joinDuplicateHeaders = false;
    this.aborted = false;
    this.upgrade = null;
    this.url = "";
    this.method = null;
    this.statusCode = null;
    this.statusMessage = null;
    this.client = socket ?? null;
    this._consumed = false;
  }

  get connection() { return this.socket; }
  set connection(value) { this.socket = value; }

  get headers() {
    if (!this._headers) this._headers = collect(this.rawHeaders, this.joinDuplicateHeaders);
    return this._headers;
  }
  set headers(value) { this._headers = value; }
  get headersDistinct() {
    if (!this._headersDistinct) this._headersDistinct = collectDistinct(this.rawHeaders);
    return this._headersDistinct;
  }
  set headersDistinct(value) { this._headersDistinct = value; }
  get trailers() {
    if (!this._trailers) this._trailers = collect(this.rawTrailers, this.joinDuplicateHeaders);
    return this._trailers;
  }
  set trailers(value) { this._trailers = value; }
  get trailersDistinct() {
    if (!this._trailersDistinct) this._trailersDistinct = collectDistinct(this.rawTrailers);
    return this._trailersDistinct;
  }
  set trailersDistinct(value) { this._trailersDistinct = value; }

  setTimeout(ms, callback) {
    if (callback) this.on("timeout", callback);
    this.socket?.setTimeout?.(ms);
    return this;
  }

  /** Takes over what the parser found in a head. */
  _fill(head) {
    this.httpVersion = head.httpVersion;
    [this.httpVersionMajor, this.httpVersionMinor] = head.httpVersion.split(".").map(Number);
    this.rawHeaders = head.rawHeaders;
    this.method = head.method ?? null;
    this.url = head.url ?? "";
    this.statusCode = head.statusCode ?? null;
    this.statusMessage = head.statusMessage ?? null;
    this.upgrade = !!head.upgrade;
    return this;
  }

  _finish(trailers) {
    this.complete = true;
    this.rawTrailers = trailers;
    this.push(null);
  }

  _read() {}

  /** Whether anybody looked at the body; what nobody reads is thrown away when the answer is complete. */
  _dump() {
    if (this._dumped) return;
    this._dumped = true;
    this.removeAllListeners("data");
    this.resume();
  }

  _destroy(error, callback) {
    if (!this.readableEnded || !this.complete) {
      this.aborted = true;
      this.emit("aborted");
    }
    if (this._onDestroy) this._onDestroy(error);
    // A message that ended before its time tells so only to those who listen for it.
    if (!error && !this.complete && this.listenerCount("error") > 0) {
      error = Object.assign(new Error("aborted"), { code: "ECONNRESET" });
    }
    if (error && this.listenerCount("error") === 0) error = null;
    nextTick(callback, error);
  }
}
