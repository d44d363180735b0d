// What the parts of node:crypto share: data in its many forms, results in an encoding, errors, secret keys, and streams
// that are only made when an object is used as one.
import { native } from "jackfield:host";
import { Buffer } from "node:buffer";
import { Transform } from "node:stream";
import { CryptoKey, keyBytes } from "jackfield:web/subtle";
import { viewBytes } from "jackfield:web/bytes";

export function coded(Base, code, message) {
  const error = new Base(message);
  error.code = code;
  return error;
}

export function refused(what) {
  return coded(Error, "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", `crypto.${what} is not available: this host has no public-key cryptography; hashes, HMAC, AES, PBKDF2, scrypt and HKDF are there`);
}

export function viewOf(value, name) {
  const view = viewBytes(value);
  if (!view) throw coded(TypeError, "ERR_INVALID_ARG_TYPE", `The "${name}" argument must be an instance of ArrayBuffer, Buffer, TypedArray, or DataView.`);
  return view;
}

/** Text in an encoding, bytes in any form, or a secret key as bytes. */
export function bytesOf(value, name, encoding = "utf8") {
  if (typeof value === "string") {
    if (encoding === "utf8" || encoding === "utf-8" || encoding === undefined || encoding === "buffer") return native("utf8_encode", value.toWellFormed());
    return Buffer.from(value, encoding);
  }
  if (value instanceof KeyObject) return value.secret;
  if (value instanceof CryptoKey) return keyBytes(value);
  const view = viewBytes(value);
  if (view) return view;
  const got = value === null ? "null" : value === undefined ? "undefined" : typeof value === "object" ? `an instance of ${value.constructor?.name ?? "Object"}` : `type ${typeof value} (${String(value)})`;
  throw coded(TypeError, "ERR_INVALID_ARG_TYPE", `The "${name}" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received ${got}`);
}

export const asBuffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Bytes as Node gives them: a Buffer, or text when an encoding is asked for. */
export function output(bytes, encoding) {
  if (encoding === undefined || encoding === null || encoding === "buffer") return asBuffer(bytes);
  if (encoding === "hex") return native("hex_encode", bytes);
  if (encoding === "base64") return native("base64_encode", bytes);
  if (encoding === "base64url") return native("base64_encode", bytes, true);
  return asBuffer(bytes).toString(encoding);
}

export class KeyObject {
  #secret;
  constructor(type, secret) {
    if (type !== "secret") throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'type' is invalid. Received ${String(type)}`);
    this.#secret = secret;
  }
  static from(key) { return new KeyObject("secret", keyBytes(key)); }
  get type() { return "secret"; }
  get symmetricKeySize() { return this.#secret.length; }
  get secret() { return this.#secret; }
  equals(other) { return other instanceof KeyObject && native("hex_encode", this.#secret) === native("hex_encode", other.#secret); }
  export(options = undefined) {
    if (options?.format === "jwk") return { kty: "oct", k: native("base64_encode", this.#secret, true) };
    return Buffer.from(this.#secret);
  }
}
Object.defineProperty(KeyObject.prototype, "secret", { ...Object.getOwnPropertyDescriptor(KeyObject.prototype, "secret"), enumerable: false });

export function createSecretKey(key, encoding = "utf8") {
  return new KeyObject("secret", new Uint8Array(bytesOf(key, "key", encoding)));
}
export function generateKeySync(type, options = {}) {
  const { length } = options;
  if (type !== "hmac" && type !== "aes") throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'type' must be a supported key type. Received '${String(type)}'`);
  if (type === "aes" ? ![128, 192, 256].includes(length) : !(length >= 8 && length <= 2 ** 31 - 1)) throw coded(RangeError, "ERR_OUT_OF_RANGE", `The property 'options.length' is out of range. Received ${String(length)}`);
  return new KeyObject("secret", native("random", Math.floor(length / 8)));
}
export function generateKey(type, options, callback) {
  const key = generateKeySync(type, options);
  setImmediate(() => callback(null, key));
}

const STREAM_METHODS = [
  "on", "once", "off", "addListener", "removeListener", "removeAllListeners", "prependListener", "prependOnceListener", "emit", "eventNames", "listeners", "rawListeners", "listenerCount",
  "setMaxListeners", "getMaxListeners", "pipe", "unpipe", "write", "end", "read", "push", "pause", "resume", "isPaused", "destroy", "cork", "uncork", "setEncoding", "setDefaultEncoding", "unshift",
  "iterator", "map", "filter", "forEach", "toArray", "compose",
];
const STREAM_STATE = [
  "_readableState", "_writableState", "_events", "readable", "writable", "readableEnded", "writableEnded", "writableFinished", "readableFlowing", "readableLength", "writableLength", "destroyed", "closed", "errored",
  "readableHighWaterMark", "writableHighWaterMark", "writableNeedDrain", "readableObjectMode", "writableObjectMode", "readableAborted", "writableAborted", "readableDidRead", "readableEncoding", "writableCorked",
  "allowHalfOpen", "domain",
];

/**
 * Gives a class the methods of a Transform. The stream is made at the first use of one, with what `parts(object)`
 * returns, so that a program which only calls `update` and `digest` never loads streams.
 */
export function streamLike(Class, parts) {
  const streams = new WeakMap();
  const of = (object) => {
    let stream = streams.get(object);
    if (!stream) streams.set(object, (stream = new Transform(parts(object))));
    return stream;
  };
  for (const name of STREAM_METHODS) {
    Object.defineProperty(Class.prototype, name, {
      configurable: true, writable: true, enumerable: false,
      value(...args) {
        const stream = of(this);
        const result = stream[name](...args);
        return result === stream ? this : result;
      },
    });
  }
  for (const name of STREAM_STATE) {
    Object.defineProperty(Class.prototype, name, { configurable: true, enumerable: false, get() { return of(this)[name]; }, set(value) { of(this)[name] = value; } });
  }
  Object.defineProperty(Class.prototype, Symbol.asyncIterator, { configurable: true, writable: true, value() { return of(this)[Symbol.asyncIterator](); } });
}
