// The stream classes of node:zlib. Input is gathered and coded when it ends. `flush` tells its callback when what was
// written before has been taken in; it cannot force output, because the native codecs have no state between calls.
import { Transform } from "node:stream";
import { Buffer } from "node:buffer";
import { concatBytes } from "jackfield:web/bytes";
import { code, settings } from "jackfield:node/internal/zlib/run";

const CHUNK = 65536;

class Zlib extends Transform {
  #chunks = []; #op; #set; #size = 0;
  constructor(op, options) {
    super({ ...options, transform: undefined, flush: undefined, final: undefined });
    this.#op = op;
    this.#set = settings(op, options);
    this.bytesWritten = 0;
  }
  get bytesRead() { return this.bytesWritten; }
  _transform(chunk, encoding, callback) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk;
    // Copied: whoever wrote it may use its memory again.
    this.#chunks.push(new Uint8Array(bytes));
    this.#size += bytes.length;
    this.bytesWritten += bytes.length;
    callback();
  }
  _flush(callback) {
    let result;
    try {
      // Nothing at all decodes to nothing, as in Node.
      const decoding = /^(gunzip|inflate|inflate_raw|unzip|brotli_decompress)$/.test(this.#op);
      result = decoding && this.#size === 0 ? new Uint8Array(0) : code(this.#op, concatBytes(this.#chunks), this.#set);
    } catch (error) {
      callback(error);
      return;
    }
    this.#chunks = [];
    for (let at = 0; at < result.length; at += CHUNK) {
      const piece = result.subarray(at, at + CHUNK);
      this.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    }
    callback();
  }
  flush(kind, callback) {
    const done = typeof kind === "function" ? kind : callback;
    if (typeof done !== "function") return;
    if (this.writableLength === 0) setImmediate(done);
    else this.once("drain", done);
  }
  close(callback) {
    if (typeof callback === "function") {
      if (this.closed) setImmediate(callback);
      else this.once("close", () => callback());
    }
    this.destroy();
  }
  params(level, strategy, callback) {
    this.#set.wanted.level = level;
    setImmediate(() => callback?.(null));
  }
  reset() {
    this.#chunks = [];
    this.#size = 0;
  }
}

/** A class that works with and without `new`, as Node's do. */
function made(name, op) {
  const Class = { [name]: class extends Zlib { constructor(options = undefined) { super(op, options); } } }[name];
  const Callable = function (options) { return Reflect.construct(Class, [options], new.target ?? Callable); };
  Object.defineProperty(Callable, "name", { value: name });
  Object.setPrototypeOf(Callable, Zlib);
  Callable.prototype = Class.prototype;
  Object.defineProperty(Class.prototype, "constructor", { value: Callable, writable: true, configurable: true });
  return Callable;
}
export const Gzip = made("Gzip", "gzip");
export const Gunzip = made("Gunzip", "gunzip");
export const Deflate = made("Deflate", "deflate");
export const Inflate = made("Inflate", "inflate");
export const DeflateRaw = made("DeflateRaw", "deflate_raw");
export const InflateRaw = made("InflateRaw", "inflate_raw");
export const Unzip = made("Unzip", "unzip");
export const BrotliCompress = made("BrotliCompress", "brotli_compress");
export const BrotliDecompress = made("BrotliDecompress", "brotli_decompress");
