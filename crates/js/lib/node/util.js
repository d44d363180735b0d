// node:util. This file is the front: small functions live here, larger parts (inspect, format, deep equality, parseArgs,
// type checks, MIME types) in files of their own that are evaluated when first used.
import { info } from "jackfield:host";
import { promisify, callbackify, aborted, transferableAbortController, transferableAbortSignal } from "jackfield:node/internal/async_forms";
import { isDeepStrictEqual } from "jackfield:node/internal/deep_equal";
import { errorNames } from "jackfield:node/internal/errno";
import { invalidArgType, outOfRange, validateFunction, validateOneOf, validateString } from "jackfield:node/internal/errors";
import { format, formatWithOptions } from "jackfield:node/internal/format";
import { inspect } from "jackfield:node/internal/inspect";
import { ANSI, COLORS } from "jackfield:node/internal/inspect_text";
import { MIMEParams, MIMEType } from "jackfield:node/internal/mime";
import { parseArgs } from "jackfield:node/internal/parse_args";
import { parseEnv } from "jackfield:node/internal/parse_env";
import { isDate as dateCheck, isNativeError, isRegExp as regexpCheck } from "jackfield:node/internal/types";
import { TextDecoder, TextEncoder } from "jackfield:web/encoding";
import process from "node:process";
import types from "node:util/types";

export function inherits(constructor, parent) {
  if (constructor === undefined || constructor === null) throw invalidArgType("ctor", "Function", constructor);
  if (parent === undefined || parent === null) throw invalidArgType("superCtor", "Function", parent);
  if (parent.prototype === undefined) throw invalidArgType("superCtor.prototype", "object", parent.prototype);
  Object.defineProperty(constructor, "super_", { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const warned = new Set();
export function deprecate(fn, message, code) {
  validateFunction(fn, "fn");
  if (process.noDeprecation === true) return fn;
  let told = false;
  const tell = () => {
    if (told || process.noDeprecation === true) return;
    told = true;
    if (code !== undefined && warned.has(code)) return;
    if (code !== undefined) warned.add(code);
    process.emitWarning(message, "DeprecationWarning", code, deprecated);
  };
  function deprecated(...args) {
    tell();
    return new.target ? Reflect.construct(fn, args, new.target) : Reflect.apply(fn, this, args);
  }
  Object.setPrototypeOf(deprecated, fn);
  if (fn.prototype) deprecated.prototype = fn.prototype;
  Object.defineProperty(deprecated, "length", { value: fn.length, configurable: true });
  return deprecated;
}

const enabledFor = (set) => {
  const patterns = (process.env.NODE_DEBUG ?? "").split(",").filter(Boolean).map((p) => new RegExp(`^${p.replace(/[|\\{}()[\]^$+?.]/g, "\\$&").replaceAll("*", ".*")}$`, "i"));
  return patterns.some((pattern) => pattern.test(set));
};

export function debuglog(set, callback) {
  const name = String(set).toUpperCase();
  let enabled;
  const isOn = () => (enabled ??= enabledFor(name));
  const logger = (...args) => {
    if (isOn()) process.stderr.write(`${name} ${process.pid}: ${format(...args)}\n`);
    else callback?.(logger);
  };
  Object.defineProperty(logger, "enabled", { get: isOn, configurable: true, enumerable: true });
  return logger;
}
export const debug = debuglog;

export function stripVTControlCharacters(text) {
  validateString(text, "str");
  return text.replace(ANSI, "");
}

export function styleText(style, text, options = {}) {
  validateString(text, "text");
  const known = Object.keys(COLORS);
  let before = "";
  let after = "";
  for (const name of Array.isArray(style) ? style : [style]) {
    if (name === "none") continue;
    const color = COLORS[name];
    if (!Array.isArray(color)) validateOneOf(name, "format", known);
    before += `\u001B[${color[0]}m`;
    after = `\u001B[${color[1]}m${after}`;
  }
  // A stream that is no terminal gets plain text, unless the caller said not to look.
  if (options.validateStream !== false && options.stream !== undefined && !wantsColor(options.stream)) return text;
  return `${before}${text}${after}`;
}

function wantsColor(stream) {
  const env = process.env;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0") return true;
  if (env.NO_COLOR !== undefined || env.NODE_DISABLE_COLORS !== undefined) return false;
  return Boolean(stream?.isTTY);
}

export function toUSVString(value) {
  return String(value).toWellFormed?.() ?? String(value).replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

export function getSystemErrorName(number) {
  if (typeof number !== "number") throw invalidArgType("err", "number", number);
  if (!Number.isSafeInteger(number) || number >= 0) throw outOfRange("err", "a negative integer", number);
  return errorNames(info.platform).get(number)?.[0];
}
export function getSystemErrorMessage(number) {
  return errorNames(info.platform).get(number)?.[1];
}
export const getSystemErrorMap = () => new Map(errorNames(info.platform));

export function _errnoException(number, syscall, original) {
  const name = getSystemErrorName(number) ?? `Unknown system error ${number}`;
  const error = new Error(`${syscall} ${name}${original ? ` ${original}` : ""}`);
  return Object.assign(error, { errno: number, code: name, syscall });
}

export function _exceptionWithHostPort(number, syscall, address, port, additional) {
  const name = getSystemErrorName(number) ?? `Unknown system error ${number}`;
  const where = port > 0 ? ` ${address}:${port}` : address ? ` ${address}` : "";
  const error = new Error(`${syscall} ${name}${where}${additional ? ` - Local (${additional})` : ""}`);
  Object.assign(error, { errno: number, code: name, syscall, address });
  if (port) error.port = port;
  return error;
}

export function getCallSites(count = 10) {
  const frames = String(new Error().stack).split("\n").filter((line) => /^\s*at /.test(line)).slice(1, 1 + (typeof count === "number" ? count : 10));
  return frames.map((frame) => {
    const at = /^\s*at (?:(.*) \()?(.*?):(\d+)(?::(\d+))?\)?$/.exec(frame);
    return { functionName: at?.[1] ?? "", scriptId: "0", scriptName: at?.[2] ?? "", lineNumber: Number(at?.[3] ?? 0), columnNumber: Number(at?.[4] ?? 0), column: Number(at?.[4] ?? 0) };
  });
}

export const diff = (actual, expected) => {
  const lines = (value) => (typeof value === "string" ? [...value] : value);
  const a = lines(actual);
  const b = lines(expected);
  if (!Array.isArray(a)) throw invalidArgType("actual", ["string", "Array"], actual);
  if (!Array.isArray(b)) throw invalidArgType("expected", ["string", "Array"], expected);
  return a.length === b.length && a.every((v, i) => v === b[i]) ? [] : edits(a, b);
};

// The longest common part, then what is only in one of both: 0 is common, 1 only in the first, -1 only in the second.
function edits(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  }
  const out = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push([0, a[i++]]);
      j++;
    } else if (i < a.length && (j === b.length || table[i + 1][j] >= table[i][j + 1])) out.push([1, a[i++]]);
    else out.push([-1, b[j++]]);
  }
  return out;
}

export function setTraceSigInt() {}

// Old checks that programs still call.
export const isArray = Array.isArray;
export const isBoolean = (v) => typeof v === "boolean";
export const isBuffer = (v) => v instanceof Uint8Array && v.constructor?.name === "Buffer";
export const isNull = (v) => v === null;
export const isNullOrUndefined = (v) => v == null;
export const isNumber = (v) => typeof v === "number";
export const isString = (v) => typeof v === "string";
export const isSymbol = (v) => typeof v === "symbol";
export const isUndefined = (v) => v === undefined;
export const isRegExp = (v) => regexpCheck(v);
export const isObject = (v) => v !== null && typeof v === "object";
export const isDate = (v) => dateCheck(v);
export const isError = (v) => isNativeError(v) || v instanceof Error;
export const isFunction = (v) => typeof v === "function";
export const isPrimitive = (v) => v === null || (typeof v !== "object" && typeof v !== "function");
export const _extend = (target, source) => (source !== null && typeof source === "object" ? Object.assign(target, source) : target);
export function log(...args) {
  const now = new Date();
  const two = (n) => String(n).padStart(2, "0");
  const month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][now.getMonth()];
  console.log("%s - %s", `${now.getDate()} ${month} ${two(now.getHours())}:${two(now.getMinutes())}:${two(now.getSeconds())}`, format(...args));
}

export {
  TextDecoder, TextEncoder, MIMEParams, MIMEType, aborted, callbackify, format, formatWithOptions, inspect, isDeepStrictEqual, parseArgs,
  parseEnv, promisify, transferableAbortController, transferableAbortSignal, types,
};

export default {
  _errnoException, _exceptionWithHostPort, _extend, debug, debuglog, deprecate, diff, getCallSites, getSystemErrorMap,
  getSystemErrorMessage, getSystemErrorName, inherits, isArray, isBoolean, isBuffer, isNull, isNullOrUndefined, isNumber,
  isString, isSymbol, isUndefined, isRegExp, isObject, isDate, isError, isFunction, isPrimitive, log, setTraceSigInt,
  stripVTControlCharacters, styleText, toUSVString,
  get TextDecoder() { return TextDecoder; },
  get TextEncoder() { return TextEncoder; },
  get MIMEParams() { return MIMEParams; },
  get MIMEType() { return MIMEType; },
  get aborted() { return aborted; },
  get callbackify() { return callbackify; },
  get format() { return format; },
  get formatWithOptions() { return formatWithOptions; },
  get inspect() { return inspect; },
  get isDeepStrictEqual() { return isDeepStrictEqual; },
  get parseArgs() { return parseArgs; },
  get parseEnv() { return parseEnv; },
  get promisify() { return promisify; },
  get transferableAbortController() { return transferableAbortController; },
  get transferableAbortSignal() { return transferableAbortSignal; },
  get types() { return types; },
};
