// performance: a monotonic clock, marks and measures. There is no timeline of the engine to observe:
// PerformanceObserver exists, accepts any entry types and is told of marks and measures only.
import { native } from "jackfield:host";
import { EventTarget } from "jackfield:web/events";
import { DOMException } from "jackfield:web/domexception";

// `now` starts near zero on a clock that never goes back, `timeOrigin` says when zero was.
const [zeroSeconds, zeroNanos] = native("hrtime");
const origin = native("now_ms");
const now = () => {
  const [seconds, nanos] = native("hrtime");
  return (seconds - zeroSeconds) * 1000 + (nanos - zeroNanos) / 1e6;
};

export class PerformanceEntry {
  constructor(name, entryType, startTime, duration, detail) {
    Object.assign(this, { name, entryType, startTime, duration, detail });
  }
  toJSON() { return { name: this.name, entryType: this.entryType, startTime: this.startTime, duration: this.duration, detail: this.detail }; }
}
export class PerformanceMark extends PerformanceEntry {
  constructor(name, options = {}) { super(`${name}`, "mark", options?.startTime ?? now(), 0, options?.detail ?? null); }
}
export class PerformanceMeasure extends PerformanceEntry {}

const LIMIT = 10000; // entries kept; an extension that marks forever must not fill its memory
let entries = [];
const observers = new Set();

function keep(entry) {
  if (entries.length >= LIMIT) entries = entries.slice(LIMIT / 2);
  entries.push(entry);
  for (const observer of observers) observer.tell(entry);
}

function timeOf(point) {
  if (typeof point === "number") return point;
  const mark = entries.findLast((entry) => entry.entryType === "mark" && entry.name === `${point}`);
  if (!mark) throw new DOMException(`The "${point}" performance mark has not been set`, "SyntaxError");
  return mark.startTime;
}

export class Performance extends EventTarget {
  get timeOrigin() { return origin; }
  now() { return now(); }
  mark(name, options = {}) {
    const mark = new PerformanceMark(name, options);
    keep(mark);
    return mark;
  }
  measure(name, startOrOptions = undefined, endMark = undefined) {
    const options = startOrOptions !== null && typeof startOrOptions === "object" ? startOrOptions : { start: startOrOptions, end: endMark };
    let end = options.end !== undefined ? timeOf(options.end) : undefined;
    let start = options.start !== undefined ? timeOf(options.start) : undefined;
    if (options.duration !== undefined) {
      if (start === undefined && end !== undefined) start = end - options.duration;
      else if (end === undefined && start !== undefined) end = start + options.duration;
    }
    start ??= 0;
    end ??= now();
    const measure = new PerformanceMeasure(`${name}`, "measure", start, end - start, options.detail ?? null);
    keep(measure);
    return measure;
  }
  clearMarks(name = undefined) { entries = entries.filter((e) => e.entryType !== "mark" || (name !== undefined && e.name !== `${name}`)); }
  clearMeasures(name = undefined) { entries = entries.filter((e) => e.entryType !== "measure" || (name !== undefined && e.name !== `${name}`)); }
  clearResourceTimings() {}
  setResourceTimingBufferSize() {}
  getEntries() { return entries.slice().sort((a, b) => a.startTime - b.startTime); }
  getEntriesByName(name, type = undefined) { return this.getEntries().filter((e) => e.name === `${name}` && (type === undefined || e.entryType === type)); }
  getEntriesByType(type) { return this.getEntries().filter((e) => e.entryType === `${type}`); }
  // Node's measure of how busy the loop is; there is none, so it says idle.
  eventLoopUtilization() { return { idle: 0, active: 0, utilization: 0 }; }
  timerify(fn) {
    return function timerified(...args) { return new.target ? Reflect.construct(fn, args, new.target) : Reflect.apply(fn, this, args); };
  }
  get nodeTiming() { return { name: "node", entryType: "node", startTime: 0, duration: now(), bootstrapComplete: 0, environment: 0, loopStart: 0, loopExit: -1, nodeStart: 0, v8Start: 0, idleTime: 0 }; }
  toJSON() { return { timeOrigin: origin, nodeTiming: this.nodeTiming, eventLoopUtilization: this.eventLoopUtilization() }; }
  get [Symbol.toStringTag]() { return "Performance"; }
}
export const performance = new Performance();

export class PerformanceObserver {
  #callback; #types = new Set(); #waiting = [];
  constructor(callback) {
    if (typeof callback !== "function") throw new TypeError('The "callback" argument must be of type function.');
    this.#callback = callback;
  }
  static get supportedEntryTypes() { return ["function", "gc", "mark", "measure", "resource"]; }
  observe({ entryTypes = undefined, type = undefined, buffered = false } = {}) {
    for (const each of entryTypes ?? [type]) this.#types.add(each);
    observers.add(this);
    if (buffered) for (const entry of entries) this.tell(entry);
  }
  disconnect() {
    observers.delete(this);
    this.#types.clear();
    this.#waiting = [];
  }
  takeRecords() { return this.#waiting.splice(0); }
  tell(entry) {
    if (!this.#types.has(entry.entryType)) return;
    this.#waiting.push(entry);
    if (this.#waiting.length > 1) return;
    setImmediate(() => {
      const list = this.takeRecords();
      if (list.length === 0) return;
      const view = {
        getEntries: () => list.slice(),
        getEntriesByName: (name, type) => list.filter((e) => e.name === name && (type === undefined || e.entryType === type)),
        getEntriesByType: (type) => list.filter((e) => e.entryType === type),
      };
      this.#callback.call(this, view, this);
    });
  }
}
