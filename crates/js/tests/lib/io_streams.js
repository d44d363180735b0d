// Streams: the order of events, backpressure, errors and helpers. Expected traces were taken from Node 20.
import assert from "node:assert";
import { Buffer } from "node:buffer";
import stream from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { buffer, json, text } from "node:stream/consumers";

const { Duplex, PassThrough, Readable, Transform, Writable } = stream;
const later = (ms = 1) => new Promise((resolve) => setTimeout(resolve, ms));

// Runs `body` with a log, lets everything settle, and compares.
async function trace(name, body, expected) {
  const seen = [];
  await body((...items) => seen.push(items.length === 1 ? items[0] : items));
  for (let i = 0; i < 100 && seen.length < expected.length; i++) await later();
  await later(2);
  assert.deepStrictEqual(seen, expected, `${name}: ${JSON.stringify(seen)}`);
}
const watch = (emitter, log, names) => {
  for (const name of names) emitter.on(name, (value) => log(value === undefined ? name : [name, value?.code ?? value?.message ?? String(value)]));
};

await trace("flowing", (log) => {
  const r = new Readable({ read() {} });
  watch(r, log, ["data", "end", "close"]);
  r.push("a");
  r.push("b");
  r.push(null);
}, [["data", "a"], ["data", "b"], "end", "close"]);

await trace("read in steps", (log) => {
  const r = new Readable({ read() {}, highWaterMark: 5 });
  r.on("readable", () => {
    log(r.readableLength);
    for (let chunk = r.read(2); chunk !== null; chunk = r.read(2)) log(String(chunk));
  });
  r.on("end", () => log("end"));
  r.push("abcde");
  r.push("f");
  setTimeout(() => r.push(null), 2);
}, [6, "ab", "cd", "ef", 0, "end"]);

await trace("backpressure and drain", (log) => {
  const w = new Writable({ highWaterMark: 3, write(chunk, encoding, done) { log(String(chunk)); setTimeout(done, 1); } });
  log(w.write("ab"));
  log(w.write("cd"));
  w.on("drain", () => { log("drain"); w.end("z"); });
  watch(w, log, ["finish", "close"]);
}, ["ab", true, false, "cd", "drain", "z", "finish", "close"]);

await trace("transform", (log) => {
  const t = new Transform({ transform(chunk, encoding, done) { done(null, String(chunk).toUpperCase()); }, flush(done) { this.push("!"); done(); } });
  watch(t, log, ["data", "prefinish", "finish", "end", "close"]);
  t.write("a");
  t.end("b");
}, [["data", "A"], ["data", "B"], ["data", "!"], "prefinish", "end", "finish", "close"]);

await trace("destroy with an error", async (log) => {
  const r = new Readable({ read() {} });
  watch(r, log, ["error", "close", "end"]);
  r.destroy(new Error("x"));
  log(r.destroyed);
  await later();
  log(r.readable, r.readableAborted, r.errored.message);
}, [true, ["error", "x"], "close", [false, true, "x"]]);

await trace("write after end", (log) => {
  const w = new Writable({ write(chunk, encoding, done) { done(); } });
  watch(w, log, ["error", "close", "finish"]);
  w.end();
  w.write("x", (error) => log(["callback", error.code]));
}, [["callback", "ERR_STREAM_WRITE_AFTER_END"], ["error", "ERR_STREAM_WRITE_AFTER_END"], "close"]);

await trace("end calls back once each", async (log) => {
  const w = new Writable({ write(chunk, encoding, done) { done(); } });
  w.end("a", () => log("first"));
  w.on("finish", () => log("finish"));
  await later();
  w.end((error) => log(error.code));
}, ["first", "finish", "ERR_STREAM_ALREADY_FINISHED"]);

await trace("a failing _final", (log) => {
  const w = new Writable({ write(chunk, encoding, done) { done(); }, final(done) { done(new Error("f")); } });
  watch(w, log, ["error", "close", "finish"]);
  w.end((error) => log(["end", error.message]));
}, [["error", "f"], "close", ["end", "f"]]);

await trace("late construction", (log) => {
  const w = new Writable({ construct(done) { log("construct"); setTimeout(done, 2); }, write(chunk, encoding, done) { log(String(chunk)); done(); } });
  w.write("a");
  w.end();
  w.on("finish", () => log("finish"));
}, ["construct", "a", "finish"]);

await trace("half open is off", (log) => {
  const d = new Duplex({ allowHalfOpen: false, read() { this.push(null); }, write(chunk, encoding, done) { done(); } });
  watch(d, log, ["end", "finish", "close"]);
  d.resume();
}, ["end", "finish", "close"]);

await trace("pause and resume", (log) => {
  const r = new Readable({ read() {} });
  watch(r, log, ["pause", "resume", "end"]);
  r.on("data", (chunk) => {
    log(String(chunk));
    r.pause();
    setTimeout(() => r.resume(), 1);
  });
  r.push("a");
  r.push("b");
  r.push(null);
}, ["resume", "a", "pause", "resume", "b", "pause", "end", "resume"]);

await trace("pipe", (log) => {
  const source = Readable.from(["a", "b"]);
  const through = new PassThrough({ objectMode: true });
  for (const name of ["pipe", "unpipe", "end", "finish"]) through.on(name, () => log(name));
  through.on("data", (chunk) => log(chunk));
  source.pipe(through);
}, ["pipe", "a", "b", "end", "finish", "unpipe"]);

await trace("a slow and a fast reader of one source", (log) => {
  const source = new Readable({ read() {} });
  const slow = new Writable({ highWaterMark: 1, write(chunk, encoding, done) { log(`slow ${chunk}`); setTimeout(done, 2); } });
  const fast = new Writable({ write(chunk, encoding, done) { log(`fast ${chunk}`); done(); } });
  source.pipe(slow);
  source.pipe(fast);
  source.push("a");
  source.push("b");
  source.push(null);
}, ["slow a", "fast a", "slow b", "fast b"]);

await trace("abort", (log) => {
  const control = new AbortController();
  const r = stream.addAbortSignal(control.signal, new Readable({ read() {} }));
  watch(r, log, ["error", "close"]);
  control.abort();
}, [["error", "ABORT_ERR"], "close"]);

await trace("misuse", (log) => {
  const w = new Writable({ write() {} });
  for (const value of [null, 5]) {
    try {
      w.write(value);
    } catch (error) {
      log(error.code);
    }
  }
  const r = new Readable({ read() {} });
  r.on("error", (error) => log(error.code));
  r.push(null);
  r.push("a");
}, ["ERR_STREAM_NULL_VALUES", "ERR_INVALID_ARG_TYPE", "ERR_STREAM_PUSH_AFTER_EOF"]);

// Characters are not torn by chunk borders.
{
  const r = new Readable({ read() {} });
  const euro = Buffer.from("é€");
  for (const [from, to] of [[0, 1], [1, 3], [3, 5]]) r.push(euro.subarray(from, to));
  r.push(null);
  r.setEncoding("utf8");
  assert.strictEqual((await r.toArray()).join(""), "é€");
  const hex = new Readable({ read() {}, encoding: "hex" });
  hex.push(Buffer.from("ab"));
  hex.push(null);
  assert.deepStrictEqual(await hex.toArray(), ["6162"]);
  const r2 = new Readable({ read() {} });
  r2.push("bc");
  r2.push(null);
  r2.unshift("a");
  assert.strictEqual(String(r2.read(2)), "ab");
  assert.strictEqual(String(r2.read()), "c");
}

// Async iteration: to the end, left early, failed.
{
  const r = new Readable({ read() {} });
  r.push("a");
  setTimeout(() => { r.push("b"); r.push(null); }, 2);
  const seen = [];
  for await (const chunk of r) seen.push(String(chunk));
  assert.deepStrictEqual(seen, ["a", "b"]);
  assert.strictEqual(r.destroyed, true);
  const early = Readable.from([1, 2, 3]);
  for await (const value of early) {
    assert.strictEqual(value, 1);
    break;
  }
  assert.strictEqual(early.destroyed, true);
  const failing = new Readable({ read() {} });
  setTimeout(() => failing.destroy(new Error("boom")), 2);
  await assert.rejects(async () => { for await (const chunk of failing) void chunk; }, /boom/);
}

// Helper methods.
{
  const numbers = () => Readable.from([1, 2, 3, 4]);
  assert.deepStrictEqual(await numbers().map((n) => n * 2).toArray(), [2, 4, 6, 8]);
  assert.deepStrictEqual(await numbers().filter((n) => n % 2).toArray(), [1, 3]);
  assert.deepStrictEqual(await numbers().take(2).toArray(), [1, 2]);
  assert.deepStrictEqual(await numbers().drop(2).toArray(), [3, 4]);
  assert.deepStrictEqual(await numbers().flatMap((n) => [n, n]).take(3).toArray(), [1, 1, 2]);
  assert.strictEqual(await numbers().reduce((a, b) => a + b), 10);
  assert.strictEqual(await numbers().reduce((a, b) => a + b, 5), 15);
  assert.strictEqual(await numbers().some((n) => n > 3), true);
  assert.strictEqual(await numbers().every((n) => n > 3), false);
  assert.strictEqual(await numbers().find((n) => n > 2), 3);
  const inOrder = await numbers().map(async (n) => { await later(5 - n); return n; }, { concurrency: 4 }).toArray();
  assert.deepStrictEqual(inOrder, [1, 2, 3, 4]);
  await assert.rejects(numbers().map((n) => { if (n === 2) throw new Error("m"); return n; }).toArray(), /m/);
  await assert.rejects(Readable.from([]).reduce((a) => a), { code: "ERR_MISSING_ARGS" });
}

// pipeline: generators, functions, failures, aborts; all parts are destroyed.
{
  const out = [];
  const count = await pipeline(["a", "b"], async function* twice(source) { for await (const x of source) yield x + x; }, async (source) => {
    for await (const x of source) out.push(x);
    return out.length;
  });
  assert.deepStrictEqual([out, count], [["aa", "bb"], 2]);
  let total = 0;
  let made = 0;
  await pipeline(new Readable({ read() { this.push(made++ < 200 ? Buffer.alloc(1000) : null); } }), new PassThrough(),
    new Writable({ write(chunk, encoding, done) { total += chunk.length; setImmediate(done); } }));
  assert.strictEqual(total, 200000);
  const source = Readable.from(["a", "b", "c"]);
  const sink = new Writable({ objectMode: true, write(chunk, encoding, done) { done(chunk === "b" ? new Error("bad") : null); } });
  await assert.rejects(pipeline(source, sink), /bad/);
  assert.deepStrictEqual([source.destroyed, sink.destroyed], [true, true]);
  const control = new AbortController();
  setTimeout(() => control.abort(), 2);
  await assert.rejects(pipeline(new Readable({ read() {} }), new PassThrough(), { signal: control.signal }), { name: "AbortError" });
  const cut = new Readable({ read() {} });
  setTimeout(() => cut.destroy(), 2);
  await assert.rejects(pipeline(cut, new PassThrough()), { code: "ERR_STREAM_PREMATURE_CLOSE" });
  assert.throws(() => stream.pipeline([() => {}], () => {}), { code: "ERR_MISSING_ARGS" });
}

// finished, also on what is finished already.
{
  const through = new PassThrough();
  through.end("a");
  through.resume();
  await finished(through);
  await finished(through);
  const r = new Readable({ read() {} });
  const waiting = assert.rejects(finished(r), { code: "ERR_STREAM_PREMATURE_CLOSE" });
  r.destroy();
  await waiting;
}

// Old ways of inheriting.
{
  function Counter() {
    Readable.call(this, { objectMode: true });
    this.n = 0;
  }
  Object.setPrototypeOf(Counter.prototype, Readable.prototype);
  Counter.prototype._read = function read() { this.push(this.n < 2 ? this.n++ : null); };
  assert.deepStrictEqual(await new Counter().toArray(), [0, 1]);
  const d = new Duplex({ read() {}, write() {} });
  assert.deepStrictEqual([d instanceof Writable, d instanceof Readable, new Readable() instanceof Writable], [true, true, false]);
}

// Web streams and whole values.
{
  const seen = [];
  for await (const chunk of Readable.toWeb(Readable.from(["a", "b"]))) seen.push(chunk);
  assert.deepStrictEqual(seen, ["a", "b"]);
  const web = new ReadableStream({ start(controller) { controller.enqueue(new Uint8Array([65])); controller.close(); } });
  assert.strictEqual(String(await buffer(Readable.fromWeb(web))), "A");
  assert.strictEqual(await text(Readable.from(["x", Buffer.from("y")])), "xy");
  assert.deepStrictEqual(await json(Readable.from(['{"a":', "1}"])), { a: 1 });
  const composed = stream.compose(async function* mark(source) { for await (const x of source) yield `${x}1`; }, new PassThrough({ objectMode: true }));
  composed.end("a");
  assert.deepStrictEqual(await composed.toArray(), ["a1"]);
  const upper = Duplex.from(async function* up(source) { for await (const x of source) yield String(x).toUpperCase(); });
  upper.end("q");
  assert.deepStrictEqual(await upper.toArray(), ["Q"]);
}
