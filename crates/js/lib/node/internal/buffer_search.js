// Searching and filling in buffers: indexOf, lastIndexOf, includes, fill, compare of ranges, and swapping of byte order.
import { encode, encodingOf } from "jackfield:node/internal/buffer_codec";
import { invalidArgType, invalidArgValue, outOfRange, rangeError, typeError } from "jackfield:node/internal/errors";

const native8 = Uint8Array.prototype;

export const unknownEncoding = (name) => typeError("ERR_UNKNOWN_ENCODING", `Unknown encoding: ${String(name)}`);

export function strictEncoding(name) {
  const encoding = encodingOf(name);
  if (encoding === undefined) throw unknownEncoding(name);
  return encoding;
}

export function search(buffer, value, offsetIn, encodingIn, forward) {
  let offset = offsetIn;
  let encoding = encodingIn;
  if (typeof offset === "string") {
    encoding = offset;
    offset = undefined;
  }
  offset = offset === undefined ? NaN : +offset;
  if (Number.isNaN(offset)) offset = forward ? 0 : buffer.length;
  offset = Math.trunc(Math.min(Math.max(offset, -0x80000000), 0x7fffffff));
  if (typeof value === "number") {
    const byte = (value >>> 0) & 255;
    if (forward) return native8.indexOf.call(buffer, byte, offset);
    if (offset < 0) offset += buffer.length;
    return offset < 0 ? -1 : native8.lastIndexOf.call(buffer, byte, offset);
  }
  let needle = value;
  let step = 1;
  if (typeof value === "string") {
    if (encoding === null || encoding === "") throw unknownEncoding(encoding);
    const name = strictEncoding(encoding);
    needle = encode(value, name);
    if (name === "utf16le") step = 2;
  } else if (!(value instanceof Uint8Array)) {
    throw invalidArgType("value", ["number", "string", "Buffer", "Uint8Array"], value);
  }
  return find(buffer, needle, offset, forward, step);
}

function find(buffer, needle, offsetIn, forward, step) {
  let offset = offsetIn < 0 ? offsetIn + buffer.length : offsetIn;
  if (offset < 0) {
    if (!forward) return -1;
    offset = 0;
  }
  if (needle.length === 0) return Math.min(offset, buffer.length);
  const last = buffer.length - needle.length;
  if (last < 0) return -1;
  const matches = (at) => {
    for (let j = 1; j < needle.length; j++) if (buffer[at + j] !== needle[j]) return false;
    return true;
  };
  const first = needle[0];
  if (forward) {
    let at = native8.indexOf.call(buffer, first, offset);
    while (at !== -1 && at <= last) {
      if ((step === 1 || (at - offset) % step === 0) && matches(at)) return at;
      at = native8.indexOf.call(buffer, first, at + 1);
    }
    return -1;
  }
  for (let at = Math.min(offset, last); at >= 0; at--) {
    if (buffer[at] === first && (step === 1 || at % step === 0) && matches(at)) return at;
  }
  return -1;
}

const range = (value, name, max) => {
  if (typeof value !== "number") throw invalidArgType(name, "number", value);
  if (!Number.isInteger(value)) throw outOfRange(name, "an integer", value);
  if (value < 0 || value > max) throw outOfRange(name, `>= 0 && <= ${max}`, value);
  return value;
};

export function fill(buffer, value, offsetIn, endIn, encodingIn) {
  let [offset, end, encoding] = [offsetIn, endIn, encodingIn];
  if (typeof value === "string") {
    if (offset === undefined || typeof offset === "string") [encoding, offset, end] = [offset, 0, buffer.length];
    else if (typeof end === "string") [encoding, end] = [end, buffer.length];
    const name = strictEncoding(encoding);
    offset = offset === undefined ? 0 : range(offset, "offset", buffer.length);
    end = end === undefined ? buffer.length : range(end, "end", buffer.length);
    const bytes = value === "" ? new Uint8Array(1) : encode(value, name);
    if (bytes.length === 0) throw invalidArgValue("value", value);
    return repeat(buffer, bytes, offset, end);
  }
  offset = offset === undefined ? 0 : range(offset, "offset", buffer.length);
  end = end === undefined ? buffer.length : range(end, "end", buffer.length);
  if (value instanceof Uint8Array) {
    if (value.length === 0) throw invalidArgValue("value", value);
    return repeat(buffer, value, offset, end);
  }
  native8.fill.call(buffer, typeof value === "boolean" ? +value : Number(value) & 255, offset, end);
  return buffer;
}

function repeat(buffer, bytes, offset, end) {
  if (bytes.length === 1) {
    native8.fill.call(buffer, bytes[0], offset, end);
    return buffer;
  }
  for (let at = offset; at < end; at += bytes.length) {
    native8.set.call(buffer, bytes.length > end - at ? bytes.subarray(0, end - at) : bytes, at);
  }
  return buffer;
}

export function order(a, b) {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
}

export function compareRange(buffer, other, from, to, start, end) {
  if (!(other instanceof Uint8Array)) throw invalidArgType("target", ["Buffer", "Uint8Array"], other);
  if (from === undefined && to === undefined && start === undefined && end === undefined) return order(buffer, other);
  const a = start === undefined ? 0 : range(start, "sourceStart", Infinity);
  const b = end === undefined ? buffer.length : range(end, "sourceEnd", buffer.length);
  const c = from === undefined ? 0 : range(from, "targetStart", Infinity);
  const d = to === undefined ? other.length : range(to, "targetEnd", other.length);
  if (a >= b) return c >= d ? 0 : -1;
  if (c >= d) return 1;
  return order(buffer.subarray(a, b), other.subarray(c, d));
}

export function swap(buffer, size) {
  if (buffer.length % size !== 0) throw rangeError("ERR_INVALID_BUFFER_SIZE", `Buffer size must be a multiple of ${size * 8}-bits`);
  for (let at = 0; at < buffer.length; at += size) native8.reverse.call(buffer.subarray(at, at + size));
  return buffer;
}
