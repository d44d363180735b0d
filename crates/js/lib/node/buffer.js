// node:buffer: Buffer as a subclass of Uint8Array with Node's whole surface, Blob and File, atob and btoa. There is no
// pool: allocUnsafe gives zeroed memory of its own, so nothing of another buffer can be read through it.
import { byteCount, decode, encode, encodingOf } from "jackfield:node/internal/buffer_codec";
import { install } from "jackfield:node/internal/buffer_numbers";
import { compareRange, fill, order, search, strictEncoding, swap, unknownEncoding } from "jackfield:node/internal/buffer_search";
import { invalidArgType, nodeError, outOfRange, rangeError, validateArray } from "jackfield:node/internal/errors";
import { native } from "jackfield:host";
import { inspect } from "jackfield:node/internal/inspect";
import { atob, btoa } from "jackfield:web/base64";
import { Blob, File } from "jackfield:web/blob";
import { resolveObjectURL } from "jackfield:web/url";

export const kMaxLength = 2 ** 31 - 1;
export const kStringMaxLength = 2 ** 29 - 24;
export const constants = Object.freeze({ MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: kStringMaxLength });
export let INSPECT_MAX_BYTES = 50;

class FastBuffer extends Uint8Array {}

const isAnyBuffer = (v) => v instanceof ArrayBuffer || (typeof SharedArrayBuffer === "function" && v instanceof SharedArrayBuffer);
const adopt = (bytes) => new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function checkSize(size) {
  if (typeof size !== "number") throw invalidArgType("size", "number", size);
  if (!(size >= 0 && size <= kMaxLength)) throw outOfRange("size", `>= 0 && <= ${kMaxLength}`, size);
}

// Callable without `new`, as old code does.
export function Buffer(value, encodingOrOffset, length) {
  if (typeof value === "number") {
    if (typeof encodingOrOffset === "string") throw invalidArgType("string", "string", value);
    return Buffer.alloc(value);
  }
  return Buffer.from(value, encodingOrOffset, length);
}
Object.defineProperty(Buffer, Symbol.species, { get: () => FastBuffer, configurable: true });
Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.prototype = FastBuffer.prototype;
FastBuffer.prototype.constructor = Buffer;
Object.defineProperty(FastBuffer.prototype, "constructor", { enumerable: false });
Buffer.poolSize = 8192;

function fromText(text, encoding) {
  const name = strictEncoding(typeof encoding === "string" ? encoding : undefined);
  return text === "" ? new FastBuffer() : adopt(encode(text, name));
}

function fromBuffer(buffer, offset, length) {
  const start = offset === undefined ? 0 : Number.isNaN(+offset) ? 0 : +offset;
  const most = buffer.byteLength - start;
  if (most < 0) throw rangeError("ERR_BUFFER_OUT_OF_BOUNDS", '"offset" is outside of buffer bounds');
  if (length === undefined) return new FastBuffer(buffer, start);
  const wanted = +length > 0 ? +length : 0;
  if (wanted > most) throw rangeError("ERR_BUFFER_OUT_OF_BOUNDS", '"length" is outside of buffer bounds');
  return new FastBuffer(buffer, start, wanted);
}

function fromLike(value) {
  if (value.length !== undefined || isAnyBuffer(value.buffer)) {
    const length = typeof value.length === "number" && value.length > 0 ? Math.trunc(value.length) : 0;
    if (length === 0) return new FastBuffer();
    if (value instanceof Uint8Array) {
      const copy = new FastBuffer(length);
      copy.set(value);
      return copy;
    }
    const out = new FastBuffer(length);
    for (let i = 0; i < length; i++) out[i] = value[i];
    return out;
  }
  if (value.type === "Buffer" && Array.isArray(value.data)) return fromLike(value.data);
  return undefined;
}

Buffer.from = function from(value, encodingOrOffset, length) {
  if (typeof value === "string") return fromText(value, encodingOrOffset);
  if (typeof value === "object" && value !== null) {
    if (isAnyBuffer(value)) return fromBuffer(value, encodingOrOffset, length);
    const primitive = value.valueOf?.();
    if (primitive != null && primitive !== value && (typeof primitive === "string" || typeof primitive === "object")) {
      return Buffer.from(primitive, encodingOrOffset, length);
    }
    const made = fromLike(value);
    if (made) return made;
    if (typeof value[Symbol.toPrimitive] === "function") {
      const text = value[Symbol.toPrimitive]("string");
      if (typeof text === "string") return fromText(text, encodingOrOffset);
    }
  }
  throw invalidArgType("first argument", ["string", "Buffer", "ArrayBuffer", "Array", "Array-like Object"], value);
};

Buffer.of = (...items) => {
  const out = new FastBuffer(items.length);
  for (let i = 0; i < items.length; i++) out[i] = items[i];
  return out;
};

Buffer.alloc = function alloc(size, value, encoding) {
  checkSize(size);
  const out = new FastBuffer(size);
  if (value === undefined || value === 0 || size === 0) return out;
  return fill(out, value, typeof encoding === "string" ? encoding : undefined);
};
Buffer.allocUnsafe = function allocUnsafe(size) {
  checkSize(size);
  return new FastBuffer(size);
};
Buffer.allocUnsafeSlow = Buffer.allocUnsafe;
Buffer.isBuffer = (value) => value instanceof Buffer;
Buffer.isEncoding = (name) => typeof name === "string" && name.length !== 0 && encodingOf(name) !== undefined;

Buffer.byteLength = function byteLength(value, encoding) {
  if (typeof value !== "string") {
    if (ArrayBuffer.isView(value) || isAnyBuffer(value)) return value.byteLength;
    throw invalidArgType("string", ["string", "Buffer", "ArrayBuffer"], value);
  }
  return byteCount(value, encodingOf(encoding) ?? "utf8");
};

Buffer.compare = function compare(a, b) {
  if (!(a instanceof Uint8Array)) throw invalidArgType("buf1", ["Buffer", "Uint8Array"], a);
  if (!(b instanceof Uint8Array)) throw invalidArgType("buf2", ["Buffer", "Uint8Array"], b);
  return order(a, b);
};

Buffer.concat = function concat(list, length) {
  validateArray(list, "list");
  if (list.length === 0) return new FastBuffer();
  let total = length;
  if (total === undefined) {
    total = 0;
    for (const part of list) if (part?.length) total += part.length;
  } else if (!(Number.isInteger(total) && total >= 0)) throw outOfRange("length", `>= 0 && <= ${kMaxLength}`, total);
  const out = Buffer.allocUnsafe(total);
  let at = 0;
  list.forEach((part, i) => {
    if (!(part instanceof Uint8Array)) throw invalidArgType(`list[${i}]`, ["Buffer", "Uint8Array"], part);
    if (at >= total) return;
    out.set(at + part.length > total ? part.subarray(0, total - at) : part, at);
    at += part.length;
  });
  return out;
};

Buffer.copyBytesFrom = function copyBytesFrom(view, offset = 0, length = undefined) {
  if (!ArrayBuffer.isView(view) || view instanceof DataView) throw invalidArgType("view", "TypedArray", view);
  if (!Number.isInteger(offset) || offset < 0) throw outOfRange("offset", ">= 0", offset);
  const part = view.subarray(offset, length === undefined ? undefined : offset + length);
  return fromLike(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
};

const proto = Buffer.prototype;
install(proto);

const clamp = (value, fallback, length) => {
  const n = value === undefined ? fallback : Math.trunc(+value) || 0;
  return n < 0 ? 0 : n > length ? length : n;
};

function writeArgs(buffer, offsetIn, lengthIn, encodingIn) {
  let [offset, length, encoding] = [offsetIn, lengthIn, encodingIn];
  if (offset === undefined) return [0, buffer.length, undefined];
  if (length === undefined && typeof offset === "string") return [0, buffer.length, offset];
  if (typeof offset !== "number") throw invalidArgType("offset", "number", offset);
  if (!Number.isInteger(offset)) throw outOfRange("offset", "an integer", offset);
  if (offset < 0 || offset > buffer.length) throw outOfRange("offset", `>= 0 && <= ${buffer.length}`, offset);
  const room = buffer.length - offset;
  if (length === undefined) length = room;
  else if (typeof length === "string") [encoding, length] = [length, room];
  else {
    if (typeof length !== "number") throw invalidArgType("length", "number", length);
    if (length < 0 || length > buffer.length) throw outOfRange("length", `>= 0 && <= ${buffer.length}`, length);
    if (length > room) length = room;
  }
  return [offset, length, encoding];
}

// Only whole characters are written.
function wholeBytes(bytes, room, encoding) {
  let end = Math.min(bytes.length, room);
  if (end === bytes.length) return end;
  if (encoding === "utf16le") return end - (end % 2);
  if (encoding === "utf8") while (end > 0 && (bytes[end] & 0xc0) === 0x80) end--;
  return end;
}

function write(buffer, text, offset, length, encoding) {
  const bytes = encode(text, encoding);
  const count = wholeBytes(bytes, length, encoding);
  buffer.set(count === bytes.length ? bytes : bytes.subarray(0, count), offset);
  return count;
}

const methods = {
  toString(encoding, start, end) {
    if (arguments.length === 0) return decode(this, "utf8");
    const from = clamp(start, 0, this.length);
    const to = clamp(end, this.length, this.length);
    if (to <= from) return "";
    const name = encodingOf(encoding);
    if (name === undefined) throw unknownEncoding(encoding);
    return decode(from === 0 && to === this.length ? this : this.subarray(from, to), name);
  },
  toLocaleString(encoding, start, end) {
    return this.toString(encoding, start, end);
  },
  write(text, offset, length, encoding) {
    if (typeof text !== "string") throw nodeError(TypeError, "ERR_INVALID_ARG_TYPE", "argument must be a string");
    const [at, room, name] = writeArgs(this, offset, length, encoding);
    return write(this, text, at, room, strictEncoding(name));
  },
  equals(other) {
    if (!(other instanceof Uint8Array)) throw invalidArgType("otherBuffer", ["Buffer", "Uint8Array"], other);
    return this === other || (this.length === other.length && order(this, other) === 0);
  },
  compare(target, targetStart, targetEnd, sourceStart, sourceEnd) {
    return compareRange(this, target, targetStart, targetEnd, sourceStart, sourceEnd);
  },
  copy(target, targetStart = 0, sourceStart = 0, sourceEnd = this.length) {
    if (!(target instanceof Uint8Array)) throw invalidArgType("target", ["Buffer", "Uint8Array"], target);
    const at = Math.trunc(+targetStart) || 0;
    const from = Math.trunc(+sourceStart) || 0;
    const to = Math.trunc(+sourceEnd) || 0;
    if (at < 0) throw outOfRange("targetStart", ">= 0", at);
    if (from < 0 || from > this.length) throw outOfRange("sourceStart", `>= 0 && <= ${this.length}`, from);
    if (to < 0) throw outOfRange("sourceEnd", ">= 0", to);
    const count = Math.min(Math.min(to, this.length) - from, target.length - at);
    if (at >= target.length || count <= 0) return 0;
    target.set(this.subarray(from, from + count), at);
    return count;
  },
  indexOf(value, offset, encoding) { return search(this, value, offset, encoding, true); },
  lastIndexOf(value, offset, encoding) { return search(this, value, offset, encoding, false); },
  includes(value, offset, encoding) { return search(this, value, offset, encoding, true) !== -1; },
  fill(value, offset, end, encoding) { return fill(this, value, offset, end, encoding); },
  subarray(start, end) {
    const part = Uint8Array.prototype.subarray.call(this, start, end);
    return part instanceof FastBuffer ? part : adopt(part);
  },
  slice(start, end) { return this.subarray(start, end); },
  swap16() { return swap(this, 2); },
  swap32() { return swap(this, 4); },
  swap64() { return swap(this, 8); },
  toJSON() { return { type: "Buffer", data: Array.from(this) }; },
  inspect(depth, options) {
    const shown = Math.min(INSPECT_MAX_BYTES, this.length);
    let text = decode(this.subarray(0, shown), "hex").replace(/(..)(?=.)/g, "$1 ");
    const left = this.length - shown;
    if (left > 0) text += ` ... ${left} more byte${left > 1 ? "s" : ""}`;
    const extras = Object.keys(this).length > this.length ? Object.keys(this).filter((key) => !/^\d+$/.test(key)) : [];
    if (extras.length > 0) {
      const shownExtras = inspect(Object.fromEntries(extras.map((key) => [key, this[key]])), { ...options, breakLength: Infinity, compact: true });
      text += `${this.length > 0 ? ", " : ""}${shownExtras.slice(2, -2)}`;
    }
    return `<${this.constructor.name} ${text}>`;
  },
};
methods[Symbol.for("nodejs.util.inspect.custom")] = methods.inspect;
for (const key of Reflect.ownKeys(methods)) {
  Object.defineProperty(proto, key, { value: methods[key], writable: true, configurable: true, enumerable: typeof key === "string" });
}
for (const name of ["utf8", "latin1", "ascii", "hex", "base64", "base64url", "ucs2", "utf16le"]) {
  const encoding = encodingOf(name);
  Object.defineProperty(proto, `${name}Slice`, { value(start = 0, end = this.length) { return decode(this.subarray(start, end), encoding); }, writable: true, configurable: true });
  Object.defineProperty(proto, `${name}Write`, {
    value(text, offset = 0, length = this.length - offset) { return write(this, text, offset, Math.min(length, this.length - offset), encoding); },
    writable: true, configurable: true,
  });
}
Object.defineProperty(proto, "parent", { enumerable: true, configurable: true, get() { return this instanceof Buffer ? this.buffer : undefined; } });
Object.defineProperty(proto, "offset", { enumerable: true, configurable: true, get() { return this instanceof Buffer ? this.byteOffset : undefined; } });

export function SlowBuffer(size) {
  return Buffer.allocUnsafeSlow(size);
}

const viewOf = (input) => {
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  if (isAnyBuffer(input)) return new Uint8Array(input);
  throw invalidArgType("input", ["ArrayBuffer", "Buffer", "TypedArray"], input);
};

export function isUtf8(input) {
  try {
    native("utf8_decode", viewOf(input), true, true);
    return true;
  } catch (error) {
    if (error?.code === "ERR_INVALID_ARG_TYPE") throw error;
    return false;
  }
}

export const isAscii = (input) => viewOf(input).every((byte) => byte < 128);

export function transcode(source, from, to) {
  if (!(source instanceof Uint8Array)) throw invalidArgType("source", ["Buffer", "Uint8Array"], source);
  const [a, b] = [encodingOf(from), encodingOf(to)];
  const known = ["utf8", "utf16le", "latin1", "ascii"];
  if (!known.includes(a) || !known.includes(b)) {
    throw Object.assign(nodeError(Error, "U_ILLEGAL_ARGUMENT_ERROR", "Unable to transcode Buffer [U_ILLEGAL_ARGUMENT_ERROR]"), { errno: 1 });
  }
  const text = decode(source, a === "ascii" ? "latin1" : a);
  const limit = b === "ascii" ? 0x7f : b === "latin1" ? 0xff : Infinity;
  return Buffer.from(Array.from(text, (c) => (c.codePointAt(0) > limit ? "?" : c)).join(""), b);
}

export { Blob, File, atob, btoa, resolveObjectURL };
export default {
  Buffer, SlowBuffer, transcode, isUtf8, isAscii, kMaxLength, kStringMaxLength, constants,
  get INSPECT_MAX_BYTES() { return INSPECT_MAX_BYTES; },
  set INSPECT_MAX_BYTES(value) { INSPECT_MAX_BYTES = value; },
  get Blob() { return Blob; },
  get File() { return File; },
  get atob() { return atob; },
  get btoa() { return btoa; },
  get resolveObjectURL() { return resolveObjectURL; },
};
