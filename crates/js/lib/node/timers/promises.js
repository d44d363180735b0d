// node:timers/promises: timers to await, with AbortSignal, and an endless interval to iterate.
import { AbortError, validateAbortSignal, validateBoolean, validateNumber, validateObject } from "jackfield:node/internal/errors";

const abortError = (signal) => new AbortError(undefined, { cause: signal.reason });

function check(delay, options) {
  if (delay !== undefined) validateNumber(delay, "delay");
  validateObject(options, "options");
  validateAbortSignal(options.signal, "options.signal");
  if (options.ref !== undefined) validateBoolean(options.ref, "options.ref");
}

function waiting(start, stop, value, options) {
  const { signal, ref = true } = options;
  if (signal?.aborted) return Promise.reject(abortError(signal));
  return new Promise((resolve, reject) => {
    const done = () => {
      signal?.removeEventListener("abort", aborted);
      resolve(value);
    };
    const timer = start(done);
    if (!ref) timer?.unref?.();
    const aborted = () => {
      stop(timer);
      reject(abortError(signal));
    };
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

function setTimeoutForm(delay, value, options = {}) {
  try {
    check(delay, options);
  } catch (error) {
    return Promise.reject(error);
  }
  return waiting((done) => globalThis.setTimeout(done, delay), (timer) => globalThis.clearTimeout(timer), value, options);
}

function setImmediateForm(value, options = {}) {
  try {
    check(undefined, options);
  } catch (error) {
    return Promise.reject(error);
  }
  return waiting((done) => globalThis.setImmediate(done), (timer) => globalThis.clearImmediate(timer), value, options);
}

async function* setIntervalForm(delay, value, options = {}) {
  check(delay, options);
  const { signal, ref = true } = options;
  if (signal?.aborted) throw abortError(signal);
  let due = 0;
  let wake;
  const timer = globalThis.setInterval(() => {
    due++;
    wake?.();
    wake = undefined;
  }, delay);
  if (!ref) timer?.unref?.();
  const aborted = () => {
    globalThis.clearInterval(timer);
    wake?.();
    wake = undefined;
  };
  signal?.addEventListener("abort", aborted, { once: true });
  try {
    while (!signal?.aborted) {
      if (due === 0) await new Promise((resolve) => { wake = resolve; });
      for (; due > 0; due--) yield value;
    }
    throw abortError(signal);
  } finally {
    globalThis.clearInterval(timer);
    signal?.removeEventListener("abort", aborted);
  }
}

export const scheduler = {
  wait: (delay, options) => setTimeoutForm(delay, undefined, options),
  yield: () => setImmediateForm(),
};

export { setTimeoutForm as setTimeout, setImmediateForm as setImmediate, setIntervalForm as setInterval };
export default { setTimeout: setTimeoutForm, setImmediate: setImmediateForm, setInterval: setIntervalForm, scheduler };
