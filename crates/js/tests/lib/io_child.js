// node:child_process with small programs of the system. Expected values were taken from Node 20.
import assert from "node:assert";
import child from "node:child_process";
import { Buffer } from "node:buffer";
import { promisify } from "node:util";

const closed = (process) => new Promise((resolve) => process.on("close", (...args) => resolve(args)));
const gather = (stream) => {
  let all = "";
  stream.on("data", (chunk) => { all += chunk; });
  return () => all;
};

// Events and output.
{
  const run = child.spawn("sh", ["-c", "echo out; echo err >&2; exit 3"]);
  const order = [];
  for (const name of ["spawn", "exit", "close"]) run.on(name, (...args) => order.push([name, ...args]));
  const [out, err] = [gather(run.stdout), gather(run.stderr)];
  await closed(run);
  assert.deepStrictEqual(order, [["spawn"], ["exit", 3, null], ["close", 3, null]]);
  assert.deepStrictEqual([out(), err(), run.exitCode, run.signalCode, run.killed], ["out\n", "err\n", 3, null, false]);
  assert.deepStrictEqual([run.spawnfile, run.spawnargs, typeof run.pid], ["sh", ["sh", "-c", "echo out; echo err >&2; exit 3"], "number"]);
}
// A program that is not there.
{
  const run = child.spawn("no-such-program-x", ["a"]);
  const error = await new Promise((resolve) => run.on("error", resolve));
  assert.deepStrictEqual([error.message, error.code, error.errno, error.syscall, error.path, error.spawnargs],
    ["spawn no-such-program-x ENOENT", "ENOENT", -2, "spawn no-such-program-x", "no-such-program-x", ["a"]]);
  assert.strictEqual(run.exitCode, -2);
}
// Standard input, kill, timeout, abort.
{
  const cat = child.spawn("cat");
  const out = gather(cat.stdout);
  cat.stdin.write("abc");
  cat.stdin.end("def");
  await closed(cat);
  assert.strictEqual(out(), "abcdef");
  const sleeper = child.spawn("sleep", ["30"]);
  sleeper.on("spawn", () => assert.strictEqual(sleeper.kill(), true));
  assert.deepStrictEqual(await closed(sleeper), [null, "SIGTERM"]);
  assert.deepStrictEqual([sleeper.killed, sleeper.kill()], [true, false]);
  assert.throws(() => sleeper.kill("SIGFOO"), { code: "ERR_UNKNOWN_SIGNAL" });
  assert.deepStrictEqual(await closed(child.spawn("sleep", ["30"], { timeout: 50, killSignal: "SIGKILL" })), [null, "SIGKILL"]);
  const control = new AbortController();
  const aborted = child.spawn("sleep", ["30"], { signal: control.signal });
  aborted.on("spawn", () => control.abort());
  const [error] = await Promise.all([new Promise((resolve) => aborted.on("error", resolve)), closed(aborted)]);
  assert.strictEqual(error.name, "AbortError");
}
// By its number, and as a group.
{
  const sleeper = child.spawn("sleep", ["30"], { detached: true });
  sleeper.on("spawn", () => {
    assert.strictEqual(process.kill(sleeper.pid, 0), true);
    process.kill(-sleeper.pid, "SIGTERM");
  });
  assert.deepStrictEqual(await closed(sleeper), [null, "SIGTERM"]);
  assert.throws(() => process.kill(sleeper.pid, 0), { code: "ESRCH" });
}
// stdio, shell, env, cwd.
{
  const quiet = child.spawn("echo", ["hi"], { stdio: "ignore" });
  assert.deepStrictEqual([quiet.stdin, quiet.stdout, quiet.stderr], [null, null, null]);
  assert.deepStrictEqual(await closed(quiet), [0, null]);
  const shell = child.spawn("echo $A && echo b", { shell: true, env: { ...process.env, A: "q" } });
  const out = gather(shell.stdout);
  await closed(shell);
  assert.deepStrictEqual([out(), shell.spawnfile], ["q\nb\n", "/bin/sh"]);
  const where = child.spawn("pwd", { cwd: "/" });
  const place = gather(where.stdout);
  await closed(where);
  assert.strictEqual(place(), "/\n");
  assert.deepStrictEqual(await closed(child.spawn("sh", ["-c", "echo unread; echo unread >&2"])), [0, null]);
}
// Both pipes full at the same time.
{
  const flood = child.spawn("sh", ["-c", "head -c 2000000 /dev/zero & head -c 2000000 /dev/zero >&2; wait"]);
  let [out, err] = [0, 0];
  flood.stdout.on("data", (chunk) => { out += chunk.length; });
  flood.stderr.on("data", (chunk) => { err += chunk.length; });
  await closed(flood);
  assert.deepStrictEqual([out, err], [2000000, 2000000]);
}
// exec and execFile.
{
  const exec = promisify(child.exec);
  assert.deepStrictEqual(await exec("echo a; echo b >&2"), { stdout: "a\n", stderr: "b\n" });
  await assert.rejects(exec("echo a; echo b >&2; exit 4"), (error) => {
    assert.deepStrictEqual([error.message, error.code, error.killed, error.signal, error.cmd, error.stdout, error.stderr],
      ["Command failed: echo a; echo b >&2; exit 4\nb\n", 4, false, null, "echo a; echo b >&2; exit 4", "a\n", "b\n"]);
    return true;
  });
  await assert.rejects(exec("sleep 20", { timeout: 50 }), { killed: true, signal: "SIGTERM", code: null });
  await assert.rejects(exec("yes | head -c 100000", { maxBuffer: 100 }), (error) => {
    assert.deepStrictEqual([error.code, error.name, error.message, error.stdout.length], ["ERR_CHILD_PROCESS_STDIO_MAXBUFFER", "RangeError", "stdout maxBuffer length exceeded", 100]);
    return true;
  });
  assert.ok(Buffer.isBuffer((await exec("printf hi", { encoding: "buffer" })).stdout));
  assert.strictEqual((await promisify(child.execFile)("printf", ["%s", "x y"])).stdout, "x y");
  await assert.rejects(promisify(child.execFile)("no-such-program-y", ["q"]), { code: "ENOENT", message: "spawn no-such-program-y ENOENT", cmd: "no-such-program-y q" });
}
// Sync forms.
{
  const both = child.spawnSync("sh", ["-c", "cat; echo e >&2; exit 5"], { input: "IN" });
  assert.deepStrictEqual([both.status, both.signal, both.stdout.toString(), both.stderr.toString(), both.output.length, both.error], [5, null, "IN", "e\n", 3, undefined]);
  assert.strictEqual(child.spawnSync("sh", ["-c", "printf é"], { encoding: "utf8" }).stdout, "é");
  const missing = child.spawnSync("no-such-program-z", ["z"]);
  assert.deepStrictEqual([missing.error.message, missing.error.code, missing.status, missing.stdout], ["spawnSync no-such-program-z ENOENT", "ENOENT", null, null]);
  const late = child.spawnSync("sleep", ["9"], { timeout: 50 });
  assert.deepStrictEqual([late.error.code, late.signal, late.status], ["ETIMEDOUT", "SIGTERM", null]);
  const shot = child.spawnSync("sh", ["-c", "kill -9 $$"]);
  assert.deepStrictEqual([shot.status, shot.signal], [null, "SIGKILL"]);
  assert.strictEqual(child.execSync("printf hi", { encoding: "utf8" }), "hi");
  assert.strictEqual(child.execSync("cat", { input: "zz" }).toString(), "zz");
  assert.throws(() => child.execSync("echo out; echo bad >&2; exit 7", { stdio: "pipe" }), (error) => {
    assert.deepStrictEqual([error.message, error.status, error.signal, error.stdout.toString()], ["Command failed: echo out; echo bad >&2; exit 7\nbad\n", 7, null, "out\n"]);
    return true;
  });
  assert.strictEqual(child.execFileSync("printf", ["%s", "q"], { encoding: "utf8" }), "q");
}
// Misuse.
assert.throws(() => child.spawn(""), { code: "ERR_INVALID_ARG_VALUE" });
assert.throws(() => child.spawn(5), { code: "ERR_INVALID_ARG_TYPE" });
assert.throws(() => child.spawn("a\0b"), { code: "ERR_INVALID_ARG_VALUE" });
assert.throws(() => child.spawn("true", [], { stdio: "zz" }), { code: "ERR_INVALID_ARG_VALUE" });
assert.throws(() => child.fork("x.js"), { code: "ERR_JACKFIELD_UNSUPPORTED" });
