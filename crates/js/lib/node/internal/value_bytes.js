// Any value that structured clone takes, as bytes and back, for v8.serialize. The bytes are a mark and JSON, in which
// every object has a number, so that cycles and shared objects survive. Functions and symbols are refused.
import { native } from "jackfield:host";
import { nodeError } from "jackfield:node/internal/errors";
import * as types from "jackfield:node/internal/types";

const MARK = "jfv1:";
const refuse = (value) => nodeError(Error, "ERR_DATA_CLONE", `${typeof value === "symbol" ? String(value) : typeof value} could not be cloned.`);

function numberItem(value) {
  if (Number.isNaN(value)) return ["n", "NaN"];
  if (Object.is(value, -0)) return ["n", "-0"];
  return Number.isFinite(value) ? value : ["n", value > 0 ? "Infinity" : "-Infinity"];
}

export function encodeValue(root) {
  const numbers = new Map();
  const objects = [];
  const item = (value) => {
    switch (typeof value) {
      case "string": case "boolean": return value;
      case "number": return numberItem(value);
      case "bigint": return ["b", String(value)];
      case "undefined": return ["u"];
      case "function": case "symbol": throw refuse(value);
      default:
    }
    if (value === null) return null;
    if (!numbers.has(value)) {
      const number = objects.length;
      numbers.set(value, number);
      objects.push(null);
      objects[number] = record(value);
    }
    return ["o", numbers.get(value)];
  };
  const pairs = (value) => Object.keys(value).map((key) => [key, item(value[key])]);
  const bytes = (view) => native("base64_encode", new Uint8Array(view.buffer ?? view, view.byteOffset ?? 0, view.byteLength));
  const record = (value) => {
    if (Array.isArray(value)) return ["array", value.length, pairs(value)];
    if (types.isDate(value)) return ["date", numberItem(value.getTime())];
    if (types.isRegExp(value)) return ["regexp", value.source, value.flags];
    if (types.isMap(value)) return ["map", [...value].map(([k, v]) => [item(k), item(v)])];
    if (types.isSet(value)) return ["set", [...value].map(item)];
    if (types.isTypedArray(value)) return ["typed", types.typedArrayName(value), bytes(value)];
    if (types.isArrayBuffer(value)) return ["buffer", bytes(value)];
    if (types.isDataView(value)) return ["view", bytes(value)];
    if (types.isBoxedPrimitive(value)) return ["boxed", item(value.valueOf())];
    if (types.isNativeError(value)) return ["error", value.name, value.message, String(value.stack ?? ""), "cause" in value ? item(value.cause) : ["u"]];
    if (types.isPromise(value) || types.isWeakMap(value) || types.isWeakSet(value)) {
      throw nodeError(Error, "ERR_DATA_CLONE", `#<${value.constructor?.name ?? "Object"}> could not be cloned.`);
    }
    return ["object", pairs(value)];
  };
  const top = item(root);
  return native("utf8_encode", MARK + JSON.stringify({ top, objects }));
}

const ERRORS = { Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError };

function shell(record) {
  const [kind, first, second] = record;
  const data = (text) => native("base64_decode", text).slice();
  switch (kind) {
    case "array": return new Array(first);
    case "date": return new Date(Array.isArray(first) ? NaN : first);
    case "regexp": return new RegExp(first, second);
    case "map": return new Map();
    case "set": return new Set();
    case "typed": return new globalThis[first](data(second).buffer);
    case "buffer": return data(first).buffer;
    case "view": return new DataView(data(first).buffer);
    case "boxed": return Object(Array.isArray(first) ? plain(first) : first);
    case "error": {
      const made = new (ERRORS[first] ?? Error)(second);
      Object.defineProperty(made, "stack", { value: record[3], writable: true, configurable: true });
      return made;
    }
    default: return {};
  }
}
const plain = ([kind, text]) => (kind === "b" ? BigInt(text) : kind === "n" ? Number(text) : undefined);

export function decodeValue(bytes) {
  const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
  const text = native("utf8_decode", view, false, true);
  if (!text.startsWith(MARK)) throw new Error("Unable to deserialize cloned data: not written by this runtime");
  const { top, objects } = JSON.parse(text.slice(MARK.length));
  const made = objects.map(shell);
  const value = (item) => {
    if (!Array.isArray(item)) return item;
    return item[0] === "o" ? made[item[1]] : plain(item);
  };
  objects.forEach(([kind, first, second, , cause], i) => {
    const put = ([key, item]) => Object.defineProperty(made[i], key, { value: value(item), writable: true, enumerable: true, configurable: true });
    if (kind === "array") second.forEach(put);
    else if (kind === "object") first.forEach(put);
    else if (kind === "map") for (const [k, v] of first) made[i].set(value(k), value(v));
    else if (kind === "set") for (const v of first) made[i].add(value(v));
    else if (kind === "error" && !(Array.isArray(cause) && cause[0] === "u")) {
      Object.defineProperty(made[i], "cause", { value: value(cause), writable: true, configurable: true });
    }
  });
  return value(top);
}
