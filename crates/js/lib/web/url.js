// URL and URLSearchParams. Parsing and the setters are native (the host's own URL parser); query lists are handled
// here.
import { native } from "jackfield:host";
import { codedError } from "jackfield:web/bytes";
import { createObjectURL, revokeObjectURL } from "jackfield:web/objecturl";

const SETTABLE = ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
let linkParams;
let readParams;

export class URL {
  #at; // the parts as the native parser gives them
  #params = null;
  constructor(input, base = undefined) {
    if (arguments.length === 0) throw codedError(TypeError, "ERR_MISSING_ARGS", 'The "url" argument must be specified');
    const text = `${input}`;
    const parts = parse(text, base);
    if (parts === null) {
      const extra = { input: text };
      if (base !== undefined) extra.base = `${base}`;
      throw codedError(TypeError, "ERR_INVALID_URL", "Invalid URL", extra);
    }
    this.#at = parts;
  }
  static canParse(input, base = undefined) { return parse(`${input}`, base) !== null; }
  static parse(input, base = undefined) {
    try {
      return new URL(input, base);
    } catch {
      return null;
    }
  }
  static createObjectURL(blob) { return createObjectURL(blob); }
  static revokeObjectURL(id) { revokeObjectURL(id); }
  get href() { return this.#at.href; }
  set href(value) {
    const parts = parse(`${value}`);
    if (parts === null) throw codedError(TypeError, "ERR_INVALID_URL", "Invalid URL", { input: `${value}` });
    this.#take(parts);
  }
  get origin() { return this.#at.origin; }
  get protocol() { return this.#at.protocol; }
  get username() { return this.#at.username; }
  get password() { return this.#at.password; }
  get host() { return this.#at.port === "" ? this.#at.hostname : `${this.#at.hostname}:${this.#at.port}`; }
  get hostname() { return this.#at.hostname; }
  get port() { return this.#at.port; }
  get pathname() { return this.#at.pathname; }
  get search() { return this.#at.search; }
  get hash() { return this.#at.hash; }
  get searchParams() {
    return (this.#params ??= linkParams(this.#at.search, (query) => {
      const parts = native("url_set", this.#at.href, "search", query);
      if (parts) this.#at = parts;
    }));
  }
  #take(parts) {
    this.#at = parts;
    if (this.#params) readParams(this.#params, parts.search);
  }
  toString() { return this.#at.href; }
  toJSON() { return this.#at.href; }
  get [Symbol.toStringTag]() { return "URL"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    if (typeof depth === "number" && depth < 0) return this.href;
    const shown = {};
    for (const key of ["href", "origin", ...SETTABLE.slice(0, 8), "searchParams", "hash"]) shown[key] = this[key];
    return typeof inspect === "function" ? `${this.constructor.name} ${inspect(shown, options)}` : this.href;
  }
  static {
    for (const field of SETTABLE) {
      const { get } = Object.getOwnPropertyDescriptor(URL.prototype, field);
      Object.defineProperty(URL.prototype, field, {
        get, configurable: true, enumerable: true,
        set(value) {
          const parts = native("url_set", this.#at.href, field, `${value}`.toWellFormed());
          if (parts) this.#take(parts);
        },
      });
    }
    for (const key of ["href", "origin", "searchParams", "toString", "toJSON"]) {
      Object.defineProperty(URL.prototype, key, { ...Object.getOwnPropertyDescriptor(URL.prototype, key), enumerable: true });
    }
  }
}

function parse(text, base) {
  if (base === undefined) return native("url_parse", text.toWellFormed());
  return native("url_parse", text.toWellFormed(), `${base}`.toWellFormed());
}

export class URLSearchParams {
  #list = [];
  #changed = null; // tells the URL that these belong to
  constructor(init = undefined) {
    if (init === undefined || init === null) return;
    if (typeof init === "object" || typeof init === "function") {
      if (#list in init && init[Symbol.iterator] === URLSearchParams.prototype[Symbol.iterator]) {
        this.#list = init.#list.map((pair) => [pair[0], pair[1]]);
      } else if (init[Symbol.iterator] !== undefined && init[Symbol.iterator] !== null) {
        if (typeof init[Symbol.iterator] !== "function") throw codedError(TypeError, "ERR_ARG_NOT_ITERABLE", "Query pairs must be iterable");
        for (const pair of init) {
          if (pair === null || typeof pair !== "object" || typeof pair[Symbol.iterator] !== "function") throw notTuple();
          const items = [...pair];
          if (items.length !== 2) throw notTuple();
          this.#list.push([wellFormed(items[0]), wellFormed(items[1])]);
        }
      } else {
        // A record: a key that comes twice after conversion keeps its place and takes the last value.
        const seen = new Map();
        for (const key of Reflect.ownKeys(init)) {
          if (!Object.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
          seen.set(wellFormed(key), wellFormed(init[key]));
        }
        this.#list = [...seen].map(([key, value]) => [key, value]);
      }
    } else {
      this.#list = parseQuery(wellFormed(init));
    }
  }
  get size() { return this.#list.length; }
  append(name, value) {
    need(arguments, 2, '"name" and "value" arguments');
    this.#list.push([wellFormed(name), wellFormed(value)]);
    this.#tell();
  }
  delete(name, value = undefined) {
    need(arguments, 1, '"name" argument');
    const key = wellFormed(name);
    const only = value === undefined ? undefined : wellFormed(value);
    this.#list = this.#list.filter((pair) => pair[0] !== key || (only !== undefined && pair[1] !== only));
    this.#tell();
  }
  get(name) {
    need(arguments, 1, '"name" argument');
    const key = wellFormed(name);
    return this.#list.find((pair) => pair[0] === key)?.[1] ?? null;
  }
  getAll(name) {
    need(arguments, 1, '"name" argument');
    const key = wellFormed(name);
    return this.#list.filter((pair) => pair[0] === key).map((pair) => pair[1]);
  }
  has(name, value = undefined) {
    need(arguments, 1, '"name" argument');
    const key = wellFormed(name);
    const only = value === undefined ? undefined : wellFormed(value);
    return this.#list.some((pair) => pair[0] === key && (only === undefined || pair[1] === only));
  }
  set(name, value) {
    need(arguments, 2, '"name" and "value" arguments');
    const key = wellFormed(name);
    const text = wellFormed(value);
    let placed = false;
    this.#list = this.#list.filter((pair) => {
      if (pair[0] !== key) return true;
      if (placed) return false;
      placed = true;
      pair[1] = text;
      return true;
    });
    if (!placed) this.#list.push([key, text]);
    this.#tell();
  }
  sort() {
    this.#list.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
    this.#tell();
  }
  forEach(callback, self = undefined) {
    if (typeof callback !== "function") throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", 'The "callback" argument must be of type function.');
    for (let i = 0; i < this.#list.length; i++) callback.call(self, this.#list[i][1], this.#list[i][0], this);
  }
  *keys() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][0]; }
  *values() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][1]; }
  *entries() { for (let i = 0; i < this.#list.length; i++) yield [this.#list[i][0], this.#list[i][1]]; }
  toString() {
    let text = "";
    for (const [name, value] of this.#list) text += `${text === "" ? "" : "&"}${formEncode(name)}=${formEncode(value)}`;
    return text;
  }
  #tell() { this.#changed?.(this.toString()); }
  get [Symbol.toStringTag]() { return "URLSearchParams"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    if (typeof inspect !== "function") return "[Object]";
    const items = this.#list.map(([name, value]) => `${inspect(name, options)} => ${inspect(value, options)}`);
    return items.length === 0 ? "URLSearchParams {}" : `URLSearchParams { ${items.join(", ")} }`;
  }
  static {
    linkParams = (search, changed) => {
      const params = new URLSearchParams(search);
      params.#changed = changed;
      return params;
    };
    readParams = (params, search) => { params.#list = parseQuery(search); };
  }
}
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, { value: URLSearchParams.prototype.entries, configurable: true, writable: true });

const wellFormed = (value) => `${value}`.toWellFormed();
const notTuple = () => codedError(TypeError, "ERR_INVALID_TUPLE", "Each query pair must be an iterable [name, value] tuple");
function need(given, count, what) {
  if (given.length < count) throw codedError(TypeError, "ERR_MISSING_ARGS", `The ${what} must be specified`);
}

function parseQuery(query) {
  const list = [];
  for (const piece of (query[0] === "?" ? query.slice(1) : query).split("&")) {
    if (piece === "") continue;
    const at = piece.indexOf("=");
    list.push(at < 0 ? [formDecode(piece), ""] : [formDecode(piece.slice(0, at)), formDecode(piece.slice(at + 1))]);
  }
  return list;
}

function formDecode(text) {
  if (text.includes("+")) text = text.replaceAll("+", " ");
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return percentDecode(text);
  }
}

/** Percent-decoding that never fails: what is not two hex digits stays, what is not UTF-8 becomes U+FFFD. */
export function percentDecode(text) {
  const bytes = percentBytes(text);
  return native("utf8_decode", bytes, false, true);
}

export function percentBytes(text) {
  const from = native("utf8_encode", text.toWellFormed());
  const to = new Uint8Array(from.length);
  let size = 0;
  for (let i = 0; i < from.length; i++) {
    let byte = from[i];
    if (byte === 0x25 && i + 2 < from.length) {
      const high = hexValue(from[i + 1]);
      const low = hexValue(from[i + 2]);
      if (high >= 0 && low >= 0) {
        byte = high * 16 + low;
        i += 2;
      }
    }
    to[size++] = byte;
  }
  return to.subarray(0, size);
}

function hexValue(byte) {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function formEncode(text) {
  const encoded = encodeURIComponent(text);
  return /[!'()~]|%20/.test(encoded) ? encoded.replace(/%20|[!'()~]/g, (c) => FORM[c]) : encoded;
}
const FORM = { "%20": "+", "!": "%21", "'": "%27", "(": "%28", ")": "%29", "~": "%7E" };
