// node:process, node:os, node:tty, node:module, node:perf_hooks, node:v8, and the modules that only refuse.
import assert from "node:assert";
import { Buffer } from "node:buffer";
import cluster from "node:cluster";
import module, { builtinModules, createRequire, isBuiltin } from "node:module";
import os from "node:os";
import { createHistogram, performance, timerify } from "node:perf_hooks";
import process, { argv, cwd, env, nextTick } from "node:process";
import repl from "node:repl";
import tty from "node:tty";
import v8 from "node:v8";
import vm from "node:vm";
import wasi from "node:wasi";
import { Worker, isMainThread } from "node:worker_threads";

assert.strictEqual(process.version, "v22.19.0");
assert.strictEqual(process.versions.node, "22.19.0");
assert.strictEqual(cwd(), process.cwd());
assert.strictEqual(process.cwd()[0], "/");
assert.strictEqual(argv, process.argv);
assert.strictEqual(nextTick, process.nextTick);
assert.ok(["linux", "darwin"].includes(process.platform));
assert.ok(Number.isInteger(process.pid));
assert.strictEqual(Object.prototype.toString.call(process), "[object process]");
assert.strictEqual(globalThis.process, process);

// The environment.
assert.strictEqual(typeof env.HOME, "string");
assert.strictEqual(env.JACKFIELD_NO_SUCH_NAME, undefined);
assert.strictEqual("JACKFIELD_NO_SUCH_NAME" in env, false);
env.JACKFIELD_X = 5;
assert.strictEqual(env.JACKFIELD_X, "5");
assert.ok(Object.keys(env).includes("JACKFIELD_X"));
assert.strictEqual({ ...env }.JACKFIELD_X, "5");
assert.strictEqual(delete env.JACKFIELD_X, true);
assert.strictEqual(env.JACKFIELD_X, undefined);
env.JACKFIELD_U = undefined;
assert.strictEqual(env.JACKFIELD_U, "undefined");
assert.strictEqual(env.hasOwnProperty("HOME"), true);
assert.throws(() => { env[Symbol("s")] = "x"; }, TypeError);

// Time.
const before = process.hrtime();
const [seconds, nanos] = process.hrtime(before);
assert.ok(seconds >= 0 && nanos >= 0 && nanos < 1e9);
assert.strictEqual(typeof process.hrtime.bigint(), "bigint");
assert.ok(process.uptime() >= 0);
assert.ok(process.memoryUsage().rss > 0 && process.memoryUsage.rss() > 0);
assert.ok(process.cpuUsage().user >= 0);

// Events and warnings.
const warning = new Promise((resolve) => process.once("warning", resolve));
process.emitWarning("careful", { type: "Custom", code: "C1", detail: "more" });
const { name, message, code, detail } = await warning;
assert.deepStrictEqual([name, message, code, detail], ["Custom", "careful", "C1", "more"]);
assert.throws(() => process.emitWarning(5), { code: "ERR_INVALID_ARG_TYPE" });
assert.throws(() => process.kill(1, "SIGTERM"), { code: "EPERM", syscall: "kill" });
assert.throws(() => process.kill(1, "SIGNOPE"), { code: "ERR_UNKNOWN_SIGNAL" });
assert.throws(() => process.setuid(0), { code: "ERR_JACKFIELD_UNSUPPORTED" });
assert.throws(() => process.chdir("/no/such/directory/at/all"), { code: "ENOENT", syscall: "chdir" });
const home = process.cwd();
process.chdir("/");
assert.strictEqual(process.cwd(), "/");
process.chdir(home);
assert.strictEqual(process.umask(0o77), 0o22);
assert.strictEqual(process.umask(), 0o77);

// Streams.
assert.strictEqual(process.stdout.isTTY, false);
assert.strictEqual(process.stdout.columns, 80);
assert.strictEqual(process.stdout.write("a line\nand the rest"), true);
assert.strictEqual(await new Promise((resolve) => process.stderr.write("x\n", () => resolve("written"))), "written");
let input = "";
for await (const chunk of process.stdin) input += chunk;
assert.strictEqual(input, "");
await new Promise((resolve) => process.stdin.on("end", resolve));
assert.strictEqual(tty.isatty(1), false);
assert.throws(() => new tty.ReadStream(0), { code: "ERR_JACKFIELD_UNSUPPORTED" });

// os
assert.strictEqual(os.EOL, "\n");
assert.strictEqual(os.platform(), process.platform);
assert.strictEqual(`${os.arch}`, process.arch);
assert.strictEqual(os.constants.signals.SIGKILL, 9);
assert.strictEqual(os.constants.errno.ENOENT, 2);
assert.strictEqual(os.userInfo().homedir, os.homedir());
assert.ok(os.cpus().length >= 1 && os.totalmem() > 0 && os.tmpdir().startsWith("/"));
assert.strictEqual(os.type(), process.platform === "darwin" ? "Darwin" : "Linux");

// module
assert.ok(builtinModules.includes("path"));
assert.strictEqual(isBuiltin("node:path"), true);
assert.strictEqual(isBuiltin("nope"), false);
assert.strictEqual(createRequire("/x/y.js")("node:path").join("a", "b"), "a/b");
assert.strictEqual(createRequire(new URL("file:///x/y.js"))("os").EOL, "\n");
assert.throws(() => createRequire("relative"), { code: "ERR_INVALID_ARG_VALUE" });
assert.throws(() => module.register("x"), { code: "ERR_JACKFIELD_UNSUPPORTED" });

// perf_hooks
assert.ok(performance.now() > 0);
const histogram = createHistogram();
for (const value of [1, 2, 3, 4]) histogram.record(value);
assert.deepStrictEqual([histogram.min, histogram.max, histogram.mean, histogram.count, histogram.percentile(50)], [1, 4, 2.5, 4, 2]);
assert.strictEqual(timerify((x) => x + 1)(1), 2);

// v8: bytes and back, with cycles.
const source = { a: [1, , -0, NaN], m: new Map([["k", new Set([1n])]]), d: new Date(5), r: /x/g, u: undefined, b: new Uint8Array([1, 2]), e: new RangeError("e") };
source.self = source;
const copy = v8.deserialize(v8.serialize(source));
assert.ok(Buffer.isBuffer(v8.serialize(1)));
assert.strictEqual(copy.self, copy);
delete source.self;
delete copy.self;
assert.deepStrictEqual(copy, source);
assert.throws(() => v8.serialize(() => {}), { code: "ERR_DATA_CLONE" });

// What cannot work says so when it is used, and names the module.
const refusals = [
  () => vm.runInNewContext("1"), () => new vm.Script("1"), () => new Worker("x"), () => cluster.fork(), () => repl.start(),
  () => new wasi.WASI({}), () => v8.getHeapSnapshot(),
];
for (const refusal of refusals) assert.throws(refusal, { code: "ERR_JACKFIELD_UNSUPPORTED", message: /of node:\w+ is not available in this runtime: / });
assert.strictEqual(isMainThread, true);
assert.strictEqual(cluster.isPrimary, true);
for (const name of ["inspector", "inspector/promises", "sea", "trace_events", "test", "test/reporters", "domain", "constants", "sys", "diagnostics_channel"]) {
  assert.ok(await import(`node:${name}`), name);
}
