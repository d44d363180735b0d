// The encodings of node:buffer: names, text to bytes and bytes to text. Whole-text work goes to the native door; UTF-16
// and ASCII, which are rare, are done here.
import { native } from "jackfield:host";

const NAMES = {
  utf8: "utf8", "utf-8": "utf8", hex: "hex", base64: "base64", base64url: "base64url", ascii: "ascii", latin1: "latin1",
  binary: "latin1", ucs2: "utf16le", "ucs-2": "utf16le", utf16le: "utf16le", "utf-16le": "utf16le",
};

// The one name of an encoding, or undefined.
export function encodingOf(name) {
  if (name === undefined || name === null || name === "") return "utf8";
  return NAMES[name] ?? NAMES[String(name).toLowerCase()];
}

function hexPrefix(text) {
  const even = text.length - (text.length % 2);
  if (even === text.length && /^[0-9a-fA-F]*$/.test(text)) return text;
  const bad = text.search(/[^0-9a-fA-F]/);
  const end = bad === -1 ? even : Math.min(even, bad - (bad % 2));
  return text.slice(0, end);
}

function utf16Bytes(text) {
  const out = new Uint8Array(text.length * 2);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    out[2 * i] = unit;
    out[2 * i + 1] = unit >> 8;
  }
  return out;
}

// Padding ends base64 text; what follows it does not count.
const unpadded = (text) => {
  const end = text.indexOf("=");
  return end === -1 ? text : text.slice(0, end);
};

// Text to bytes. The result is a fresh Uint8Array.
export function encode(text, encoding) {
  switch (encoding) {
    case "utf8": return native("utf8_encode", text);
    case "hex": return native("hex_decode", hexPrefix(text));
    case "base64":
    case "base64url": return native("base64_decode", unpadded(text));
    case "utf16le": return utf16Bytes(text);
    default: {
      const out = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
      return out;
    }
  }
}

function units(bytes, step, unit) {
  let text = "";
  const part = [];
  for (let i = 0; i + step <= bytes.length; i += step) {
    part.push(unit(i));
    if (part.length === 4096) {
      text += String.fromCharCode(...part);
      part.length = 0;
    }
  }
  return text + String.fromCharCode(...part);
}

// Bytes to text.
export function decode(bytes, encoding) {
  switch (encoding) {
    case "utf8": return native("utf8_decode", bytes, false, true);
    case "hex": return native("hex_encode", bytes);
    case "base64": return native("base64_encode", bytes);
    case "base64url": return native("base64_encode", bytes, true);
    case "latin1": return native("latin1_decode", bytes);
    case "ascii": return units(bytes, 1, (i) => bytes[i] & 0x7f);
    default: return units(bytes, 2, (i) => bytes[i] | (bytes[i + 1] << 8));
  }
}

// How many bytes a text takes.
export function byteCount(text, encoding) {
  switch (encoding) {
    case "utf8": return utf8Length(text);
    case "hex": return text.length >>> 1;
    case "base64":
    case "base64url": {
      let length = text.length;
      if (text[length - 1] === "=") length--;
      if (length > 1 && text[length - 1] === "=") length--;
      return Math.floor((length * 3) / 4);
    }
    case "utf16le": return text.length * 2;
    default: return text.length;
  }
}

function utf8Length(text) {
  // eslint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(text)) return text.length;
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) count += 1;
    else if (unit < 0x800) count += 2;
    else if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      count += 4;
      i++;
    } else count += 3;
  }
  return count;
}
