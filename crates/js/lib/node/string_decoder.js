// node:string_decoder: text out of byte chunks without breaking characters that span two of them.
import { decode, encodingOf } from "jackfield:node/internal/buffer_codec";
import { invalidArgType, typeError } from "jackfield:node/internal/errors";
import { Buffer } from "node:buffer";

// How many bytes at the end belong to a character that is not complete yet.
function incompleteUtf8(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
    if (size <= back) return 0;
    // A second byte that cannot follow makes the sequence invalid at once, so there is nothing to wait for.
    if (back > 1) {
      const second = bytes[bytes.length - back + 1];
      if ((byte === 0xe0 && second < 0xa0) || (byte === 0xed && second > 0x9f) || (byte === 0xf0 && second < 0x90) || (byte === 0xf4 && second > 0x8f)) return 0;
    }
    return back;
  }
  return 0;
}

const incompleteUtf16 = (bytes) => {
  const odd = bytes.length % 2;
  const whole = bytes.length - odd;
  const high = whole >= 2 && (bytes[whole - 1] & 0xfc) === 0xd8;
  return odd + (high ? 2 : 0);
};

function incomplete(bytes, encoding) {
  if (encoding === "utf8") return incompleteUtf8(bytes);
  if (encoding === "utf16le") return incompleteUtf16(bytes);
  return encoding === "base64" || encoding === "base64url" ? bytes.length % 3 : 0;
}

// Bytes that the first of the pending ones asks for.
function wanted(bytes, encoding) {
  if (encoding === "utf8") return bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
  if (encoding === "utf16le") return bytes.length >= 2 ? 4 : 2;
  return 3;
}

export class StringDecoder {
  #pending = new Uint8Array(0);
  constructor(encoding) {
    const name = encodingOf(encoding);
    if (name === undefined) throw typeError("ERR_UNKNOWN_ENCODING", `Unknown encoding: ${encoding}`);
    this.encoding = name;
  }
  get lastNeed() { return this.#pending.length === 0 ? 0 : wanted(this.#pending, this.encoding) - this.#pending.length; }
  get lastTotal() { return this.#pending.length === 0 ? 0 : wanted(this.#pending, this.encoding); }
  get lastChar() {
    const out = Buffer.alloc(4);
    out.set(this.#pending);
    return out;
  }
  write(chunk) {
    if (typeof chunk === "string") return chunk;
    if (!ArrayBuffer.isView(chunk)) throw invalidArgType("buf", ["Buffer", "TypedArray", "DataView"], chunk);
    let bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (this.#pending.length > 0) {
      const joined = new Uint8Array(this.#pending.length + bytes.length);
      joined.set(this.#pending);
      joined.set(bytes, this.#pending.length);
      bytes = joined;
    }
    const keep = incomplete(bytes, this.encoding);
    this.#pending = keep === 0 ? new Uint8Array(0) : bytes.slice(bytes.length - keep);
    return keep === bytes.length ? "" : decode(keep === 0 ? bytes : bytes.subarray(0, bytes.length - keep), this.encoding);
  }
  end(chunk) {
    const text = chunk === undefined ? "" : this.write(chunk);
    const rest = this.#pending;
    this.#pending = new Uint8Array(0);
    if (rest.length === 0) return text;
    return text + decode(this.encoding === "utf16le" ? rest.subarray(0, rest.length - (rest.length % 2)) : rest, this.encoding);
  }
  text(chunk, offset = 0) {
    this.#pending = new Uint8Array(0);
    return this.write(chunk.subarray(offset));
  }
}
export default { StringDecoder };
