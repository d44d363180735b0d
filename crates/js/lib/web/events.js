// Event, CustomEvent, ErrorEvent, MessageEvent, CloseEvent, ProgressEvent and EventTarget, without a tree: an event
// has one target and no bubbling. A listener that throws does not stop the others; its error is thrown again in a
// microtask, so it reaches whoever watches for uncaught errors.
import { codedError } from "jackfield:web/bytes";
import { performance } from "jackfield:web/performance";

const dispatching = new WeakMap();

export class Event {
  #type; #bubbles; #cancelable; #composed; #time;
  #canceled = false; #stopped = false; #stoppedNow = false; #passive = false;
  constructor(type, init) {
    if (arguments.length === 0) throw codedError(TypeError, "ERR_MISSING_ARGS", 'The "type" argument must be specified');
    this.#type = `${type}`;
    this.#bubbles = Boolean(init?.bubbles);
    this.#cancelable = Boolean(init?.cancelable);
    this.#composed = Boolean(init?.composed);
  }
  get type() { return this.#type; }
  get target() { return dispatching.get(this)?.target ?? null; }
  get srcElement() { return this.target; }
  get currentTarget() { const d = dispatching.get(this); return d?.active ? d.target : null; }
  get eventPhase() { return dispatching.get(this)?.active ? 2 : 0; }
  get bubbles() { return this.#bubbles; }
  get cancelable() { return this.#cancelable; }
  get composed() { return this.#composed; }
  get defaultPrevented() { return this.#cancelable && this.#canceled; }
  get returnValue() { return !this.defaultPrevented; }
  set returnValue(value) { if (!value) this.preventDefault(); }
  get cancelBubble() { return this.#stopped; }
  set cancelBubble(value) { if (value) this.#stopped = true; }
  get timeStamp() { return (this.#time ??= performance.now()); }
  get isTrusted() { return false; }
  composedPath() { const d = dispatching.get(this); return d?.active ? [d.target] : []; }
  preventDefault() { if (!this.#passive) this.#canceled = true; }
  stopPropagation() { this.#stopped = true; }
  stopImmediatePropagation() { this.#stopped = true; this.#stoppedNow = true; }
  initEvent(type, bubbles = false, cancelable = false) {
    if (dispatching.get(this)?.active) return;
    this.#type = `${type}`;
    this.#bubbles = Boolean(bubbles);
    this.#cancelable = Boolean(cancelable);
  }
  get [Symbol.toStringTag]() { return "Event"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    const name = this.constructor.name;
    if (depth < 0 || typeof inspect !== "function") return name;
    const shown = {};
    for (const key of ["type", "defaultPrevented", "cancelable", "timeStamp"]) shown[key] = this[key];
    return `${name} ${inspect(shown, { ...options, depth: typeof options?.depth === "number" ? options.depth - 1 : options?.depth })}`;
  }
  static {
    // What dispatching needs to see and to set of an event, without public members for it.
    Event.inside = { stoppedNow: (e) => e.#stoppedNow, passive: (e, on) => { e.#passive = on; }, reset: (e) => { e.#stopped = false; e.#stoppedNow = false; }, is: (e) => typeof e === "object" && e !== null && #type in e };
  }
}
const { inside } = Event;
delete Event.inside;
for (const [name, value] of [["NONE", 0], ["CAPTURING_PHASE", 1], ["AT_TARGET", 2], ["BUBBLING_PHASE", 3]]) {
  Object.defineProperty(Event, name, { value, enumerable: true });
  Object.defineProperty(Event.prototype, name, { value, enumerable: true });
}

const captureOf = (options) => (typeof options === "boolean" ? options : Boolean(options?.capture));

export class EventTarget {
  // Made with the first listener: most targets (signals above all) never get one.
  #listeners = null;
  addEventListener(type, callback, options) {
    if (arguments.length < 2) throw codedError(TypeError, "ERR_MISSING_ARGS", 'The "type" and "listener" arguments must be specified');
    if (callback === null || callback === undefined) return;
    if (typeof callback !== "function" && typeof callback !== "object") {
      throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", `The "listener" argument must be an instance of EventListener. Received ${String(callback)}`);
    }
    const self = this ?? globalThis;
    const signal = options?.signal;
    if (signal?.aborted) return;
    type = `${type}`;
    const capture = captureOf(options);
    self.#listeners ??= new Map();
    let list = self.#listeners.get(type);
    if (!list) self.#listeners.set(type, (list = []));
    for (const entry of list) if (entry.callback === callback && entry.capture === capture) return;
    const entry = { callback, capture, once: Boolean(options?.once), passive: Boolean(options?.passive), removed: false };
    list.push(entry);
    if (signal) {
      signal.addEventListener("abort", () => self.removeEventListener(type, callback, capture), { once: true });
    }
  }
  removeEventListener(type, callback, options) {
    const list = this.#listeners?.get(`${type}`);
    if (!list) return;
    const capture = captureOf(options);
    const at = list.findIndex((entry) => entry.callback === callback && entry.capture === capture);
    if (at < 0) return;
    list[at].removed = true;
    list.splice(at, 1);
    if (list.length === 0) this.#listeners.delete(`${type}`);
  }
  dispatchEvent(event) {
    if (!inside.is(event)) throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", 'The "event" argument must be an instance of Event.');
    const state = { target: this, active: true };
    if (dispatching.get(event)?.active) throw codedError(Error, "ERR_EVENT_RECURSION", `The event "${event.type}" is already being dispatched`);
    dispatching.set(event, state);
    const list = this.#listeners?.get(event.type);
    if (list) {
      for (const entry of list.slice()) {
        if (entry.removed) continue;
        if (entry.once) this.removeEventListener(event.type, entry.callback, entry.capture);
        inside.passive(event, entry.passive);
        try {
          const { callback } = entry;
          const result = typeof callback === "function" ? callback.call(this, event) : callback.handleEvent(event);
          if (typeof result?.then === "function") result.then(undefined, rethrow);
        } catch (error) {
          rethrow(error);
        }
        inside.passive(event, false);
        if (inside.stoppedNow(event)) break;
      }
    }
    state.active = false;
    inside.reset(event);
    return !event.defaultPrevented;
  }
  get [Symbol.toStringTag]() { return "EventTarget"; }
  static {
    listeners = (target, type) => (#listeners in target ? (target.#listeners?.get(type) ?? []).map((entry) => entry.callback) : []);
    counts = (target, type) => (#listeners in target ? (target.#listeners?.get(type)?.length ?? 0) : 0);
  }
}
var listeners, counts;

/** The listeners of a target for a type, for `getEventListeners` of node:events. */
export const listenersOf = (target, type) => listeners(target, type);
export const listenerCountOf = (target, type) => counts(target, type);

function rethrow(error) {
  queueMicrotask(() => { throw error; });
}

/** Gives a class `on<type>` attributes. A handler runs at the place where it was first set, like a listener. */
export function defineHandlers(Class, ...types) {
  for (const type of types) {
    const handlers = new WeakMap();
    Object.defineProperty(Class.prototype, `on${type}`, {
      configurable: true,
      enumerable: true,
      get() { return handlers.get(this)?.handler ?? null; },
      set(value) {
        const handler = typeof value === "function" || (typeof value === "object" && value !== null) ? value : null;
        let slot = handlers.get(this);
        if (!slot) {
          if (handler === null) return;
          slot = { handler: null, listener: null };
          handlers.set(this, slot);
        }
        slot.handler = handler;
        if (handler === null) {
          if (slot.listener) this.removeEventListener(type, slot.listener);
          slot.listener = null;
        } else if (!slot.listener) {
          slot.listener = (event) => {
            if (typeof slot.handler !== "function") return undefined;
            const result = slot.handler.call(this, event);
            if (result === false) event.preventDefault();
            return result;
          };
          this.addEventListener(type, slot.listener);
        }
      },
    });
  }
}

export class CustomEvent extends Event {
  #detail;
  constructor(type, init) {
    super(type, init);
    this.#detail = init?.detail ?? null;
  }
  get detail() { return this.#detail; }
  get [Symbol.toStringTag]() { return "CustomEvent"; }
}

/** A class of events that carries the given members, each with the value of its `init` or the default. */
function eventWith(name, defaults) {
  const kept = new WeakMap();
  const Class = {
    [name]: class extends Event {
      constructor(type, init) {
        super(type, init);
        kept.set(this, init ?? {});
      }
      get [Symbol.toStringTag]() { return name; }
    },
  }[name];
  for (const [key, fallback] of Object.entries(defaults)) {
    Object.defineProperty(Class.prototype, key, {
      configurable: true,
      enumerable: true,
      get() {
        const value = kept.get(this)?.[key];
        return value === undefined ? (Array.isArray(fallback) ? [] : fallback) : value;
      },
    });
  }
  return Class;
}
export const ErrorEvent = eventWith("ErrorEvent", { message: "", filename: "", lineno: 0, colno: 0, error: undefined });
export const MessageEvent = eventWith("MessageEvent", { data: null, origin: "", lastEventId: "", source: null, ports: [] });
export const CloseEvent = eventWith("CloseEvent", { wasClean: false, code: 0, reason: "" });
export const ProgressEvent = eventWith("ProgressEvent", { lengthComputable: false, loaded: 0, total: 0 });
