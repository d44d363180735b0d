// Timers. The engine counts the time and says which timer is due; what it is for is known here.
import { immediateAdd, timerAdd, timerDrop } from "jackfield:host";

const timers = new Map();
class Timeout {
  constructor(id) { Object.defineProperty(this, "id", { value: id, writable: true }); }
  // Nothing here waits for a timer, so these only remember what was asked.
  #kept = true;
  ref() { this.#kept = true; return this; }
  unref() { this.#kept = false; return this; }
  hasRef() { return this.#kept; }
  close() { clearTimer(this); return this; }
  refresh() {
    const entry = timers.get(this.id);
    if (entry) {
      if (!entry.running) timerDrop(this.id);
      timers.delete(this.id);
      this.id = timerAdd(entry.ms);
      timers.set(this.id, entry);
    }
    return this;
  }
  [Symbol.toPrimitive]() { return this.id; }
  [Symbol.dispose]() { clearTimer(this); }
}
class Immediate {
  constructor(id) { Object.defineProperty(this, "id", { value: id }); }
  #kept = true;
  ref() { this.#kept = true; return this; }
  unref() { this.#kept = false; return this; }
  hasRef() { return this.#kept; }
  [Symbol.dispose]() { clearTimer(this); }
}
const callback = (fn, name) => {
  if (typeof fn !== "function") {
    const error = new TypeError(`The "callback" argument of ${name} must be of type function. Received ${typeof fn}`);
    error.code = "ERR_INVALID_ARG_TYPE";
    throw error;
  }
  return fn;
};
const delay = (ms) => { ms = +ms; return ms >= 1 && ms <= 2147483647 ? ms : 1; };
const addTimer = (fn, ms, args, repeat) => {
  const id = timerAdd(ms);
  const handle = new Timeout(id);
  timers.set(id, { fn, args, ms, repeat, handle });
  return handle;
};
export const clearTimer = (handle) => {
  const id = typeof handle === "object" && handle !== null ? handle.id : +handle;
  const entry = timers.get(id);
  if (entry !== undefined && timers.delete(id) && !entry.running) timerDrop(id);
};
export const setTimeout = (fn, ms, ...args) => addTimer(callback(fn, "setTimeout"), delay(ms), args, false);
export const setInterval = (fn, ms, ...args) => addTimer(callback(fn, "setInterval"), delay(ms), args, true);
export const setImmediate = (fn, ...args) => {
  const id = immediateAdd();
  timers.set(id, { fn: callback(fn, "setImmediate"), args, repeat: false });
  return new Immediate(id);
};
export const fireTimer = (id) => {
  const entry = timers.get(id);
  if (!entry) return;
  if (!entry.repeat) {
    timers.delete(id);
    Reflect.apply(entry.fn, entry.handle, entry.args);
    return;
  }
  entry.running = true;
  try {
    Reflect.apply(entry.fn, entry.handle, entry.args);
  } finally {
    entry.running = false;
    // Not where it was cleared meanwhile, or begun anew.
    if (timers.delete(id)) {
      entry.handle.id = timerAdd(entry.ms);
      timers.set(entry.handle.id, entry);
    }
  }
};

export const clearTimeout = clearTimer;
export const clearInterval = clearTimer;
export const clearImmediate = clearTimer;
