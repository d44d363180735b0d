// node:diagnostics_channel: named channels inside one extension, bound stores, and tracing channels. Nothing outside of
// the extension publishes here.
import { invalidArgType, validateFunction } from "jackfield:node/internal/errors";
import process from "node:process";

const channels = new Map();
const report = (error) => process.nextTick(() => { throw error; });

export class Channel {
  _subscribers = [];
  _stores = new Map();
  constructor(name) {
    this.name = name;
  }
  get hasSubscribers() { return this._subscribers.length > 0 || this._stores.size > 0; }
  subscribe(listener) {
    validateFunction(listener, "subscription");
    this._subscribers = [...this._subscribers, listener];
  }
  unsubscribe(listener) {
    const at = this._subscribers.indexOf(listener);
    if (at === -1) return false;
    this._subscribers = this._subscribers.toSpliced(at, 1);
    return true;
  }
  publish(message) {
    for (const listener of this._subscribers) {
      try {
        listener(message, this.name);
      } catch (error) {
        report(error);
      }
    }
  }
  bindStore(store, transform) {
    this._stores.set(store, transform);
  }
  unbindStore(store) {
    return this._stores.delete(store);
  }
  runStores(message, fn, thisArg, ...args) {
    let run = () => {
      this.publish(message);
      return Reflect.apply(fn, thisArg, args);
    };
    for (const [store, transform] of this._stores) {
      const next = run;
      run = () => {
        let value = message;
        try {
          if (transform !== undefined) value = transform(message);
        } catch (error) {
          report(error);
          return next();
        }
        return store.run(value, next);
      };
    }
    return run();
  }
}

export function channel(name) {
  if (typeof name !== "string" && typeof name !== "symbol") throw invalidArgType("channel", ["string", "symbol"], name);
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}
export const subscribe = (name, listener) => channel(name).subscribe(listener);
export const unsubscribe = (name, listener) => channel(name).unsubscribe(listener);
export const hasSubscribers = (name) => channels.get(name)?.hasSubscribers ?? false;

const EVENTS = ["start", "end", "asyncStart", "asyncEnd", "error"];

export class TracingChannel {
  constructor(source) {
    for (const event of EVENTS) {
      const value = typeof source === "string" ? channel(`tracing:${source}:${event}`) : source?.[event];
      if (!(value instanceof Channel)) throw invalidArgType(`nameOrChannels.${event}`, "Channel", value);
      Object.defineProperty(this, event, { value, enumerable: true });
    }
  }
  get hasSubscribers() { return EVENTS.some((event) => this[event].hasSubscribers); }
  subscribe(handlers) {
    for (const event of EVENTS) if (handlers[event]) this[event].subscribe(handlers[event]);
  }
  unsubscribe(handlers) {
    let all = true;
    for (const event of EVENTS) if (handlers[event] && !this[event].unsubscribe(handlers[event])) all = false;
    return all;
  }
  traceSync(fn, data = {}, thisArg, ...args) {
    if (!this.hasSubscribers) return Reflect.apply(fn, thisArg, args);
    return this.start.runStores(data, () => {
      try {
        return (data.result = Reflect.apply(fn, thisArg, args));
      } catch (error) {
        data.error = error;
        this.error.publish(data);
        throw error;
      } finally {
        this.end.publish(data);
      }
    });
  }
  tracePromise(fn, data = {}, thisArg, ...args) {
    if (!this.hasSubscribers) return Reflect.apply(fn, thisArg, args);
    const settled = (key) => (value) => {
      data[key] = value;
      if (key === "error") this.error.publish(data);
      this.asyncStart.publish(data);
      this.asyncEnd.publish(data);
      if (key === "error") throw value;
      return value;
    };
    return this.start.runStores(data, () => {
      try {
        const made = Reflect.apply(fn, thisArg, args);
        const promise = made instanceof Promise ? made : Promise.resolve(made);
        return promise.then(settled("result"), settled("error"));
      } catch (error) {
        data.error = error;
        this.error.publish(data);
        throw error;
      } finally {
        this.end.publish(data);
      }
    });
  }
  traceCallback(fn, position = -1, data = {}, thisArg = undefined, ...args) {
    if (!this.hasSubscribers) return Reflect.apply(fn, thisArg, args);
    const tracing = this;
    const at = position < 0 ? args.length + position : position;
    const callback = args[at];
    validateFunction(callback, "callback");
    args[at] = function (error, result) {
      if (error) {
        data.error = error;
        tracing.error.publish(data);
      } else data.result = result;
      return tracing.asyncStart.runStores(data, () => {
        try {
          return Reflect.apply(callback, this, arguments);
        } finally {
          tracing.asyncEnd.publish(data);
        }
      });
    };
    return this.start.runStores(data, () => {
      try {
        return Reflect.apply(fn, thisArg, args);
      } catch (error) {
        data.error = error;
        this.error.publish(data);
        throw error;
      } finally {
        this.end.publish(data);
      }
    });
  }
}
export const tracingChannel = (source) => new TracingChannel(source);

export default { channel, hasSubscribers, subscribe, unsubscribe, tracingChannel, Channel, TracingChannel };
