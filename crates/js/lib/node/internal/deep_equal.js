// Deep equality, loose and strict, for util.isDeepStrictEqual and node:assert. Strict compares with Object.is, own
// enumerable keys and symbols, prototypes and tags; loose compares primitives with == and ignores prototypes.
// Collections compare without regard to order. Cycles compare by position.
import * as types from "jackfield:node/internal/types";

const tagOf = (v) => Object.prototype.toString.call(v);
const isPlain = (v) => v === null || (typeof v !== "object" && typeof v !== "function");

export const isDeepStrictEqual = (a, b, options) => equal(a, b, { strict: true, skipPrototype: options?.skipPrototype === true }, []);
export const isDeepEqual = (a, b) => equal(a, b, { strict: false }, []);

// Every key of `expected` is in `actual` and equal, for assert.partialDeepStrictEqual.
export function isPartialEqual(actual, expected) {
  if (isPlain(expected) || isPlain(actual)) return Object.is(actual, expected);
  if (types.isMap(expected)) {
    return types.isMap(actual) && [...expected].every(([k, v]) => actual.has(k) && isPartialEqual(actual.get(k), v));
  }
  if (types.isSet(expected)) {
    return types.isSet(actual) && [...expected].every((v) => actual.has(v) || [...actual].some((other) => isPartialEqual(other, v)));
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || expected.length > actual.length) return false;
    let at = 0;
    return expected.every((v) => {
      while (at < actual.length && !isPartialEqual(actual[at], v)) at++;
      return at++ < actual.length;
    });
  }
  if (tagOf(actual) !== tagOf(expected) || Object.getPrototypeOf(actual) !== Object.getPrototypeOf(expected)) return false;
  if (!sameContents(actual, expected, { strict: true }, [])) return false;
  return Reflect.ownKeys(expected).every((key) =>
    !Object.prototype.propertyIsEnumerable.call(expected, key) || (Object.hasOwn(actual, key) && isPartialEqual(actual[key], expected[key])));
}

function equal(a, b, mode, seen) {
  if (a === b) return a !== 0 || !mode.strict || Object.is(a, b);
  if (mode.strict) {
    if (isPlain(a) || isPlain(b)) return typeof a === "number" && Number.isNaN(a) && Number.isNaN(b);
    if (typeof a === "function" || typeof b === "function") return false;
    if (!mode.skipPrototype && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  } else {
    if (isPlain(a) || typeof a === "function") {
      // eslint-disable-next-line eqeqeq
      return (isPlain(b) || typeof b === "function") && (a == b || (Number.isNaN(a) && Number.isNaN(b)));
    }
    if (isPlain(b) || typeof b === "function") return false;
  }
  if (tagOf(a) !== tagOf(b)) return false;
  if (Array.isArray(a) !== Array.isArray(b) || (Array.isArray(a) && a.length !== b.length)) return false;
  if (!sameContents(a, b, mode, seen)) return false;
  return sameKeys(a, b, mode, seen);
}

// What built-in objects hold besides their properties.
function sameContents(a, b, mode, seen) {
  if (Array.isArray(a)) return true;
  if (types.isDate(a)) return types.isDate(b) && Object.is(Date.prototype.getTime.call(a), Date.prototype.getTime.call(b));
  if (types.isRegExp(a)) return types.isRegExp(b) && a.source === b.source && a.flags === b.flags && a.lastIndex === b.lastIndex;
  if (types.isNativeError(a) || a instanceof Error) {
    if (!(types.isNativeError(b) || b instanceof Error) || a.message !== b.message || a.name !== b.name) return false;
    if (("cause" in a) !== ("cause" in b) || !equal(a.cause, b.cause, mode, seen)) return false;
    return !Array.isArray(a.errors) || equal(a.errors, b.errors, mode, seen);
  }
  if (ArrayBuffer.isView(a)) {
    if (!ArrayBuffer.isView(b) || types.typedArrayName(a) !== types.typedArrayName(b)) return false;
    if (/^Float/.test(types.typedArrayName(a) ?? "")) {
      if (a.length !== b.length) return false;
      return a.every((v, i) => (mode.strict ? Object.is(v, b[i]) : v === b[i] || (Number.isNaN(v) && Number.isNaN(b[i]))));
    }
    return sameBytes(new Uint8Array(a.buffer, a.byteOffset, a.byteLength), new Uint8Array(b.buffer, b.byteOffset, b.byteLength));
  }
  if (types.isAnyArrayBuffer(a)) return types.isAnyArrayBuffer(b) && sameBytes(new Uint8Array(a), new Uint8Array(b));
  if (types.isSet(a)) return types.isSet(b) && a.size === b.size && sameSets(a, b, mode, seen);
  if (types.isMap(a)) return types.isMap(b) && a.size === b.size && sameMaps(a, b, mode, seen);
  if (types.isBoxedPrimitive(a)) {
    return types.isBoxedPrimitive(b) && typeof a.valueOf() === typeof b.valueOf() && Object.is(a.valueOf(), b.valueOf());
  }
  if (types.isWeakMap(a) || types.isWeakSet(a) || types.isPromise(a)) return false;
  if (types.isSet(b) || types.isMap(b) || types.isDate(b) || types.isRegExp(b) || Array.isArray(b) || ArrayBuffer.isView(b)) return false;
  if (types.isNativeError(b) || types.isBoxedPrimitive(b)) return false;
  return true;
}

const sameBytes = (a, b) => a.length === b.length && a.every((v, i) => v === b[i]);

const symbolsOf = (v) => Object.getOwnPropertySymbols(v).filter((key) => Object.prototype.propertyIsEnumerable.call(v, key));

function sameKeys(a, b, mode, seen) {
  const viewed = ArrayBuffer.isView(a);
  const own = (v) => (viewed ? Object.keys(v).filter((k) => !/^\d+$/.test(k)) : Object.keys(v));
  const keys = own(a);
  if (keys.length !== own(b).length) return false;
  for (const key of keys) if (!Object.prototype.propertyIsEnumerable.call(b, key)) return false;
  if (mode.strict) {
    const symbols = symbolsOf(a);
    if (symbols.length !== symbolsOf(b).length) return false;
    for (const key of symbols) if (!Object.prototype.propertyIsEnumerable.call(b, key)) return false;
    keys.push(...symbols);
  }
  if (keys.length === 0) return true;
  const pair = seen.find((p) => p[0] === a || p[1] === b);
  if (pair !== undefined) return pair[0] === a && pair[1] === b;
  seen.push([a, b]);
  const same = keys.every((key) => equal(a[key], b[key], mode, seen));
  seen.pop();
  return same;
}

// Each member finds a partner of its own; identical ones go first, since comparing objects is dear.
function sameSets(a, b, mode, seen) {
  let left;
  for (const value of a) {
    if (b.has(value) && (mode.strict || typeof value !== "object")) continue;
    if (isPlain(value) && mode.strict) return false;
    (left ??= []).push(value);
  }
  if (left === undefined) return true;
  const right = [...b].filter((value) => !(a.has(value) && (mode.strict || typeof value !== "object")));
  return matchAll(left, right, (x, y) => equal(x, y, mode, seen), a, b, seen);
}

function sameMaps(a, b, mode, seen) {
  let left;
  for (const [key, value] of a) {
    if (b.has(key)) {
      if (!equal(value, b.get(key), mode, seen)) return false;
      continue;
    }
    if (isPlain(key) && mode.strict) return false;
    (left ??= []).push([key, value]);
  }
  if (left === undefined) return true;
  const right = [...b].filter(([key]) => !a.has(key));
  return matchAll(left, right, (x, y) => equal(x[0], y[0], mode, seen) && equal(x[1], y[1], mode, seen), a, b, seen);
}

function matchAll(left, right, same, a, b, seen) {
  if (left.length !== right.length) return false;
  const pair = seen.find((p) => p[0] === a || p[1] === b);
  if (pair !== undefined) return pair[0] === a && pair[1] === b;
  seen.push([a, b]);
  const result = left.every((x) => {
    const at = right.findIndex((y) => same(x, y));
    if (at === -1) return false;
    right.splice(at, 1);
    return true;
  });
  seen.pop();
  return result;
}
