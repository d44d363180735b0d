// node:timers: the global timer functions under their module name, and the promise forms.
import * as forms from "node:timers/promises";

const promiseForm = Symbol.for("nodejs.util.promisify.custom");
const wrap = (name) => {
  const form = (...args) => globalThis[name](...args);
  Object.defineProperty(form, "name", { value: name });
  return form;
};
const setTimeoutForm = wrap("setTimeout");
const setImmediateForm = wrap("setImmediate");
const clearTimeoutForm = wrap("clearTimeout");
const setIntervalForm = wrap("setInterval");
const clearIntervalForm = wrap("clearInterval");
const clearImmediateForm = wrap("clearImmediate");
Object.defineProperty(setTimeoutForm, promiseForm, { enumerable: true, get: () => forms.setTimeout });
Object.defineProperty(setImmediateForm, promiseForm, { enumerable: true, get: () => forms.setImmediate });

// Called when node:util's promisify meets the globals, which the engine makes and which know no promise form.
export function promiseFormOf(fn) {
  if (fn === globalThis.setTimeout) return forms.setTimeout;
  return fn === globalThis.setImmediate ? forms.setImmediate : undefined;
}

export {
  setTimeoutForm as setTimeout, clearTimeoutForm as clearTimeout, setIntervalForm as setInterval,
  clearIntervalForm as clearInterval, setImmediateForm as setImmediate, clearImmediateForm as clearImmediate,
};
export default {
  setTimeout: setTimeoutForm, clearTimeout: clearTimeoutForm, setInterval: setIntervalForm, clearInterval: clearIntervalForm,
  setImmediate: setImmediateForm, clearImmediate: clearImmediateForm,
  get promises() { return forms.default; },
};
