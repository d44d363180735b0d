// node:async_hooks: AsyncLocalStorage and AsyncResource. The engine has no hooks into promises, so the context is
// carried by replacing what starts later work: `then`, queueMicrotask, timers and ticks. This happens when the first
// AsyncLocalStorage is used, so that no other extension pays for it. An `await` of a promise keeps the context; an
// `await` of anything that is no promise (await 5, await undefined) does not, since nothing of ours runs there. Hooks
// that watch the engine (createHook) can be made and never fire.
import { context, install, runIn } from "jackfield:node/internal/async_context";
import { invalidArgType, nodeError, validateFunction, validateString } from "jackfield:node/internal/errors";

export class AsyncLocalStorage {
  #defaultValue;
  #name;
  #enabled = true;
  constructor(options = {}) {
    this.#defaultValue = options?.defaultValue;
    this.#name = options?.name ?? "";
  }
  static bind(fn) {
    return AsyncResource.bind(fn);
  }
  static snapshot() {
    const frame = context.frame;
    return (fn, ...args) => runIn(frame, fn, undefined, args);
  }
  get name() { return this.#name; }
  getStore() {
    const frame = context.frame;
    if (!this.#enabled || frame === undefined || !frame.has(this)) return this.#defaultValue;
    return frame.get(this);
  }
  run(store, fn, ...args) {
    install();
    this.#enabled = true;
    return runIn(this.#with(store), fn, undefined, args);
  }
  exit(fn, ...args) {
    if (context.frame === undefined || !context.frame.has(this)) return Reflect.apply(fn, undefined, args);
    const frame = new Map(context.frame);
    frame.delete(this);
    return runIn(frame, fn, undefined, args);
  }
  enterWith(store) {
    install();
    this.#enabled = true;
    context.frame = this.#with(store);
  }
  disable() {
    this.#enabled = false;
    if (context.frame?.has(this)) {
      const frame = new Map(context.frame);
      frame.delete(this);
      context.frame = frame.size > 0 ? frame : undefined;
    }
  }
  #with(store) {
    const frame = new Map(context.frame);
    frame.set(this, store);
    return frame;
  }
}

let lastId = 1;
export class AsyncResource {
  #frame = context.frame;
  #id = ++lastId;
  #trigger;
  constructor(type, options = {}) {
    validateString(type, "type");
    const trigger = typeof options === "number" ? options : options?.triggerAsyncId;
    if (trigger !== undefined && (!Number.isSafeInteger(trigger) || trigger < -1)) {
      throw nodeError(RangeError, "ERR_INVALID_ASYNC_ID", `Invalid triggerAsyncId value: ${String(trigger)}`);
    }
    this.#trigger = trigger ?? 1;
  }
  static bind(fn, type, thisArg) {
    return new AsyncResource(type || fn.name || "bound-anonymous-fn").bind(fn, thisArg);
  }
  runInAsyncScope(fn, thisArg, ...args) {
    return runIn(this.#frame, fn, thisArg, args);
  }
  bind(fn, thisArg) {
    validateFunction(fn, "fn");
    const resource = this;
    const bound = function (...args) {
      return resource.runInAsyncScope(fn, thisArg === undefined ? this : thisArg, ...args);
    };
    Object.defineProperty(bound, "length", { value: fn.length, configurable: true });
    return bound;
  }
  emitDestroy() { return this; }
  asyncId() { return this.#id; }
  triggerAsyncId() { return this.#trigger; }
}

export function createHook(callbacks) {
  if (callbacks === null || typeof callbacks !== "object") throw invalidArgType("callbacks", "Object", callbacks);
  for (const name of ["init", "before", "after", "destroy", "promiseResolve"]) {
    if (callbacks[name] !== undefined && typeof callbacks[name] !== "function") {
      throw nodeError(TypeError, "ERR_ASYNC_CALLBACK", `hook.${name} must be a function`);
    }
  }
  return { enable() { return this; }, disable() { return this; } };
}

const top = {};
export const executionAsyncId = () => 1;
export const triggerAsyncId = () => 0;
export const executionAsyncResource = () => top;
export const asyncWrapProviders = Object.freeze({ __proto__: null, NONE: 0 });

export default {
  AsyncLocalStorage, AsyncResource, createHook, executionAsyncId, triggerAsyncId, executionAsyncResource, asyncWrapProviders,
};
