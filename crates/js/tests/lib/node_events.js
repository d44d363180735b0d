// node:events: order, removal, once, errors, rejections, and the asynchronous forms.
import assert from "node:assert";
import EventEmitter, { addAbortListener, captureRejectionSymbol, errorMonitor, getEventListeners, getMaxListeners, listenerCount, on, once, setMaxListeners } from "node:events";
import process from "node:process";

assert.strictEqual(EventEmitter, EventEmitter.EventEmitter);

const said = [];
const e = new EventEmitter();
const a = () => said.push("a");
const b = () => said.push("b");
assert.strictEqual(e.emit("x"), false);
assert.strictEqual(e.on("x", a), e);
e.prependListener("x", b);
e.once("x", (...args) => said.push(["once", ...args]));
e.prependOnceListener("x", () => said.push("first"));
assert.strictEqual(e.emit("x", 1, 2), true);
assert.deepStrictEqual(said.splice(0), ["first", "b", "a", ["once", 1, 2]]);
e.emit("x");
assert.deepStrictEqual(said.splice(0), ["b", "a"]);
assert.deepStrictEqual(e.listeners("x"), [b, a]);
assert.strictEqual(e.listenerCount("x"), 2);
assert.strictEqual(e.listenerCount("x", a), 1);
assert.strictEqual(listenerCount(e, "x"), 2);
e.off("x", b);
assert.deepStrictEqual(e.listeners("x"), [a]);
const symbol = Symbol("s");
e.on(symbol, a);
assert.deepStrictEqual(e.eventNames(), ["x", symbol]);
e.removeAllListeners("x");
assert.deepStrictEqual(e.eventNames(), [symbol]);
e.removeAllListeners();
assert.deepStrictEqual(e.eventNames(), []);
const wrapped = () => {};
e.once("y", wrapped);
assert.deepStrictEqual(e.listeners("y"), [wrapped]);
assert.notStrictEqual(e.rawListeners("y")[0], wrapped);
assert.strictEqual(e.rawListeners("y")[0].listener, wrapped);
e.off("y", wrapped);
assert.strictEqual(e.listenerCount("y"), 0);

// Names that every object has are events like any other.
e.on("toString", a);
e.on("__proto__", a);
assert.strictEqual(e.emit("toString"), true);
assert.strictEqual(e.emit("constructor"), false);
said.length = 0;

// newListener comes before, removeListener after; removing all tells about each.
const told = new EventEmitter();
const f = () => {};
told.on("newListener", (name, fn) => said.push(["new", name, fn === f, told.listenerCount(name)]));
told.on("removeListener", (name, fn) => said.push(["gone", name, fn === f]));
said.length = 0;
told.once("z", f);
told.on("z", f);
told.removeAllListeners("z");
assert.deepStrictEqual(said.splice(0), [["new", "z", true, 0], ["new", "z", true, 1], ["gone", "z", true], ["gone", "z", true]]);

// A listener that is removed during an emit still hears this one.
const r = new EventEmitter();
const second = () => said.push("second");
r.on("x", () => r.off("x", second));
r.on("x", second);
r.emit("x");
r.emit("x");
assert.deepStrictEqual(said.splice(0), ["second"]);

// Errors.
const bad = new EventEmitter();
assert.throws(() => bad.emit("error", new RangeError("boom")), RangeError);
assert.throws(() => bad.emit("error", { a: 1 }), { code: "ERR_UNHANDLED_ERROR", message: "Unhandled error. ({ a: 1 })" });
assert.throws(() => bad.emit("error"), { message: "Unhandled error. (undefined)" });
bad.on(errorMonitor, (error) => said.push(error.message));
assert.throws(() => bad.emit("error", new Error("seen")));
bad.on("error", (error) => said.push(`handled ${error.message}`));
bad.emit("error", new Error("m"));
assert.deepStrictEqual(said.splice(0), ["seen", "m", "handled m"]);
assert.throws(() => bad.on("x", 5), { code: "ERR_INVALID_ARG_TYPE", message: 'The "listener" argument must be of type function. Received type number (5)' });

// Limits.
assert.strictEqual(EventEmitter.defaultMaxListeners, 10);
assert.strictEqual(getMaxListeners(e), 10);
e.setMaxListeners(1);
setMaxListeners(3, r);
assert.strictEqual(r.getMaxListeners(), 3);
assert.throws(() => e.setMaxListeners(-1), { code: "ERR_OUT_OF_RANGE" });
const warning = new Promise((resolve) => process.once("warning", resolve));
e.on("leak", () => {});
e.on("leak", () => {});
const { name, count, type } = await warning;
assert.deepStrictEqual([name, count, type], ["MaxListenersExceededWarning", 2, "leak"]);

// Old style inheritance.
function Old() { EventEmitter.call(this); }
Object.setPrototypeOf(Old.prototype, EventEmitter.prototype);
const old = new Old();
old.on("x", function () { said.push(this === old); });
old.emit("x");
assert.deepStrictEqual(said.splice(0), [true]);

// Rejections of listeners.
const c = new EventEmitter({ captureRejections: true });
const caught = new Promise((resolve) => c.on("error", resolve));
c.on("x", async () => { throw new Error("async"); });
c.emit("x");
assert.strictEqual((await caught).message, "async");
const own = new EventEmitter({ captureRejections: true });
const mine = new Promise((resolve) => { own[captureRejectionSymbol] = (error, event, ...args) => resolve([error.message, event, args]); });
own.on("y", async () => { throw new Error("own"); });
own.emit("y", 7);
assert.deepStrictEqual(await mine, ["own", "y", [7]]);

// once and on as promises.
const p = new EventEmitter();
setTimeout(() => p.emit("go", 1, 2), 1);
assert.deepStrictEqual(await once(p, "go"), [1, 2]);
assert.strictEqual(p.listenerCount("error"), 0);
setTimeout(() => p.emit("error", new Error("failed")), 1);
await assert.rejects(once(p, "go"), /failed/);
const ac = new AbortController();
setTimeout(() => ac.abort(), 1);
await assert.rejects(once(p, "never", { signal: ac.signal }), { name: "AbortError", code: "ABORT_ERR" });
assert.strictEqual(p.listenerCount("never"), 0);
const target = new EventTarget();
setTimeout(() => target.dispatchEvent(new Event("hi")), 1);
assert.strictEqual((await once(target, "hi"))[0].type, "hi");

const many = on(p, "data", { close: ["end"] });
p.emit("data", 1);
p.emit("data", 2);
setTimeout(() => { p.emit("data", 3); p.emit("end"); }, 1);
const got = [];
for await (const [value] of many) got.push(value);
assert.deepStrictEqual(got, [1, 2, 3]);
assert.strictEqual(p.listenerCount("data"), 0);
const failing = on(p, "data");
setTimeout(() => p.emit("error", new Error("stream")), 1);
await assert.rejects(failing.next(), /stream/);
assert.deepStrictEqual(await failing.next(), { value: undefined, done: true });

const listen = () => {};
target.addEventListener("k", listen);
assert.deepStrictEqual(getEventListeners(target, "k"), [listen]);
assert.deepStrictEqual(getEventListeners(p, "data"), []);
const stop = new AbortController();
let aborted = 0;
addAbortListener(stop.signal, () => { aborted++; });
stop.abort();
assert.strictEqual(aborted, 1);
