// Histograms of node:perf_hooks, which keep every value up to a limit, and timerify.
import { validateFunction, validateInteger } from "jackfield:node/internal/errors";
import { performance } from "jackfield:web/performance";

const MOST = 100000;

class Histogram {
  #values = [];
  #exceeds = 0;
  #last;
  _add(value) {
    if (this.#values.length < MOST) this.#values.push(value);
    else this.#exceeds++;
  }
  get count() { return this.#values.length + this.#exceeds; }
  get countBigInt() { return BigInt(this.count); }
  get exceeds() { return this.#exceeds; }
  get min() { return this.#values.length === 0 ? 9223372036854776000 : this.#values.reduce((a, b) => (b < a ? b : a)); }
  get max() { return this.#values.reduce((a, b) => (b > a ? b : a), 0); }
  get mean() { return this.#values.length === 0 ? NaN : this.#values.reduce((a, b) => a + b, 0) / this.#values.length; }
  get stddev() {
    if (this.#values.length === 0) return NaN;
    const mean = this.mean;
    return Math.sqrt(this.#values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / this.#values.length);
  }
  percentile(p) {
    if (this.#values.length === 0) return 0;
    const sorted = this.#values.toSorted((a, b) => a - b);
    return sorted[Math.max(0, Math.ceil((p / 100) * sorted.length) - 1)];
  }
  get percentiles() { return new Map([0, 50, 75, 90, 99, 100].map((p) => [p, this.percentile(p)])); }
  reset() {
    this.#values = [];
    this.#exceeds = 0;
  }
  record(value) {
    const number = typeof value === "bigint" ? Number(value) : value;
    validateInteger(number, "val", 1);
    this._add(number);
  }
  recordDelta() {
    const now = performance.now();
    if (this.#last !== undefined) this._add(Math.round((now - this.#last) * 1e6));
    this.#last = now;
  }
  add(other) {
    for (const value of other._all()) this._add(value);
  }
  _all() { return this.#values; }
  toJSON() {
    const { count, min, max, mean, exceeds, stddev } = this;
    return { count, min, max, mean, exceeds, stddev, percentiles: Object.fromEntries(this.percentiles) };
  }
}

export const createHistogram = () => new Histogram();
export const monitorEventLoopDelay = () => Object.assign(new Histogram(), { enable: () => true, disable: () => true });

export function timerify(fn, options = {}) {
  validateFunction(fn, "fn");
  const told = (start) => options.histogram?.record(Math.max(1, Math.round((performance.now() - start) * 1e6)));
  function timed(...args) {
    const start = performance.now();
    const result = new.target ? Reflect.construct(fn, args, fn) : Reflect.apply(fn, this, args);
    if (typeof result?.finally === "function") return result.finally(() => told(start));
    told(start);
    return result;
  }
  Object.defineProperties(timed, { name: { value: `timerified ${fn.name}`, configurable: true }, length: { value: fn.length, configurable: true } });
  return timed;
}
