// node:events: EventEmitter with everything that Node's has, and the functions around it. `on` and
// EventEmitterAsyncResource live in a part of their own, because few extensions use them. Domains do not exist here.
import { AbortError, invalidArgType, outOfRange, plainError, validateAbortSignal, validateFunction } from "jackfield:node/internal/errors";
import { EventEmitterAsyncResource, on } from "jackfield:node/internal/events_more";
import { inspect } from "jackfield:node/internal/inspect";
import { listenersOf } from "jackfield:web/events";
import process from "node:process";

export const errorMonitor = Symbol("events.errorMonitor");
export const captureRejectionSymbol = Symbol.for("nodejs.rejection");
const kCapture = Symbol("kCapture");

let defaultMaxListenersValue = 10;
let captureAll = false;

export function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}

const proto = EventEmitter.prototype;
proto._events = undefined;
proto._eventsCount = 0;
proto._maxListeners = undefined;
Object.defineProperty(proto, kCapture, { value: false, writable: true, enumerable: false });

EventEmitter.init = function (options) {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = Object.create(null);
    this._eventsCount = 0;
  }
  this._maxListeners = this._maxListeners || undefined;
  if (options?.captureRejections !== undefined) {
    if (typeof options.captureRejections !== "boolean") throw invalidArgType("options.captureRejections", "boolean", options.captureRejections);
    Object.defineProperty(this, kCapture, { value: options.captureRejections, writable: true, enumerable: false });
  } else if (captureAll) {
    Object.defineProperty(this, kCapture, { value: true, writable: true, enumerable: false });
  }
};

const limitOf = (emitter) => emitter._maxListeners ?? defaultMaxListenersValue;

const checkLimit = (n, name) => {
  if (typeof n !== "number" || n < 0 || Number.isNaN(n)) throw outOfRange(name, "a non-negative number", n);
};

proto.setMaxListeners = function setMaxListeners(n) {
  checkLimit(n, "setMaxListeners");
  this._maxListeners = n;
  return this;
};

proto.getMaxListeners = function getMaxListeners() {
  return limitOf(this);
};

// A listener's rejection goes to the emitter's own handler, or to "error", but only when the emitter asked for it.
function watchRejection(emitter, result, type, args) {
  if (typeof result?.then !== "function") return;
  result.then(undefined, (error) => {
    process.nextTick(() => {
      if (typeof emitter[captureRejectionSymbol] === "function") {
        emitter[captureRejectionSymbol](error, type, ...args);
        return;
      }
      const before = emitter[kCapture];
      try {
        emitter[kCapture] = false;
        emitter.emit("error", error);
      } finally {
        emitter[kCapture] = before;
      }
    });
  });
}

function unhandled(args) {
  const error = args[0];
  if (error instanceof Error) return error;
  let text;
  try {
    text = inspect(error);
  } catch {
    text = String(error);
  }
  const made = plainError("ERR_UNHANDLED_ERROR", `Unhandled error. (${text})`);
  made.context = error;
  return made;
}

proto.emit = function emit(type, ...args) {
  const events = this._events;
  if (type === "error") {
    if (events?.[errorMonitor] !== undefined) this.emit(errorMonitor, ...args);
    if (events?.error === undefined) throw unhandled(args);
  } else if (events === undefined) {
    return false;
  }
  const handler = events[type];
  if (handler === undefined) return false;
  if (typeof handler === "function") {
    const result = handler.apply(this, args);
    if (result !== undefined && result !== null && this[kCapture]) watchRejection(this, result, type, args);
    return true;
  }
  for (const listener of handler.slice()) {
    const result = listener.apply(this, args);
    if (result !== undefined && result !== null && this[kCapture]) watchRejection(this, result, type, args);
  }
  return true;
};

function warnAboutLeak(emitter, type, list) {
  list.warned = true;
  const warning = new Error(
    `Possible EventEmitter memory leak detected. ${list.length} ${String(type)} listeners added to ` +
    `${inspect(emitter, { depth: -1 })}. MaxListeners is ${limitOf(emitter)}. Use emitter.setMaxListeners() to increase limit`,
  );
  Object.assign(warning, { name: "MaxListenersExceededWarning", emitter, type, count: list.length });
  process.emitWarning(warning);
}

function add(emitter, type, listener, first) {
  validateFunction(listener, "listener");
  let events = emitter._events;
  if (events === undefined) {
    events = emitter._events = Object.create(null);
    emitter._eventsCount = 0;
  } else if (events.newListener !== undefined) {
    emitter.emit("newListener", type, listener.listener ?? listener);
    events = emitter._events;
  }
  const existing = events[type];
  if (existing === undefined) {
    events[type] = listener;
    emitter._eventsCount++;
    return emitter;
  }
  let list = existing;
  if (typeof existing === "function") list = events[type] = first ? [listener, existing] : [existing, listener];
  else if (first) list.unshift(listener);
  else list.push(listener);
  const limit = limitOf(emitter);
  if (limit > 0 && list.length > limit && !list.warned) warnAboutLeak(emitter, type, list);
  return emitter;
}

function onceWrapper(emitter, type, listener) {
  const state = { fired: false };
  const wrapped = function (...args) {
    if (state.fired) return undefined;
    state.fired = true;
    emitter.removeListener(type, wrapped);
    return listener.apply(emitter, args);
  };
  wrapped.listener = listener;
  return wrapped;
}

proto.addListener = function addListener(type, listener) {
  return add(this, type, listener, false);
};
proto.on = proto.addListener;

proto.prependListener = function prependListener(type, listener) {
  return add(this, type, listener, true);
};

proto.once = function once(type, listener) {
  validateFunction(listener, "listener");
  return this.on(type, onceWrapper(this, type, listener));
};

proto.prependOnceListener = function prependOnceListener(type, listener) {
  validateFunction(listener, "listener");
  return this.prependListener(type, onceWrapper(this, type, listener));
};

proto.removeListener = function removeListener(type, listener) {
  validateFunction(listener, "listener");
  const events = this._events;
  const list = events?.[type];
  if (list === undefined) return this;
  if (list === listener || list.listener === listener) {
    if (--this._eventsCount === 0) this._events = Object.create(null);
    else delete events[type];
    if (events.removeListener) this.emit("removeListener", type, list.listener ?? listener);
    return this;
  }
  if (typeof list === "function") return this;
  let at = list.length - 1;
  while (at >= 0 && list[at] !== listener && list[at].listener !== listener) at--;
  if (at < 0) return this;
  list.splice(at, 1);
  if (list.length === 1) events[type] = list[0];
  if (events.removeListener !== undefined) this.emit("removeListener", type, listener);
  return this;
};
proto.off = proto.removeListener;

proto.removeAllListeners = function removeAllListeners(type) {
  const events = this._events;
  if (events === undefined) return this;
  if (events.removeListener === undefined) {
    if (arguments.length === 0) {
      this._events = Object.create(null);
      this._eventsCount = 0;
    } else if (events[type] !== undefined) {
      if (--this._eventsCount === 0) this._events = Object.create(null);
      else delete events[type];
    }
    return this;
  }
  // Somebody wants to hear about removals, so every one is told, "removeListener" itself last.
  if (arguments.length === 0) {
    for (const key of Reflect.ownKeys(events)) if (key !== "removeListener") this.removeAllListeners(key);
    this.removeAllListeners("removeListener");
    this._events = Object.create(null);
    this._eventsCount = 0;
    return this;
  }
  const list = events[type];
  if (typeof list === "function") this.removeListener(type, list);
  else if (list !== undefined) for (let i = list.length - 1; i >= 0; i--) this.removeListener(type, list[i]);
  return this;
};

const listOf = (emitter, type, unwrap) => {
  const list = emitter._events?.[type];
  if (list === undefined) return [];
  const all = typeof list === "function" ? [list] : list.slice();
  return unwrap ? all.map((f) => f.listener ?? f) : all;
};

proto.listeners = function listeners(type) {
  return listOf(this, type, true);
};

proto.rawListeners = function rawListeners(type) {
  return listOf(this, type, false);
};

proto.listenerCount = function listenerCount(type, listener) {
  const list = this._events?.[type];
  if (list === undefined) return 0;
  if (listener != null) return listOf(this, type, false).filter((f) => f === listener || f.listener === listener).length;
  return typeof list === "function" ? 1 : list.length;
};

proto.eventNames = function eventNames() {
  return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [];
};

export function listenerCount(emitter, type) {
  return typeof emitter.listenerCount === "function" ? emitter.listenerCount(type) : proto.listenerCount.call(emitter, type);
}

export function getEventListeners(target, type) {
  if (typeof target?.listeners === "function") return target.listeners(type);
  if (target instanceof globalThis.EventTarget) return listenersOf(target, type);
  throw invalidArgType("emitter", ["EventEmitter", "EventTarget"], target);
}

const kTargetLimit = Symbol.for("jackfield.eventTarget.maxListeners");

export function getMaxListeners(target) {
  if (typeof target?.getMaxListeners === "function") return limitOf(target);
  if (typeof target?.addEventListener === "function") return target[kTargetLimit] ?? defaultMaxListenersValue;
  throw invalidArgType("emitter", ["EventEmitter", "EventTarget"], target);
}

export function setMaxListeners(n = defaultMaxListenersValue, ...targets) {
  checkLimit(n, "setMaxListeners");
  if (targets.length === 0) defaultMaxListenersValue = n;
  for (const target of targets) {
    if (typeof target?.setMaxListeners === "function") target.setMaxListeners(n);
    else if (typeof target?.addEventListener === "function") Object.defineProperty(target, kTargetLimit, { value: n, writable: true, configurable: true });
    else throw invalidArgType("eventTargets", ["EventEmitter", "EventTarget"], target);
  }
}

export function once(emitter, name, options = {}) {
  return new Promise((resolve, reject) => {
    const signal = options?.signal;
    validateAbortSignal(signal, "options.signal");
    if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
    const target = typeof emitter?.addEventListener === "function" && typeof emitter.on !== "function";
    if (!target && typeof emitter?.on !== "function") throw invalidArgType("emitter", "EventEmitter", emitter);
    const detach = () => {
      if (target) emitter.removeEventListener(name, done);
      else {
        emitter.removeListener(name, done);
        emitter.removeListener("error", failed);
      }
      signal?.removeEventListener("abort", aborted);
    };
    const done = (...args) => {
      detach();
      resolve(args);
    };
    const failed = (error) => {
      detach();
      reject(error);
    };
    const aborted = () => failed(new AbortError(undefined, { cause: signal.reason }));
    if (target) emitter.addEventListener(name, done, { once: true, ...options, signal: undefined });
    else {
      emitter.once(name, done);
      if (name !== "error") emitter.once("error", failed);
    }
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

export function addAbortListener(signal, listener) {
  if (signal === undefined) throw invalidArgType("signal", "AbortSignal", signal);
  validateAbortSignal(signal, "signal");
  validateFunction(listener, "listener");
  let detach;
  if (signal.aborted) queueMicrotask(() => listener());
  else {
    signal.addEventListener("abort", listener, { once: true });
    detach = () => signal.removeEventListener("abort", listener);
  }
  return { [Symbol.dispose ?? Symbol.for("nodejs.dispose")]() { detach?.(); } };
}

export const usingDomains = false;
export const init = EventEmitter.init;

Object.defineProperties(EventEmitter, {
  defaultMaxListeners: {
    enumerable: true,
    get: () => defaultMaxListenersValue,
    set(n) {
      checkLimit(n, "defaultMaxListeners");
      defaultMaxListenersValue = n;
    },
  },
  captureRejections: {
    enumerable: true,
    get: () => captureAll,
    set(value) {
      if (typeof value !== "boolean") throw invalidArgType("EventEmitter.captureRejections", "boolean", value);
      captureAll = value;
    },
  },
  on: { enumerable: true, configurable: true, get: () => on },
  EventEmitterAsyncResource: { enumerable: true, configurable: true, get: () => EventEmitterAsyncResource },
});
Object.assign(EventEmitter, {
  EventEmitter, once, getEventListeners, getMaxListeners, setMaxListeners, listenerCount, addAbortListener, errorMonitor,
  captureRejectionSymbol, usingDomains,
});

export { on, EventEmitterAsyncResource };
export const defaultMaxListeners = 10;
export const captureRejections = false;
export default EventEmitter;
