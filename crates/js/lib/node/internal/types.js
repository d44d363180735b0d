// util.types: what kind of built-in object a value really is, whatever its prototype or tag pretends. A cheap look at
// the class and the tag comes first, since a failed brand check costs an exception. Two things cannot be seen from
// JavaScript: a proxy, and whether something with Promise's prototype is a real promise. For both the engine is asked
// (`native("kind", value)`); where it cannot answer, a proxy is taken for its target and a promise is believed.
import { native } from "jackfield:host";

const tagOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
const isObject = (value) => value !== null && typeof value === "object";

let canAsk = true;
export function kindOf(value) {
  if (!canAsk) return undefined;
  try {
    return native("kind", value);
  } catch {
    canAsk = false;
    return undefined;
  }
}

const getter = (proto, key) => Object.getOwnPropertyDescriptor(proto, key).get;

function branded(Class, tag, probe) {
  return (value) => {
    if (!isObject(value) || !(value instanceof Class || tagOf(value) === tag)) return false;
    try {
      probe(value);
      return true;
    } catch {
      return false;
    }
  };
}

const viaGetter = (Class, tag, key) => {
  const get = getter(Class.prototype, key);
  return branded(Class, tag, (value) => get.call(value));
};
const viaMethod = (Class, tag, method, ...args) => branded(Class, tag, (value) => method.apply(value, args));

export const isMap = viaGetter(Map, "Map", "size");
export const isSet = viaGetter(Set, "Set", "size");
export const isWeakMap = viaMethod(WeakMap, "WeakMap", WeakMap.prototype.has, {});
export const isWeakSet = viaMethod(WeakSet, "WeakSet", WeakSet.prototype.has, {});
export const isDate = viaMethod(Date, "Date", Date.prototype.getTime);
const regexpSource = viaGetter(RegExp, "RegExp", "source");
export const isRegExp = (value) => regexpSource(value) && value !== RegExp.prototype;
export const isArrayBuffer = viaGetter(ArrayBuffer, "ArrayBuffer", "byteLength");
export const isSharedArrayBuffer = typeof SharedArrayBuffer === "function"
  ? viaGetter(SharedArrayBuffer, "SharedArrayBuffer", "byteLength")
  : () => false;
export const isAnyArrayBuffer = (value) => isArrayBuffer(value) || isSharedArrayBuffer(value);
export const isNumberObject = viaMethod(Number, "Number", Number.prototype.valueOf);
export const isStringObject = viaMethod(String, "String", String.prototype.valueOf);
export const isBooleanObject = viaMethod(Boolean, "Boolean", Boolean.prototype.valueOf);
export const isBigIntObject = viaMethod(BigInt, "BigInt", BigInt.prototype.valueOf);
export const isSymbolObject = viaMethod(Symbol, "Symbol", Symbol.prototype.valueOf);
export const isBoxedPrimitive = (value) =>
  isNumberObject(value) || isStringObject(value) || isBooleanObject(value) || isBigIntObject(value) || isSymbolObject(value);

const typedTag = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
export const typedArrayName = (value) => (isObject(value) ? typedTag.call(value) : undefined);
export const isTypedArray = (value) => typedArrayName(value) !== undefined;
export const isArrayBufferView = (value) => ArrayBuffer.isView(value);
export const isDataView = (value) => ArrayBuffer.isView(value) && !isTypedArray(value);
const named = (name) => (value) => typedArrayName(value) === name;
export const isUint8Array = named("Uint8Array");
export const isUint8ClampedArray = named("Uint8ClampedArray");
export const isUint16Array = named("Uint16Array");
export const isUint32Array = named("Uint32Array");
export const isInt8Array = named("Int8Array");
export const isInt16Array = named("Int16Array");
export const isInt32Array = named("Int32Array");
export const isFloat16Array = named("Float16Array");
export const isFloat32Array = named("Float32Array");
export const isFloat64Array = named("Float64Array");
export const isBigInt64Array = named("BigInt64Array");
export const isBigUint64Array = named("BigUint64Array");

const functionTag = (value) => (typeof value === "function" ? tagOf(value) : "");
export const isAsyncFunction = (value) => /^Async(Generator)?Function$/.test(functionTag(value));
export const isGeneratorFunction = (value) => /GeneratorFunction$/.test(functionTag(value));
export const isGeneratorObject = (value) => isObject(value) && /^(Async)?Generator$/.test(tagOf(value));
export const isPromise = (value) => {
  if (!isObject(value) || !(value instanceof Promise || tagOf(value) === "Promise")) return false;
  const kind = kindOf(value);
  return kind === undefined ? value instanceof Promise : kind === "promise";
};
export const isArgumentsObject = (value) => isObject(value) && value[Symbol.toStringTag] === undefined && tagOf(value) === "Arguments";
export const isMapIterator = (value) => isObject(value) && tagOf(value) === "Map Iterator";
export const isSetIterator = (value) => isObject(value) && tagOf(value) === "Set Iterator";
export const isModuleNamespaceObject = (value) =>
  isObject(value) && Object.getPrototypeOf(value) === null && Object.getOwnPropertyDescriptor(value, Symbol.toStringTag)?.value === "Module";
export const isNativeError = (value) => {
  if (!isObject(value)) return false;
  if (typeof Error.isError === "function") return Error.isError(value);
  return value instanceof Error || tagOf(value) === "Error";
};
export const isProxy = (value) => (isObject(value) || typeof value === "function") && kindOf(value) === "proxy";
export const isExternal = () => false;
export const isKeyObject = (value) => isObject(value) && tagOf(value) === "KeyObject";
export const isCryptoKey = (value) => isObject(value) && tagOf(value) === "CryptoKey";
export const isEventTarget = (value) => typeof EventTarget === "function" && value instanceof EventTarget;
