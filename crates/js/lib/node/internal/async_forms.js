// util.promisify, util.callbackify and the abort functions of node:util.
import { plainError, validateAbortSignal, validateFunction, validateObject } from "jackfield:node/internal/errors";
import process from "node:process";
import { promiseFormOf } from "node:timers";

const customForm = Symbol.for("nodejs.util.promisify.custom");
// A function whose callback gives several values names them here, and its promise form gives an object of them.
export const customArgs = Symbol.for("jackfield.promisify.args");

export function promisify(original) {
  validateFunction(original, "original");
  const own = original[customForm] ?? promiseFormOf(original);
  if (own) {
    validateFunction(own, "util.promisify.custom");
    return Object.defineProperty(own, customForm, { value: own, enumerable: false, writable: false, configurable: true });
  }
  const names = original[customArgs];
  function form(...args) {
    return new Promise((resolve, reject) => {
      Reflect.apply(original, this, [...args, (error, ...values) => {
        if (error) reject(error);
        else if (names !== undefined && values.length > 1) resolve(Object.fromEntries(names.map((name, i) => [name, values[i]])));
        else resolve(values[0]);
      }]);
    });
  }
  Object.setPrototypeOf(form, Object.getPrototypeOf(original));
  Object.defineProperty(form, customForm, { value: form, enumerable: false, writable: false, configurable: true });
  const properties = Object.getOwnPropertyDescriptors(original);
  for (const key of Reflect.ownKeys(properties)) {
    if (key !== "arguments" && key !== "caller") Object.defineProperty(form, key, properties[key]);
  }
  return form;
}
promisify.custom = customForm;

export function callbackify(original) {
  validateFunction(original, "original");
  function form(...args) {
    const callback = args.pop();
    validateFunction(callback, "last argument");
    const done = callback.bind(this);
    Reflect.apply(original, this, args).then(
      (value) => process.nextTick(done, null, value),
      (reason) => {
        let error = reason;
        if (!error) {
          error = plainError("ERR_FALSY_VALUE_REJECTION", "Promise was rejected with falsy value");
          error.reason = reason;
        }
        process.nextTick(done, error);
      },
    );
  }
  const properties = Object.getOwnPropertyDescriptors(original);
  if (typeof properties.length.value === "number") properties.length.value++;
  if (typeof properties.name.value === "string") properties.name.value += "Callbackified";
  delete properties.arguments;
  delete properties.caller;
  delete properties.prototype;
  return Object.defineProperties(form, properties);
}

export async function aborted(signal, resource) {
  if (signal === undefined) validateObject(signal, "signal");
  validateAbortSignal(signal, "signal");
  validateObject(resource, "resource");
  if (signal.aborted) return undefined;
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
}

export const transferableAbortController = () => new AbortController();
export const transferableAbortSignal = (signal) => signal;
