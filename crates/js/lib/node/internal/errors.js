// The errors that Node's own modules throw about their arguments, and the checks that throw them. An error made here
// has Node's `code`, keeps the plain class name in `name`, and prints as `TypeError [CODE]: text`. System errors of
// files, processes and sockets are not made here; those come from `jackfield:node/internal/io_errors`.
import { inspect } from "jackfield:node/internal/inspect";

// Marks errors made here, so that inspect can write the code into the first line.
export const kNodeError = Symbol("jackfield.node.error");

const hidden = (value) => ({ value, enumerable: false, configurable: true, writable: true });

// The one place that makes them. `skip` is a function whose frames are left out of the stack.
export function nodeError(Base, code, message, skip = nodeError) {
  const error = new Base(message);
  Object.defineProperties(error, {
    [kNodeError]: hidden(true),
    toString: hidden(function () { return `${this.name} [${code}]: ${this.message}`; }),
    code: { value: code, enumerable: true, configurable: true, writable: true },
  });
  const plain = error.name;
  // The header of a captured stack is written from `name` at that moment (in engines that write one).
  Object.defineProperty(error, "name", hidden(`${plain} [${code}]`));
  Error.captureStackTrace?.(error, skip);
  void error.stack;
  delete error.name;
  if (error.name !== plain) Object.defineProperty(error, "name", hidden(plain));
  return error;
}

export const typeError = (code, message) => nodeError(TypeError, code, message);
export const rangeError = (code, message) => nodeError(RangeError, code, message);
export const plainError = (code, message) => nodeError(Error, code, message);

// "type string ('x')", "an instance of Foo", "undefined": what was given, in Node's words.
export function describe(value) {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "function") return `function ${value.name ?? ""}`;
  if (typeof value === "object") {
    const name = value.constructor?.name;
    return name ? `an instance of ${name}` : inspect(value, { depth: -1 });
  }
  let text = inspect(value, { colors: false });
  if (text.length > 28) text = `${text.slice(0, 25)}...`;
  return `type ${typeof value} (${text})`;
}

const PRIMITIVES = new Set(["string", "function", "number", "object", "Function", "boolean", "bigint", "symbol"]);

const orList = (words) => {
  if (words.length < 3) return words.join(" or ");
  return `${words.slice(0, -1).join(", ")}, or ${words[words.length - 1]}`;
};

const subject = (name) => {
  if (name.endsWith(" argument")) return `The ${name}`;
  return `The "${name}" ${name.includes(".") ? "property" : "argument"}`;
};

function expectedText(expected) {
  const types = [];
  const classes = [];
  const others = [];
  for (const word of Array.isArray(expected) ? expected : [expected]) {
    if (PRIMITIVES.has(word)) types.push(word.toLowerCase());
    else if (/^[A-Z][A-Za-z0-9]*$/.test(word)) classes.push(word);
    else others.push(word);
  }
  const object = types.indexOf("object");
  if (classes.length > 0 && object !== -1) {
    types.splice(object, 1);
    classes.push("Object");
  }
  const parts = [];
  if (types.length > 0) parts.push(`${types.length > 1 ? "one of type" : "of type"} ${orList(types)}`);
  if (classes.length > 0) parts.push(`an instance of ${orList(classes)}`);
  if (others.length > 0) {
    if (others.length > 1) parts.push(`one of ${orList(others)}`);
    else parts.push(others[0].toLowerCase() === others[0] ? others[0] : `an ${others[0]}`.replace(/^an ([^aeiouAEIOU])/, "$1"));
  }
  return parts.join(" or ");
}

export function invalidArgType(name, expected, actual) {
  return typeError("ERR_INVALID_ARG_TYPE", `${subject(name)} must be ${expectedText(expected)}. Received ${describe(actual)}`);
}

export function invalidArgValue(name, value, reason = "is invalid") {
  let text = inspect(value);
  if (text.length > 128) text = `${text.slice(0, 128)}...`;
  const kind = name.includes(".") ? "property" : "argument";
  return typeError("ERR_INVALID_ARG_VALUE", `The ${kind} '${name}' ${reason}. Received ${text}`);
}

const grouped = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, "_");

export function outOfRange(name, range, value) {
  let received;
  if (Number.isInteger(value) && Math.abs(value) > 2 ** 32) received = grouped(String(value));
  else if (typeof value === "bigint") {
    received = value > 2n ** 32n || value < -(2n ** 32n) ? grouped(String(value)) : String(value);
    received += "n";
  } else received = inspect(value);
  return rangeError("ERR_OUT_OF_RANGE", `The value of "${name}" is out of range. It must be ${range}. Received ${received}`);
}

// What modules that exist but cannot work here throw when they are used.
export function unsupported(module, what, why) {
  const error = nodeError(Error, "ERR_JACKFIELD_UNSUPPORTED", `${what} of node:${module} is not available in this runtime: ${why}`);
  error.module = `node:${module}`;
  return error;
}

export function validateString(value, name) {
  if (typeof value !== "string") throw invalidArgType(name, "string", value);
}

export function validateFunction(value, name) {
  if (typeof value !== "function") throw invalidArgType(name, "function", value);
}

export function validateBoolean(value, name) {
  if (typeof value !== "boolean") throw invalidArgType(name, "boolean", value);
}

export function validateObject(value, name) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw invalidArgType(name, "object", value);
}

export function validateArray(value, name) {
  if (!Array.isArray(value)) throw invalidArgType(name, "Array", value);
}

export function validateNumber(value, name, min, max) {
  if (typeof value !== "number") throw invalidArgType(name, "number", value);
  if ((min !== undefined && value < min) || (max !== undefined && value > max) || ((min ?? max) !== undefined && Number.isNaN(value))) {
    const range = [min !== undefined ? `>= ${min}` : "", max !== undefined ? `<= ${max}` : ""].filter(Boolean).join(" && ");
    throw outOfRange(name, range, value);
  }
}

export function validateInteger(value, name, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) {
  if (typeof value !== "number") throw invalidArgType(name, "number", value);
  if (!Number.isInteger(value)) throw outOfRange(name, "an integer", value);
  if (value < min || value > max) throw outOfRange(name, `>= ${min} && <= ${max}`, value);
}

export function validateAbortSignal(signal, name) {
  if (signal !== undefined && (signal === null || typeof signal !== "object" || !("aborted" in signal))) {
    throw invalidArgType(name, "AbortSignal", signal);
  }
}

export function validateOneOf(value, name, allowed) {
  if (!allowed.includes(value)) {
    throw invalidArgValue(name, value, `must be one of: ${allowed.map((v) => (typeof v === "string" ? `'${v}'` : String(v))).join(", ")}`);
  }
}

// The error of an operation that an AbortSignal ended.
export class AbortError extends Error {
  constructor(message = "The operation was aborted", options = undefined) {
    super(message, options);
    this.code = "ABORT_ERR";
    this.name = "AbortError";
  }
}
