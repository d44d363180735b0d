// structuredClone: cycles, boxed primitives, Date, RegExp, Map, Set, Error, ArrayBuffer and views, Blob and File,
// ports and buffers that are transferred. What cannot be cloned is refused with a DataCloneError before anything is
// transferred. Classes of an extension lose their prototype, as everywhere. A Proxy cannot be told from its target.
import { DOMException } from "jackfield:web/domexception";
import { Blob, shareBlob } from "jackfield:web/blob";
import { transferPort, isPort } from "jackfield:web/messagechannel";

const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

export function structuredClone(value, options = undefined) {
  if (arguments.length === 0) {
    const error = new TypeError('The "value" argument must be specified');
    error.code = "ERR_MISSING_ARGS";
    throw error;
  }
  return cloneWith(value, options?.transfer === undefined ? [] : [...options.transfer]).value;
}

/** Clones and transfers: `{ value, ports }`, the ports in the order of the transfer list. */
export function cloneWith(value, transfer) {
  const seen = new Map();
  const moved = new Set();
  for (const item of transfer) {
    const port = isPort(item);
    if (!port && !(item instanceof ArrayBuffer)) throw refuse("Value not transferable");
    if (moved.has(item)) throw refuse(`${port ? "MessagePort" : "ArrayBuffer"} occurs in the transfer list more than once`);
    if (!port && item.detached) throw refuse("An ArrayBuffer is detached and could not be cloned.");
    moved.add(item);
  }
  const ports = [];
  // Transferred things need their new selves before the walk; a buffer is emptied only after the walk went well.
  const later = [];
  for (const item of moved) {
    if (isPort(item)) continue;
    const fresh = new ArrayBuffer(item.byteLength);
    seen.set(item, fresh);
    later.push([item, fresh]);
  }
  const made = new Map();
  for (const item of moved) if (isPort(item)) made.set(item, null);
  const copy = walk(value, seen, made);
  for (const [from, to] of later) {
    new Uint8Array(to).set(new Uint8Array(from));
    if (typeof from.transfer === "function") from.transfer(0);
  }
  for (const item of moved) {
    if (!isPort(item)) continue;
    const holder = made.get(item) ?? { port: null, places: [] };
    holder.port = transferPort(item);
    for (const place of holder.places) place(holder.port);
    ports.push(holder.port);
  }
  return { value: copy instanceof PortPlace ? copy.holder.port : copy, ports };
}

// Stands where a transferred port will be until the transfer happens.
class PortPlace {
  constructor(holder) { this.holder = holder; }
}

const refuse = (message) => new DOMException(message, "DataCloneError");
const shown = (value) => (typeof value === "function" || typeof value === "symbol" ? String(value) : `#<${value?.constructor?.name || "Object"}>`);
const cannot = (value) => refuse(`${shown(value)} could not be cloned.`);

function walk(value, seen, ports) {
  switch (typeof value) {
    case "symbol":
    case "function":
      throw cannot(value);
    case "object":
      break;
    default:
      return value;
  }
  if (value === null) return null;
  const known = seen.get(value);
  if (known !== undefined) return known;
  if (ports.has(value)) {
    let holder = ports.get(value);
    if (!holder) ports.set(value, (holder = { port: null, places: [] }));
    return new PortPlace(holder);
  }
  const proto = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    const copy = new Array(value.length);
    seen.set(value, copy);
    return fill(copy, value, seen, ports);
  }
  if (proto === Object.prototype || proto === null) {
    const copy = {};
    seen.set(value, copy);
    return fill(copy, value, seen, ports);
  }
  return special(value, seen, ports);
}

function fill(copy, value, seen, ports) {
  for (const key of Object.keys(value)) {
    const item = walk(value[key], seen, ports);
    put(item, (final) => {
      if (key === "__proto__") Object.defineProperty(copy, key, { value: final, writable: true, enumerable: true, configurable: true });
      else copy[key] = final;
    });
  }
  return copy;
}

function put(item, place) {
  if (item instanceof PortPlace) item.holder.places.push(place);
  place(item);
}

function special(value, seen, ports) {
  const keep = (copy) => (seen.set(value, copy), copy);
  if (value instanceof Date) return keep(new Date(Date.prototype.getTime.call(value)));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof Map) {
    const copy = keep(new Map());
    const entries = [...Map.prototype.entries.call(value)];
    for (const [key, item] of entries) {
      const newKey = walk(key, seen, ports);
      put(walk(item, seen, ports), (final) => copy.set(newKey, final));
    }
    return copy;
  }
  if (value instanceof Set) {
    const copy = keep(new Set());
    for (const item of [...Set.prototype.values.call(value)]) copy.add(walk(item, seen, ports));
    return copy;
  }
  if (value instanceof ArrayBuffer) {
    if (value.detached) throw refuse("An ArrayBuffer is detached and could not be cloned.");
    if (!value.resizable) return keep(value.slice(0));
    const copy = keep(new ArrayBuffer(value.byteLength, { maxByteLength: value.maxByteLength }));
    new Uint8Array(copy).set(new Uint8Array(value));
    return copy;
  }
  if (typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer) return keep(value);
  if (ArrayBuffer.isView(value)) return keep(cloneView(value, seen, ports));
  if (value instanceof DOMException) return keep(new DOMException(value.message, value.name));
  if (value instanceof Error) return cloneError(value, keep, seen, ports);
  if (value instanceof Boolean || value instanceof Number || value instanceof String || value instanceof BigInt) return keep(Object(value.valueOf()));
  if (value instanceof Blob) return keep(shareBlob(value));
  if (isPort(value)) throw refuse("Object that needs transfer was found in message but not listed in transferList");
  if (value instanceof WeakMap || value instanceof WeakSet || value instanceof Promise || value instanceof WeakRef || value instanceof Symbol
    || (typeof FinalizationRegistry !== "undefined" && value instanceof FinalizationRegistry)) throw cannot(value);
  const tag = Object.prototype.toString.call(value);
  if (tag === "[object Generator]" || tag === "[object AsyncGenerator]") throw refuse(`${tag} could not be cloned.`);
  return fill(keep({}), value, seen, ports);
}

function cloneView(value, seen, ports) {
  const buffer = walk(value.buffer, seen, ports);
  if (value instanceof DataView) return new DataView(buffer, value.byteOffset, value.byteLength);
  // A Buffer of Node and any other subclass comes out as the typed array it is made of.
  const name = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get.call(value);
  return new globalThis[name](buffer, value.byteOffset, value.length);
}

function cloneError(value, keep, seen, ports) {
  const Class = Object.hasOwn(ERRORS, value.name) ? ERRORS[value.name] : Error;
  const error = keep(new Class());
  const own = (key, item) => Object.defineProperty(error, key, { value: item, writable: true, enumerable: false, configurable: true });
  const message = Object.getOwnPropertyDescriptor(value, "message");
  if (message && "value" in message) own("message", `${message.value}`);
  else delete error.message;
  own("stack", typeof value.stack === "string" ? value.stack : undefined);
  if (Object.hasOwn(value, "cause")) own("cause", walk(value.cause, seen, ports));
  return error;
}
