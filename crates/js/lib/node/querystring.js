// node:querystring: parse and stringify of query strings, with its own rules of escaping.
import { native } from "jackfield:host";
import { Buffer } from "node:buffer";

export function escape(value) {
  const text = typeof value === "string" ? value : typeof value === "object" && value !== null ? String(value) : `${value}`;
  try {
    return encodeURIComponent(text);
  } catch (cause) {
    const error = new URIError("URI malformed", { cause });
    error.code = "ERR_INVALID_URI";
    throw error;
  }
}

export function unescapeBuffer(text) {
  const out = [];
  const bytes = Buffer.from(text, "latin1");
  for (let i = 0; i < bytes.length; i++) {
    const pair = bytes[i] === 37 && i + 2 < bytes.length ? bytes.latin1Slice(i + 1, i + 3) : "";
    if (/^[0-9a-fA-F]{2}$/.test(pair)) {
      out.push(Number.parseInt(pair, 16));
      i += 2;
    } else out.push(bytes[i]);
  }
  return Buffer.from(out);
}

export function unescape(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    // Broken escapes stay as they are, the rest is decoded byte by byte.
    return native("utf8_decode", unescapeBytes(String(text)), false, true);
  }
}

function unescapeBytes(text) {
  const source = Buffer.from(text, "utf8");
  const out = new Uint8Array(source.length);
  let length = 0;
  for (let i = 0; i < source.length; i++) {
    const value = source[i] === 37 ? Number.parseInt(/^[0-9a-fA-F]{2}/.exec(source.latin1Slice(i + 1, i + 3))?.[0] ?? "", 16) : NaN;
    if (Number.isNaN(value)) out[length++] = source[i];
    else {
      out[length++] = value;
      i += 2;
    }
  }
  return out.subarray(0, length);
}

const primitive = (value) => {
  if (typeof value === "string") return value;
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  if (typeof value === "bigint" || typeof value === "boolean") return String(value);
  return "";
};

export function stringify(object, separator, equals, options) {
  const and = separator || "&";
  const is = equals || "=";
  const encode = typeof options?.encodeURIComponent === "function" ? options.encodeURIComponent : qs.escape;
  if (object === null || typeof object !== "object") return "";
  const pairs = [];
  for (const key of Object.keys(object)) {
    const value = object[key];
    const name = encode(primitive(key));
    if (Array.isArray(value)) for (const item of value) pairs.push(`${name}${is}${encode(primitive(item))}`);
    else pairs.push(`${name}${is}${encode(primitive(value))}`);
  }
  return pairs.join(and);
}

export function parse(text, separator, equals, options) {
  const out = Object.create(null);
  if (typeof text !== "string" || text.length === 0) return out;
  const and = separator ? String(separator) : "&";
  const is = equals ? String(equals) : "=";
  const decode = typeof options?.decodeURIComponent === "function" ? options.decodeURIComponent : qs.unescape;
  let most = 1000;
  if (typeof options?.maxKeys === "number") most = options.maxKeys > 0 ? options.maxKeys : Infinity;
  const plain = (part) => {
    const spaced = part.replaceAll("+", " ");
    if (decode === unescape && !spaced.includes("%")) return spaced;
    try {
      return decode(spaced);
    } catch {
      return unescape(spaced);
    }
  };
  let count = 0;
  for (const part of text.split(and)) {
    if (part === "") continue;
    if (count++ >= most) break;
    const at = part.indexOf(is);
    const key = plain(at === -1 ? part : part.slice(0, at));
    const value = at === -1 ? "" : plain(part.slice(at + is.length));
    if (!(key in out)) out[key] = value;
    else if (Array.isArray(out[key])) out[key].push(value);
    else out[key] = [out[key], value];
  }
  return out;
}

export const encode = stringify;
export const decode = parse;
const qs = { escape, unescape, unescapeBuffer, stringify, encode, parse, decode };
export default qs;
