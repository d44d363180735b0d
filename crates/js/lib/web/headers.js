// Headers of fetch: names without case, values joined with ", ", Set-Cookie kept apart, iteration in sorted order.
// Guards: an "immutable" list (a response from the network) refuses changes. Request headers that only the connection
// may set are not refused here, so that libraries which set them work; fetch leaves them out.

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function nameOf(name, what) {
  const text = `${name}`;
  if (!TOKEN.test(text)) throw new TypeError(`Headers.${what}: ${text} is an invalid header name.`);
  return text.toLowerCase();
}
function valueOf(value, what) {
  const text = `${value}`;
  const trimmed = /^[\t\n\r ]|[\t\n\r ]$/.test(text) ? text.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "") : text;
  if (/[\0\r\n]/.test(trimmed)) throw new TypeError(`Headers.${what}: ${trimmed} is an invalid header value.`);
  if (/[^\0-\xff]/.test(trimmed)) {
    throw new TypeError(`Cannot convert argument to a ByteString because the character at index ${trimmed.search(/[^\0-\xff]/)} has a value of ${trimmed.charCodeAt(trimmed.search(/[^\0-\xff]/))} which is greater than 255.`);
  }
  return trimmed;
}
const few = (given, count, what) => {
  if (given.length < count) throw new TypeError(`Headers.${what}: ${count} argument${count > 1 ? "s" : ""} required, but${given.length > 0 ? " only" : ""} ${given.length} present.`);
};

let guards;

export class Headers {
  #map = new Map(); // lower-case name → value, for set-cookie the list of values
  #fixed = false;
  constructor(init = undefined) {
    if (init === undefined) return;
    if (init === null || (typeof init !== "object" && typeof init !== "function")) {
      throw new TypeError("Headers constructor: init was given by something that is neither pairs nor a record");
    }
    if (#map in init) {
      for (const [name, value] of init.#map) this.#map.set(name, Array.isArray(value) ? value.slice() : value);
      return;
    }
    if (typeof init[Symbol.iterator] === "function") {
      for (const pair of init) {
        const items = pair !== null && typeof pair === "object" ? [...pair] : [];
        if (items.length !== 2) throw new TypeError("Headers constructor: expected name/value pair to be length 2, found " + items.length + ".");
        this.append(items[0], items[1]);
      }
      return;
    }
    for (const key of Reflect.ownKeys(init)) {
      if (!Object.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
      if (typeof key === "symbol") throw new TypeError("Headers constructor: a symbol is not a header name");
      this.append(key, init[key]);
    }
  }
  #change() { if (this.#fixed) throw new TypeError("immutable"); }
  append(name, value) {
    few(arguments, 2, "append");
    const key = nameOf(name, "append");
    const text = valueOf(value, "append");
    this.#change();
    const had = this.#map.get(key);
    if (key === "set-cookie") {
      if (had) had.push(text);
      else this.#map.set(key, [text]);
    } else {
      this.#map.set(key, had === undefined ? text : `${had}${key === "cookie" ? "; " : ", "}${text}`);
    }
  }
  delete(name) {
    few(arguments, 1, "delete");
    const key = nameOf(name, "delete");
    this.#change();
    this.#map.delete(key);
  }
  get(name) {
    few(arguments, 1, "get");
    const value = this.#map.get(nameOf(name, "get"));
    return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
  }
  has(name) {
    few(arguments, 1, "has");
    return this.#map.has(nameOf(name, "has"));
  }
  set(name, value) {
    few(arguments, 2, "set");
    const key = nameOf(name, "set");
    const text = valueOf(value, "set");
    this.#change();
    this.#map.set(key, key === "set-cookie" ? [text] : text);
  }
  getSetCookie() { return (this.#map.get("set-cookie") ?? []).slice(); }
  forEach(callback, self = undefined) {
    if (typeof callback !== "function") throw new TypeError("Failed to execute 'forEach' on 'Headers': parameter 1 is not of type 'Function'.");
    for (const [name, value] of this.#sorted()) callback.call(self, value, name, this);
  }
  #sorted() {
    const list = [];
    for (const name of [...this.#map.keys()].sort()) {
      const value = this.#map.get(name);
      if (Array.isArray(value)) for (const each of value) list.push([name, each]);
      else list.push([name, value]);
    }
    return list;
  }
  *keys() { for (const [name] of this.#sorted()) yield name; }
  *values() { for (const [, value] of this.#sorted()) yield value; }
  *entries() { yield* this.#sorted(); }
  get [Symbol.toStringTag]() { return "Headers"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    return typeof inspect === "function" ? `Headers ${inspect(Object.fromEntries(this.#sorted()), options)}` : "Headers";
  }
  static {
    guards = { fix: (headers) => { headers.#fixed = true; return headers; } };
  }
}
Object.defineProperty(Headers.prototype, Symbol.iterator, { value: Headers.prototype.entries, configurable: true, writable: true });

/** Makes a list refuse further changes. */
export const freezeHeaders = (headers) => guards.fix(headers);

/** Headers from a server, which may hold what a caller may not set; what breaks the rules is left out. */
export function headersFrom(pairs) {
  const headers = new Headers();
  for (const [name, value] of pairs) {
    try {
      headers.append(name, value);
    } catch {
      // One bad header of a server must not lose the whole response.
    }
  }
  return headers;
}
