// AbortController and AbortSignal with `abort`, `timeout` and `any`. A signal that depends on others is told by them
// directly, before its own listeners run, as the DOM standard orders it. The timer of `timeout` keeps nothing alive.
import { EventTarget, Event, defineHandlers } from "jackfield:web/events";
import { codedError } from "jackfield:web/bytes";
import { DOMException } from "jackfield:web/domexception";

let creating = false;
let abortNow;

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason = undefined;
  // Signals made by `any` that watch this one, held weakly only by those who use them: a list that lives as long as
  // this signal would otherwise keep every combined signal of a long session.
  #dependents = null;
  #sources = null;
  constructor() {
    super();
    if (!creating) throw codedError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor");
  }
  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }
  throwIfAborted() { if (this.#aborted) throw this.#reason; }
  static abort(reason = new DOMException("This operation was aborted", "AbortError")) {
    const signal = make();
    signal.#aborted = true;
    signal.#reason = reason;
    return signal;
  }
  static timeout(ms) {
    const delay = Number(ms);
    if (!(delay >= 0 && delay <= Number.MAX_SAFE_INTEGER)) {
      throw codedError(RangeError, "ERR_OUT_OF_RANGE", `The value of "delay" is out of range. It must be >= 0 && <= 4294967295. Received ${String(ms)}`);
    }
    const signal = make();
    const timer = setTimeout(() => abortNow(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError")), delay);
    timer?.unref?.();
    return signal;
  }
  static any(signals) {
    const result = make();
    const all = [...signals];
    for (const signal of all) {
      if (!isSignal(signal)) throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", 'The "signals" argument must hold instances of AbortSignal.');
    }
    for (const signal of all) {
      if (signal.#aborted) {
        result.#aborted = true;
        result.#reason = signal.#reason;
        return result;
      }
    }
    result.#sources = new Set();
    for (const signal of all) {
      // A combined signal is flattened to what it watches, so chains do not grow.
      for (const source of signal.#sources ?? [signal]) {
        if (result.#sources.has(source)) continue;
        result.#sources.add(source);
        (source.#dependents ??= new Set()).add(new WeakRef(result));
      }
    }
    return result;
  }
  // A combined signal that somebody listens to must live as long as its sources.
  addEventListener(type, ...rest) {
    if (type === "abort" && this.#sources && !this.#aborted) for (const source of this.#sources) source.#dependents?.add(this);
    super.addEventListener(type, ...rest);
  }
  get [Symbol.toStringTag]() { return "AbortSignal"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    const shown = { aborted: this.#aborted };
    return typeof inspect === "function" ? `AbortSignal ${inspect(shown, options)}` : "AbortSignal";
  }
  static {
    abortNow = (signal, reason) => {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason;
      const told = [signal];
      for (const ref of signal.#dependents ?? []) {
        const dependent = ref instanceof AbortSignal ? ref : ref.deref();
        if (!dependent || dependent.#aborted) continue;
        dependent.#aborted = true;
        dependent.#reason = reason;
        told.push(dependent);
      }
      signal.#dependents = null;
      for (const each of told) each.dispatchEvent(new Event("abort"));
    };
    isOne = (value) => typeof value === "object" && value !== null && #aborted in value;
  }
}
var isOne;
const isSignal = (value) => isOne(value);
defineHandlers(AbortSignal, "abort");

function make() {
  creating = true;
  try {
    return new AbortSignal();
  } finally {
    creating = false;
  }
}

export class AbortController {
  #signal = make();
  get signal() { return this.#signal; }
  abort(reason = new DOMException("This operation was aborted", "AbortError")) { abortNow(this.#signal, reason); }
  get [Symbol.toStringTag]() { return "AbortController"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    return typeof inspect === "function" ? `AbortController ${inspect({ signal: this.#signal }, options)}` : "AbortController";
  }
}
