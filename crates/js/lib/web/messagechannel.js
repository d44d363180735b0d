// MessageChannel, MessagePort and BroadcastChannel within one extension: messages are cloned and arrive as macrotasks
// in order. There are no workers, so a port never leaves its extension; a transferred port goes on under a new object.
// Ports have the `on`/`once`/`off` of Node's worker ports too.
import { EventTarget, Event, MessageEvent, defineHandlers } from "jackfield:web/events";
import { cloneWith } from "jackfield:web/clone";
import { DOMException } from "jackfield:web/domexception";

const INSIDE = Symbol("inside");
const ports = new WeakMap(); // MessagePort → its end of the pipe

class End {
  other = null; port = null; queue = []; flowing = false; closed = false; scheduled = false;
  post(data, sentPorts) {
    this.queue.push({ data, ports: sentPorts });
    this.schedule();
  }
  schedule() {
    if (!this.flowing || this.scheduled || this.queue.length === 0) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      // One message per turn, so that a handler which throws or closes does not lose the others.
      if (!this.flowing || this.closed) return;
      const message = this.queue.shift();
      if (!message) return;
      this.schedule();
      this.port?.dispatchEvent(new MessageEvent("message", message));
    });
  }
  close() {
    if (this.closed) return;
    this.closed = true;
    const { port } = this;
    setImmediate(() => port?.dispatchEvent(new Event("close")));
    this.other?.close();
  }
}

export class MessagePort extends EventTarget {
  #wrapped = new Map();
  constructor(inside, end) {
    super();
    if (inside !== INSIDE) throw Object.assign(new TypeError("Illegal constructor"), { code: "ERR_CONSTRUCT_CALL_INVALID" });
    ports.set(this, end);
    end.port = this;
  }
  postMessage(message, options = undefined) {
    const end = ports.get(this);
    const transfer = Array.isArray(options) ? options : (options?.transfer ?? []);
    if (transfer.includes(this)) throw new DOMException("Transfer list contains source port", "DataCloneError");
    const { value, ports: sent } = cloneWith(message, [...transfer]);
    if (end && !end.closed) end.other?.post(value, sent);
  }
  start() {
    const end = ports.get(this);
    if (!end) return;
    end.flowing = true;
    end.schedule();
  }
  close() { ports.get(this)?.close(); }
  ref() { return this; }
  unref() { return this; }
  hasRef() { return false; }
  on(type, listener) {
    const wrapped = (event) => listener.call(this, type === "message" ? event.data : event);
    this.#wrapped.set(listener, wrapped);
    this.addEventListener(type, wrapped);
    if (type === "message") this.start();
    return this;
  }
  once(type, listener) {
    const wrapped = (event) => {
      this.off(type, listener);
      listener.call(this, type === "message" ? event.data : event);
    };
    this.#wrapped.set(listener, wrapped);
    this.addEventListener(type, wrapped);
    if (type === "message") this.start();
    return this;
  }
  off(type, listener) {
    this.removeEventListener(type, this.#wrapped.get(listener) ?? listener);
    this.#wrapped.delete(listener);
    return this;
  }
  addListener(type, listener) { return this.on(type, listener); }
  removeListener(type, listener) { return this.off(type, listener); }
  get [Symbol.toStringTag]() { return "MessagePort"; }
}
defineHandlers(MessagePort, "message", "messageerror", "close");
{
  // Setting `onmessage` starts the port, adding a listener does not.
  const { get, set } = Object.getOwnPropertyDescriptor(MessagePort.prototype, "onmessage");
  Object.defineProperty(MessagePort.prototype, "onmessage", {
    configurable: true, enumerable: true, get,
    set(value) {
      set.call(this, value);
      if (typeof value === "function") this.start();
    },
  });
}

export class MessageChannel {
  constructor() {
    const a = new End();
    const b = new End();
    a.other = b;
    b.other = a;
    this.port1 = new MessagePort(INSIDE, a);
    this.port2 = new MessagePort(INSIDE, b);
  }
}

export const isPort = (value) => ports.has(value);

/** The end of a port under a new object; the old one no longer does anything. */
export function transferPort(port) {
  const end = ports.get(port);
  end.flowing = false;
  const fresh = new MessagePort(INSIDE, end);
  const dead = new End();
  dead.closed = true;
  ports.set(port, dead);
  return fresh;
}

/** The next message that waits at a port as `{ message }`, or undefined: `receiveMessageOnPort` of Node. */
export function receive(port) {
  const message = ports.get(port)?.queue.shift();
  return message ? { message: message.data } : undefined;
}

const channels = new Map(); // name → set of open channels

export class BroadcastChannel extends EventTarget {
  #name;
  constructor(name) {
    super();
    if (arguments.length === 0) throw Object.assign(new TypeError('The "name" argument must be specified'), { code: "ERR_MISSING_ARGS" });
    this.#name = `${name}`;
    if (!channels.has(this.#name)) channels.set(this.#name, new Set());
    channels.get(this.#name).add(this);
  }
  get name() { return this.#name; }
  postMessage(message) {
    const open = channels.get(this.#name);
    if (!open?.has(this)) throw new DOMException("BroadcastChannel is closed.", "InvalidStateError");
    for (const channel of open) {
      if (channel === this) continue;
      const data = cloneWith(message, []).value;
      setImmediate(() => { if (open.has(channel)) channel.dispatchEvent(new MessageEvent("message", { data })); });
    }
  }
  close() {
    const open = channels.get(this.#name);
    open?.delete(this);
    if (open?.size === 0) channels.delete(this.#name);
  }
  ref() { return this; }
  unref() { return this; }
  get [Symbol.toStringTag]() { return "BroadcastChannel"; }
}
defineHandlers(BroadcastChannel, "message", "messageerror");
