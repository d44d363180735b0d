// TextEncoder and TextDecoder for UTF-8, UTF-16 (both orders) and Latin-1 (which the web reads as windows-1252),
// with `stream: true`. Other legacy encodings are refused as Node without full ICU refuses them.
import { native } from "jackfield:host";
import { concatBytes, codedError, viewBytes } from "jackfield:web/bytes";

export class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(input = "") { return native("utf8_encode", `${input}`.toWellFormed()); }
  encodeInto(source, target) {
    if (!(target instanceof Uint8Array)) throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", 'The "dest" argument must be an instance of Uint8Array.');
    const text = `${source}`;
    let read = 0;
    let written = 0;
    while (read < text.length) {
      let code = text.codePointAt(read);
      const units = code > 0xffff ? 2 : 1;
      if (units === 1 && code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
      const size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      if (written + size > target.length) break;
      if (size === 1) {
        target[written++] = code;
      } else {
        const lead = size === 2 ? 0xc0 : size === 3 ? 0xe0 : 0xf0;
        for (let shift = (size - 1) * 6, first = true; shift >= 0; shift -= 6, first = false) {
          target[written++] = first ? lead | (code >> shift) : 0x80 | ((code >> shift) & 0x3f);
        }
      }
      read += units;
    }
    return { read, written };
  }
  get [Symbol.toStringTag]() { return "TextEncoder"; }
}

const LABELS = {
  "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
  "utf-16le": "utf-16le utf-16 ucs-2 iso-10646-ucs-2 csunicode unicode unicodefeff",
  "utf-16be": "utf-16be unicodefffe",
  "windows-1252": "windows-1252 latin1 latin-1 l1 ascii us-ascii iso-8859-1 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 iso-ir-100 cp1252 x-cp1252 cp819 ibm819 ansi_x3.4-1968 csisolatin1",
};

function encodingOf(label) {
  const wanted = `${label}`.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, "").toLowerCase();
  if (wanted === "utf-8" || wanted === "utf8") return "utf-8";
  for (const [name, labels] of Object.entries(LABELS)) if (labels.split(" ").includes(wanted)) return name;
  throw codedError(RangeError, "ERR_ENCODING_NOT_SUPPORTED", `The "${label}" encoding is not supported`);
}

const invalid = (encoding) => codedError(TypeError, "ERR_ENCODING_INVALID_ENCODED_DATA", `The encoded data was not valid for encoding ${encoding}`);

export class TextDecoder {
  #encoding; #fatal; #ignoreBOM;
  #pending = null; // bytes of a character that is not complete
  #started = false; // something was decoded, so a byte order mark is no longer one
  #streaming = false;
  constructor(label = "utf-8", options) {
    this.#encoding = encodingOf(label);
    if (options !== undefined && options !== null && typeof options !== "object") {
      throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", 'The "options" argument must be of type object.');
    }
    this.#fatal = Boolean(options?.fatal);
    this.#ignoreBOM = Boolean(options?.ignoreBOM);
  }
  get encoding() { return this.#encoding; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }
  decode(input, options) {
    let bytes = input === undefined ? new Uint8Array(0) : viewBytes(input);
    if (!bytes) throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", 'The "list" argument must be an instance of SharedArrayBuffer, ArrayBuffer or ArrayBufferView.');
    const stream = Boolean(options?.stream);
    if (!this.#streaming) {
      this.#started = false;
      this.#pending = null;
    }
    this.#streaming = stream;
    if (this.#pending) {
      bytes = concatBytes([this.#pending, bytes]);
      this.#pending = null;
    }
    if (this.#encoding === "windows-1252") return decode1252(bytes);
    if (stream) {
      const keep = this.#encoding === "utf-8" ? unfinishedUtf8(bytes) : unfinishedUtf16(bytes, this.#encoding === "utf-16be");
      if (keep > 0) {
        this.#pending = bytes.slice(bytes.length - keep);
        bytes = bytes.subarray(0, bytes.length - keep);
      }
    }
    const keepMark = this.#ignoreBOM || this.#started;
    if (bytes.length > 0) this.#started = true;
    if (this.#encoding !== "utf-8") return decodeUtf16(bytes, this.#encoding, this.#fatal, keepMark);
    if (bytes.length === 0) return "";
    if (!this.#fatal) return native("utf8_decode", bytes, false, keepMark);
    try {
      return native("utf8_decode", bytes, true, keepMark);
    } catch {
      this.#streaming = false;
      throw invalid("utf-8");
    }
  }
  get [Symbol.toStringTag]() { return "TextDecoder"; }
}

/** How many bytes at the end begin a character that could still be completed. */
function unfinishedUtf8(bytes) {
  const end = bytes.length;
  for (let back = 1; back <= 3 && back <= end; back++) {
    const byte = bytes[end - back];
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
    if (size <= back) return 0;
    if (back > 1) {
      // The second byte is bounded further after some leads; out of bounds it is an error already, not a beginning.
      const second = bytes[end - back + 1];
      const low = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
      const high = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
      if (second < low || second > high) return 0;
    }
    return back;
  }
  return 0;
}

function unfinishedUtf16(bytes, big) {
  const odd = bytes.length % 2;
  const at = bytes.length - odd - 2;
  if (at < 0) return odd;
  const high = big ? bytes[at] : bytes[at + 1];
  return high >= 0xd8 && high <= 0xdb ? odd + 2 : odd;
}

function decodeUtf16(bytes, encoding, fatal, keepMark) {
  const big = encoding === "utf-16be";
  const count = bytes.length >> 1;
  const units = new Array(Math.min(count, 4096));
  let text = "";
  let filled = 0;
  for (let i = 0; i < count; i++) {
    units[filled++] = big ? (bytes[2 * i] << 8) | bytes[2 * i + 1] : bytes[2 * i] | (bytes[2 * i + 1] << 8);
    if (filled === 4096) {
      text += String.fromCharCode.apply(null, units);
      filled = 0;
    }
  }
  if (filled > 0) text += String.fromCharCode.apply(null, units.slice(0, filled));
  if (bytes.length % 2 === 1) {
    if (fatal) throw invalid(encoding);
    // An open first half and an open byte at the end are one error.
    text = text.replace(/[\ud800-\udbff]$/, "") + "\ufffd";
  }
  if (!keepMark && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
  if (text.isWellFormed()) return text;
  if (fatal) throw invalid(encoding);
  return text.toWellFormed();
}

// What windows-1252 has at 0x80..0x9f, where Latin-1 has control characters.
const C1 = "\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178";
function decode1252(bytes) {
  return native("latin1_decode", bytes).replace(/[\x80-\x9f]/g, (c) => C1[c.charCodeAt(0) - 0x80]);
}
