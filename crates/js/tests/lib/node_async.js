// node:async_hooks, node:timers and its promises, node:diagnostics_channel, and the order of ticks.
import assert from "node:assert";
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import diagnostics, { tracingChannel } from "node:diagnostics_channel";
import process from "node:process";
import timers from "node:timers";
import { scheduler, setImmediate as immediate, setInterval as interval, setTimeout as sleep } from "node:timers/promises";

// Ticks of one moment run together, in order, with their arguments, and an error in one does not stop the rest.
const order = [];
await new Promise((resolve) => {
  process.nextTick((x) => order.push(x), "tick 1");
  queueMicrotask(() => order.push("micro"));
  process.nextTick(() => { order.push("tick 2"); process.nextTick(() => order.push("tick 3")); });
  setTimeout(resolve, 1);
});
assert.deepStrictEqual(order, ["tick 1", "tick 2", "tick 3", "micro"]);
assert.throws(() => process.nextTick(1), { code: "ERR_INVALID_ARG_TYPE" });

const store = new AsyncLocalStorage();
const seen = [];
assert.strictEqual(store.getStore(), undefined);
assert.strictEqual(store.run(1, () => store.getStore()), 1);
assert.strictEqual(store.getStore(), undefined);
assert.throws(() => store.run(1, () => { throw new Error("x"); }));
assert.strictEqual(store.getStore(), undefined);
store.run(1, () => store.run(2, () => seen.push(store.getStore())) && seen.push(store.getStore()));
assert.deepStrictEqual(seen.splice(0), [2, 1]);
assert.strictEqual(store.run(1, () => store.exit(() => store.getStore())), undefined);

// The context survives promises, awaits, timers, ticks and microtasks, and two flows do not mix.
async function flow(name, steps) {
  for (let i = 0; i < steps; i++) {
    await sleep(1);
    seen.push([name, store.getStore()]);
    await Promise.resolve(i);
    seen.push([name, store.getStore()]);
    await inner(name);
  }
  try {
    await Promise.reject(new Error("no"));
  } catch {
    seen.push([name, store.getStore()]);
  }
  return store.getStore();
}
async function inner(name) {
  await new Promise((resolve) => setImmediate(resolve));
  seen.push([name, store.getStore()]);
}
const results = await Promise.all([store.run("A", () => flow("A", 3)), store.run("B", () => flow("B", 2)), flow("none", 2)]);
assert.deepStrictEqual(results, ["A", "B", undefined]);
for (const [name, value] of seen.splice(0)) assert.strictEqual(value, name === "none" ? undefined : name);
await store.run("later", () => Promise.all([
  new Promise((resolve) => setTimeout(() => resolve(seen.push(store.getStore())), 1)),
  new Promise((resolve) => process.nextTick(() => resolve(seen.push(store.getStore())))),
  new Promise((resolve) => queueMicrotask(() => resolve(seen.push(store.getStore())))),
  Promise.resolve(1).then((x) => seen.push(store.getStore()) && x + 1).then((x) => seen.push(x)),
  Promise.reject(new Error("n")).catch(() => seen.push(store.getStore())).finally(() => seen.push(store.getStore())),
]));
assert.deepStrictEqual(seen.filter((x) => x !== 2), Array(6).fill("later"));
assert.ok(seen.includes(2));
assert.strictEqual(store.getStore(), undefined);
seen.length = 0;
const two = new AsyncLocalStorage();
store.run("s", () => two.run("t", () => seen.push(store.getStore(), two.getStore())));
const snapshot = store.run("snap", () => AsyncLocalStorage.snapshot());
seen.push(snapshot(() => store.getStore()));
const bound = store.run("bound", () => AsyncResource.bind(() => store.getStore()));
seen.push(bound());
const resource = store.run("res", () => new AsyncResource("R"));
seen.push(resource.runInAsyncScope(() => store.getStore()));
assert.deepStrictEqual(seen.splice(0), ["s", "t", "snap", "bound", "res"]);
store.run("p", () => {
  const promise = Promise.resolve(1);
  assert.strictEqual(Promise.resolve(promise), promise);
  assert.ok(promise instanceof Promise && promise.then(() => {}) instanceof Promise);
});
store.enterWith("entered");
assert.strictEqual(store.getStore(), "entered");
store.disable();
assert.strictEqual(store.getStore(), undefined);

// Timers.
assert.strictEqual(await sleep(1, "value"), "value");
assert.strictEqual(await immediate("now"), "now");
await scheduler.wait(1);
await scheduler.yield();
const ac = new AbortController();
const waiting = sleep(10000, null, { signal: ac.signal });
ac.abort();
await assert.rejects(waiting, { name: "AbortError", code: "ABORT_ERR" });
await assert.rejects(sleep(1, null, { signal: ac.signal }), { name: "AbortError" });
await assert.rejects(sleep("x"), { code: "ERR_INVALID_ARG_TYPE" });
let turns = 0;
for await (const value of interval(1, "v")) {
  assert.strictEqual(value, "v");
  if (++turns === 3) break;
}
await new Promise((resolve) => timers.setTimeout(resolve, 1));
const never = timers.setTimeout(() => assert.fail("cleared"), 1);
timers.clearTimeout(never);
assert.strictEqual(timers.promises.setTimeout, sleep);

// Diagnostics channels.
const channel = diagnostics.channel("my");
assert.strictEqual(diagnostics.channel("my"), channel);
assert.strictEqual(channel.hasSubscribers, false);
const hear = (message, name) => seen.push([message, name]);
diagnostics.subscribe("my", hear);
channel.publish({ a: 1 });
assert.deepStrictEqual(seen.splice(0), [[{ a: 1 }, "my"]]);
assert.strictEqual(diagnostics.hasSubscribers("my"), true);
assert.strictEqual(diagnostics.unsubscribe("my", hear), true);
assert.strictEqual(channel.hasSubscribers, false);
const tracing = tracingChannel("op");
const events = ["start", "end", "asyncStart", "asyncEnd", "error"];
tracing.subscribe(Object.fromEntries(events.map((event) => [event, () => seen.push(event)])));
assert.strictEqual(tracing.traceSync((x) => x + 1, {}, null, 1), 2);
assert.deepStrictEqual(seen.splice(0), ["start", "end"]);
assert.strictEqual(await tracing.tracePromise(async () => 5), 5);
assert.deepStrictEqual(seen.splice(0), ["start", "end", "asyncStart", "asyncEnd"]);
assert.throws(() => tracing.traceSync(() => { throw new Error("t"); }));
assert.deepStrictEqual(seen.splice(0), ["start", "error", "end"]);
tracing.traceCallback((callback) => callback(null, 1), 0, {}, null, () => {});
assert.deepStrictEqual(seen.splice(0), ["start", "asyncStart", "asyncEnd", "end"]);
