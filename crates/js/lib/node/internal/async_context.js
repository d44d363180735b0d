// The context that AsyncLocalStorage reads, and how it travels. `context.frame` is a Map from storage to store, or
// undefined outside of every context. Work that is started inside of a frame remembers it and runs in it later.
//
// An `await` resumes in a job of its own that no script can wrap. What script sees of it: awaiting a promise reads
// `constructor` of it, and when that is not Promise itself it reads `then`, and calls it in a later job with native
// resolve functions. So `constructor` gives a stand-in, `then` is a getter that takes the frame along, and the native
// resolve function is called between two jobs: one that enters the frame and one that leaves it. Jobs run in order, so
// exactly what was resumed runs between them. Work outside of every frame is carried too: otherwise it would run in the
// frame of whoever resolves what it waits for.
import { setTickWrapper } from "node:process";

export const context = { frame: undefined };

export function runIn(frame, fn, thisArg, args) {
  const before = context.frame;
  context.frame = frame;
  try {
    return Reflect.apply(fn, thisArg, args);
  } finally {
    context.frame = before;
  }
}

// A function that will run in the frame of this moment.
const carried = (fn) => {
  const frame = context.frame;
  if (typeof fn !== "function") return fn;
  return function (...args) { return runIn(frame, fn, this, args); };
};

let installed = false;

export function install() {
  if (installed) return;
  installed = true;
  const enqueue = globalThis.queueMicrotask;
  const proto = Promise.prototype;
  const originalThen = proto.then;
  const originalResolve = Promise.resolve;
  const sourceOf = Function.prototype.toString;

  // The engine keeps no sources, so a nameless function of a script looks the same; for it the bracket does no harm.
  const isResolver = (fn) => fn.name === "" && fn.length === 1 && !Object.hasOwn(fn, "prototype") && /\[native code\]/.test(sourceOf.call(fn));

  // The resolve function of an await: what it queues must run inside of the frame.
  const bracketed = (fn, frame) => (value) => {
    let before;
    enqueue(() => {
      before = context.frame;
      context.frame = frame;
    });
    try {
      return runIn(frame, fn, undefined, [value]);
    } finally {
      enqueue(() => { context.frame = before; });
    }
  };
  const wrapped = (fn, frame) => {
    if (typeof fn !== "function") return fn;
    return isResolver(fn) ? bracketed(fn, frame) : (value) => runIn(frame, fn, undefined, [value]);
  };

  let own = originalThen;
  Object.defineProperty(proto, "then", {
    configurable: true,
    enumerable: false,
    get() {
      const frame = context.frame;
      const then = own;
      return function (fulfilled, rejected) { return Reflect.apply(then, this, [wrapped(fulfilled, frame), wrapped(rejected, frame)]); };
    },
    set(value) {
      if (this === proto) own = value;
      else Object.defineProperty(this, "then", { value, writable: true, configurable: true, enumerable: true });
    },
  });

  // Stands in for Promise where an await asks; otherwise it behaves like it.
  class StandIn extends Promise {
    static get [Symbol.species]() { return Promise; }
  }
  Object.defineProperty(StandIn, "name", { value: "Promise" });
  let direct = false;
  Object.defineProperty(proto, "constructor", {
    configurable: true,
    enumerable: false,
    get() { return direct ? Promise : StandIn; },
    set(value) { Object.defineProperty(this, "constructor", { value, writable: true, configurable: true, enumerable: false }); },
  });
  Object.defineProperty(Promise, "resolve", {
    configurable: true,
    enumerable: false,
    writable: true,
    value: function resolve(value) {
      direct = true;
      try {
        return Reflect.apply(originalResolve, this === StandIn ? Promise : this, [value]);
      } finally {
        direct = false;
      }
    },
  });

  for (const name of ["queueMicrotask", "setTimeout", "setInterval", "setImmediate"]) {
    const original = globalThis[name];
    const patched = function (fn, ...rest) { return original(carried(fn), ...rest); };
    Object.defineProperty(patched, "name", { value: name, configurable: true });
    for (const key of Object.getOwnPropertySymbols(original)) Object.defineProperty(patched, key, Object.getOwnPropertyDescriptor(original, key));
    Object.defineProperty(globalThis, name, { value: patched, writable: true, configurable: true, enumerable: false });
  }
  setTickWrapper(carried);
}
