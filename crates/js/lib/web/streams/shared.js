// What readable, writable and transform streams share: promises that are settled from outside, strategies, and
// callbacks of an underlying source or sink called as the standard calls them.

export function deferred() {
  const d = { settled: false };
  d.promise = new Promise((resolve, reject) => {
    d.resolve = (value) => { d.settled = true; resolve(value); };
    d.reject = (error) => { d.settled = true; reject(error); };
  });
  return d;
}

const nothing = () => {};
/** Marks a promise as watched, so that a rejection nobody asked about is not reported. */
export function quiet(promise) {
  promise.catch(nothing);
  return promise;
}

export function rejectedQuietly(error) {
  const d = deferred();
  quiet(d.promise);
  d.reject(error);
  return d;
}

/** The method of an underlying object as a function that always returns a promise. */
export function algorithm(owner, name, what) {
  const method = owner?.[name];
  if (method === undefined) return undefined;
  if (typeof method !== "function") throw invalidArg(`${what}.${name} must be a function`);
  return (...args) => {
    try {
      return Promise.resolve(method.apply(owner, args));
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

export function invalidArg(message, code = "ERR_INVALID_ARG_TYPE") {
  const error = new TypeError(message);
  error.code = code;
  return error;
}
export const invalidState = (message) => invalidArg(`Invalid state: ${message}`, "ERR_INVALID_STATE");
export function invalidValue(message) {
  const error = new RangeError(message);
  error.code = "ERR_INVALID_ARG_VALUE";
  return error;
}

export function highWaterMark(strategy, fallback) {
  const given = strategy?.highWaterMark;
  if (given === undefined) return fallback;
  const mark = Number(given);
  if (Number.isNaN(mark) || mark < 0) throw invalidValue(`The property 'strategy.highWaterMark' is invalid. Received ${String(given)}`);
  return mark;
}

export function sizeOf(strategy) {
  const size = strategy?.size;
  if (size === undefined) return () => 1;
  if (typeof size !== "function") throw invalidArg("strategy.size must be a function");
  return (chunk) => size.call(undefined, chunk);
}

export function checkSize(size) {
  const number = Number(size);
  if (Number.isNaN(number) || number < 0 || number === Infinity) throw invalidValue(`The argument 'size' is invalid. Received ${String(size)}`);
  return number;
}

export class CountQueuingStrategy {
  #mark;
  constructor(init) { this.#mark = markOf(init); }
  get highWaterMark() { return this.#mark; }
  get size() { return countSize; }
  get [Symbol.toStringTag]() { return "CountQueuingStrategy"; }
}
export class ByteLengthQueuingStrategy {
  #mark;
  constructor(init) { this.#mark = markOf(init); }
  get highWaterMark() { return this.#mark; }
  get size() { return byteSize; }
  get [Symbol.toStringTag]() { return "ByteLengthQueuingStrategy"; }
}
const countSize = function size() { return 1; };
const byteSize = function size(chunk) { return chunk.byteLength; };
function markOf(init) {
  if (init === null || typeof init !== "object") throw invalidArg('The "init" argument must be of type object.');
  if (init.highWaterMark === undefined) throw invalidArg("The 'init.highWaterMark' property must be specified", "ERR_MISSING_OPTION");
  return Number(init.highWaterMark);
}
