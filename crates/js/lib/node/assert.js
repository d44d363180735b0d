// node:assert, loose and strict. The text of a failed assert.ok shows the value, since the source line that Node
// quotes is not at hand here. CallTracker, which Node has removed, does not exist.
import { AssertionError } from "jackfield:node/internal/assertion_error";
import { isDeepEqual, isDeepStrictEqual, isPartialEqual } from "jackfield:node/internal/deep_equal";
import { describe, invalidArgType, invalidArgValue, nodeError, validateFunction } from "jackfield:node/internal/errors";
import { inspect } from "jackfield:node/internal/inspect";
import { isPromise } from "jackfield:node/internal/types";

function failWith(options) {
  if (options.message instanceof Error) throw options.message;
  throw new AssertionError(options);
}

function truth(fn, count, value, message) {
  if (value) return;
  let text = message;
  let generated = false;
  if (count === 0) {
    generated = true;
    text = "No value argument passed to `assert.ok()`";
  } else if (message == null) {
    generated = true;
    text = `The expression evaluated to a falsy value:\n\n  ${fn === assert ? "assert" : "assert.ok"}(${inspect(value, { depth: 0 })})\n`;
  } else if (message instanceof Error) throw message;
  const error = new AssertionError({ actual: value, expected: true, message: text, operator: "==", stackStartFn: fn });
  error.generatedMessage = generated;
  throw error;
}

function assert(...args) {
  truth(assert, args.length, ...args);
}
export function ok(...args) {
  truth(ok, args.length, ...args);
}

export function fail(message = "Failed") {
  if (message instanceof Error) throw message;
  const error = new AssertionError({ message, operator: "fail", stackStartFn: fail });
  error.generatedMessage = arguments.length === 0;
  throw error;
}

function comparer(operator, holds) {
  const check = { [operator](actual, expected, message) {
    if (arguments.length < 2) throw nodeError(TypeError, "ERR_MISSING_ARGS", 'The "actual" and "expected" arguments must be specified');
    if (!holds(actual, expected)) failWith({ actual, expected, message, operator: SIGNS[operator] ?? operator, stackStartFn: check });
  } }[operator];
  return check;
}
const SIGNS = { equal: "==", notEqual: "!=" };
// eslint-disable-next-line eqeqeq
const loose = (a, b) => a == b || (Number.isNaN(a) && Number.isNaN(b));

export const equal = comparer("equal", loose);
export const notEqual = comparer("notEqual", (a, b) => !loose(a, b));
export const strictEqual = comparer("strictEqual", Object.is);
export const notStrictEqual = comparer("notStrictEqual", (a, b) => !Object.is(a, b));
export const deepEqual = comparer("deepEqual", (a, b) => isDeepEqual(a, b));
export const notDeepEqual = comparer("notDeepEqual", (a, b) => !isDeepEqual(a, b));
export const deepStrictEqual = comparer("deepStrictEqual", (a, b) => isDeepStrictEqual(a, b));
export const notDeepStrictEqual = comparer("notDeepStrictEqual", (a, b) => !isDeepStrictEqual(a, b));
export const partialDeepStrictEqual = comparer("partialDeepStrictEqual", (a, b) => isPartialEqual(a, b));

const nothing = Symbol("nothing thrown");

// Names what a failed throws() compares: only the properties that were asked for.
class Comparison {}

function checkError(actual, expected, message, fn) {
  if (typeof expected === "function") {
    if (expected.prototype !== undefined && actual instanceof expected) return;
    if (Object.prototype.isPrototypeOf.call(Error, expected) || expected === Error) {
      let text = message;
      if (text === undefined) {
        const name = actual?.constructor?.name || inspect(actual, { depth: -1 });
        text = `The error is expected to be an instance of "${expected.name}". Received `;
        text += actual instanceof Error ? `"${name}"` : `"${inspect(actual, { depth: -1 })}"`;
        if (actual instanceof Error) text += `\n\nError message:\n\n${actual.message}`;
      }
      return mismatch(actual, expected, text, message, fn);
    }
    const result = Reflect.apply(expected, {}, [actual]);
    if (result === true) return;
    const name = expected.name ? `"${expected.name}" ` : "";
    let text = message ?? `The ${name}validation function is expected to return "true". Received ${inspect(result)}`;
    if (message === undefined && actual instanceof Error) text += `\n\nCaught error:\n\n${actual}`;
    return mismatch(actual, expected, text, message, fn);
  }
  if (expected instanceof RegExp) {
    if (expected.test(String(actual))) return;
    return mismatch(actual, expected, message ?? `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(String(actual))}\n`, message, fn);
  }
  if (typeof actual !== "object" || actual === null) {
    if (message !== undefined) return failWith({ actual, expected, message, operator: fn.name, stackStartFn: fn });
    throw Object.assign(new AssertionError({ actual, expected, operator: "deepStrictEqual", stackStartFn: fn }), { operator: fn.name });
  }
  const keys = Object.keys(expected);
  if (expected instanceof Error) keys.push("name", "message");
  else if (keys.length === 0) throw invalidArgValue("error", expected, "may not be an empty object");
  for (const key of keys) {
    if (typeof actual[key] === "string" && expected[key] instanceof RegExp && expected[key].test(actual[key])) continue;
    if (key in actual && isDeepStrictEqual(actual[key], expected[key])) continue;
    if (message !== undefined) return failWith({ actual, expected, message, operator: fn.name, stackStartFn: fn });
    const part = (source) => Object.assign(new Comparison(), Object.fromEntries(keys.filter((k) => k in source).map((k) => {
      const matched = source === expected && source[k] instanceof RegExp && typeof actual[k] === "string" && source[k].test(actual[k]);
      return [k, matched ? actual[k] : source[k]];
    })));
    const error = new AssertionError({ actual: part(actual), expected: part(expected), operator: "deepStrictEqual", stackStartFn: fn });
    throw Object.assign(error, { actual, expected, operator: fn.name });
  }
}

function mismatch(actual, expected, text, message, fn) {
  if (message instanceof Error) throw message;
  const error = new AssertionError({ actual, expected, message: text, operator: fn.name, stackStartFn: fn });
  error.generatedMessage = message === undefined;
  throw error;
}

function expects(fn, actual, errorIn, messageIn) {
  let [error, message] = [errorIn, messageIn];
  if (typeof error === "string") {
    if (message !== undefined) throw invalidArgType("error", ["function", "Error", "RegExp", "Object"], error);
    if (typeof actual === "object" && actual !== null ? actual.message === error : actual === error) {
      const what = typeof actual === "object" && actual !== null ? `message "${actual.message}"` : `"${actual}"`;
      throw nodeError(TypeError, "ERR_AMBIGUOUS_ARGUMENT", `The "error/message" argument is ambiguous. The error ${what} is identical to the message.`);
    }
    [message, error] = [error, undefined];
  } else if (error != null && typeof error !== "object" && typeof error !== "function") {
    throw invalidArgType("error", ["function", "Error", "RegExp", "Object"], error);
  }
  if (actual === nothing) {
    const kind = fn === rejects ? "rejection" : "exception";
    const details = `${error?.name ? ` (${error.name})` : ""}${message ? `: ${message}` : "."}`;
    if (message instanceof Error) throw message;
    return failWith({ actual: undefined, expected: error, operator: fn.name, message: `Missing expected ${kind}${details}`, stackStartFn: fn });
  }
  if (error != null) checkError(actual, error, message, fn);
}

function rejectsNot(fn, actual, errorIn, messageIn) {
  if (actual === nothing) return;
  let [error, message] = [errorIn, messageIn];
  if (typeof error === "string") [message, error] = [error, undefined];
  const matches = error === undefined || (typeof error === "function" ? actual instanceof error || error(actual) === true : error.test(String(actual)));
  if (!matches) throw actual;
  const kind = fn === doesNotReject ? "rejection" : "exception";
  failWith({
    actual, expected: error, operator: fn.name, stackStartFn: fn,
    message: `Got unwanted ${kind}${message ? `: ${message}` : "."}\nActual message: "${actual?.message}"`,
  });
}

function caught(fn) {
  validateFunction(fn, "fn");
  try {
    fn();
  } catch (error) {
    return error;
  }
  return nothing;
}

async function caughtLater(source) {
  let promise = source;
  if (typeof source === "function") {
    promise = source();
    if (typeof promise?.then !== "function") {
      throw nodeError(TypeError, "ERR_INVALID_RETURN_VALUE", `Expected instance of Promise to be returned from the "promiseFn" function but got ${describe(promise)}.`);
    }
  } else if (!isPromise(source) && !(typeof source?.then === "function" && typeof source.catch === "function")) {
    throw invalidArgType("promiseFn", ["Function", "Promise"], source);
  }
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return nothing;
}

export function throws(fn, ...args) {
  expects(throws, caught(fn), ...args);
}
export function doesNotThrow(fn, ...args) {
  rejectsNot(doesNotThrow, caught(fn), ...args);
}
export async function rejects(promise, ...args) {
  expects(rejects, await caughtLater(promise), ...args);
}
export async function doesNotReject(promise, ...args) {
  rejectsNot(doesNotReject, await caughtLater(promise), ...args);
}

export function ifError(value) {
  if (value === null || value === undefined) return;
  let text = "ifError got unwanted exception: ";
  if (typeof value === "object" && typeof value.message === "string") text += value.message.length === 0 && value.constructor ? value.constructor.name : value.message;
  else text += inspect(value);
  const error = new AssertionError({ actual: value, expected: null, operator: "ifError", message: text, stackStartFn: ifError });
  throw error;
}

function matching(fn, wanted, text, pattern, message) {
  if (!(pattern instanceof RegExp)) throw invalidArgType("regexp", "RegExp", pattern);
  if (typeof text === "string" && pattern.test(text) === wanted) return;
  if (message instanceof Error) throw message;
  let words = message;
  if (message === undefined) {
    if (typeof text !== "string") words = `The "string" argument must be of type string. Received type ${typeof text} (${inspect(text)})`;
    else words = `The input ${wanted ? "did not match" : "was expected to not match"} the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`;
  }
  const error = new AssertionError({ actual: text, expected: pattern, message: words, operator: fn.name, stackStartFn: fn });
  error.generatedMessage = message === undefined;
  throw error;
}
export function match(text, pattern, message) {
  matching(match, true, text, pattern, message);
}
export function doesNotMatch(text, pattern, message) {
  matching(doesNotMatch, false, text, pattern, message);
}

const shared = { fail, AssertionError, throws, doesNotThrow, rejects, doesNotReject, ifError, match, doesNotMatch, partialDeepStrictEqual };
const exact = { strictEqual, notStrictEqual, deepStrictEqual, notDeepStrictEqual };
Object.assign(assert, shared, exact, { ok, equal, notEqual, deepEqual, notDeepEqual });
function strictAssert(...args) {
  truth(strictAssert, args.length, ...args);
}
export const strict = Object.assign(strictAssert, assert, {
  equal: strictEqual, notEqual: notStrictEqual, deepEqual: deepStrictEqual, notDeepEqual: notDeepStrictEqual,
});
strict.strict = strict;
assert.strict = strict;

export { assert, AssertionError };
export default assert;
