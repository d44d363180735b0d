// node:process, which is also the global `process`. The environment starts with the few variables that every
// extension gets; another name asks the host once (policy decides) and a refusal reads as undefined. Changes stay in
// this extension. There is no process of its own: exit() ends the extension, signals cannot be sent, and stdin is empty.
import { signal as signalChild } from "jackfield:node/internal/child/registry";
import { begun, createRequire, info, isBuiltin, native, opSync, shared, soon } from "jackfield:host";
import { invalidArgType, nodeError, plainError, unsupported, validateFunction, validateString } from "jackfield:node/internal/errors";
import { signalNumbers } from "jackfield:node/internal/errno";
import { parseEnv } from "jackfield:node/internal/parse_env";
import { output, emptyInput } from "jackfield:node/internal/standard_streams";
import { EventEmitter } from "node:events";

export const version = "v22.19.0";
const engineVersions = Object.freeze({
  node: "22.19.0", jackfield: info.version, quickjs: "0.16", ares: "1.34.5", modules: "127", unicode: "16.0", uv: "1.51.0", v8: "12.4.254.21-node.33", zlib: "1.3.1",
});

// ---- environment ----

// Taken when it is first looked at: it is not there before the extension is, and most never look.
let taken;
const known = () => {
  shared.env ??= lookUp;
  return (taken ??= Object.assign(Object.create(null), info.env));
};
const absent = new Set();

function lookUp(name) {
  if (name in known()) return known()[name];
  if (typeof name !== "string" || name === "" || absent.has(name)) return undefined;
  try {
    const value = opSync("env", { name })?.value;
    if (typeof value === "string") return (known()[name] = value);
  } catch {
    // Refused, which an extension sees as a variable that is not set.
  }
  absent.add(name);
  return undefined;
}

const envText = (value) => {
  if (typeof value === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
  return String(value);
};

const environment = new Proxy(Object.create(null), {
  get: (_, name) => (typeof name === "symbol" ? undefined : name in Object.prototype && !(name in known()) ? Object.prototype[name] : lookUp(name)),
  has: (_, name) => typeof name === "string" && lookUp(name) !== undefined,
  set(_, name, value) {
    if (typeof name === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
    known()[name] = envText(value);
    absent.delete(name);
    return true;
  },
  deleteProperty(_, name) {
    delete known()[name];
    if (typeof name === "string") absent.add(name);
    return true;
  },
  defineProperty(_, name, descriptor) {
    if (!("value" in descriptor)) throw typeErrorOf("'process.env' does not accept an accessor(getter/setter) descriptor");
    known()[name] = envText(descriptor.value);
    absent.delete(name);
    return true;
  },
  getOwnPropertyDescriptor(_, name) {
    const value = typeof name === "string" ? lookUp(name) : undefined;
    return value === undefined ? undefined : { value, writable: true, enumerable: true, configurable: true };
  },
  ownKeys: () => Reflect.ownKeys(known()),
});
const typeErrorOf = (text) => nodeError(TypeError, "ERR_INVALID_OBJECT_DEFINE_PROPERTY", text);

// ---- ticks ----

// All ticks that are queued run as soon as what runs now has returned, with those that they add, before promises go on.
let ticks = [];
let scheduled = false;
const schedule = soon ?? globalThis.queueMicrotask;

function drain() {
  try {
    while (ticks.length > 0) {
      const batch = ticks;
      ticks = [];
      for (let i = 0; i < batch.length; i++) {
        let finished = false;
        try {
          batch[i]();
          finished = true;
        } finally {
          if (!finished) ticks = batch.slice(i + 1).concat(ticks);
        }
      }
    }
  } finally {
    scheduled = ticks.length > 0;
    if (scheduled) schedule(drain);
  }
}

let wrapTick = (fn) => fn;
// node:async_hooks asks to carry its context into ticks.
export const setTickWrapper = (wrap) => { wrapTick = wrap; };

export function nextTick(callback, ...args) {
  validateFunction(callback, "callback");
  const call = wrapTick(args.length === 0 ? callback : () => callback(...args));
  ticks.push(() => call());
  if (scheduled) return;
  scheduled = true;
  schedule(drain);
}

// ---- ending ----

// What exit() throws to leave the running code. The host that runs the extension knows it by its code.
export class ExtensionExit extends Error {
  constructor(code) {
    super(`the extension called process.exit(${code})`);
    this.name = "ExtensionExit";
    this.code = "ERR_JACKFIELD_EXIT";
    this.exitCode = code;
  }
}

const exitHooks = [];
export const onExit = (hook) => { exitHooks.push(hook); };

const exitNumber = (code) => {
  if (code === undefined || code === null) return undefined;
  const number = typeof code === "string" && code !== "" ? Number(code) : code;
  if (!Number.isInteger(number)) throw invalidArgType("code", "integer", code);
  return number;
};

export function exit(code) {
  const number = exitNumber(code) ?? exitNumber(target.exitCode) ?? 0;
  target.exitCode = number;
  if (!target._exiting) {
    target._exiting = true;
    target.emit("exit", number);
  }
  const left = exitNumber(target.exitCode) ?? 0;
  for (const hook of exitHooks) hook(left);
  try {
    native("exit", `the extension called process.exit(${left})`);
  } catch {
    // Not every engine has it; the thrown error below says the same.
  }
  // The engine stops a script at its next look at the clock, which a loop makes come before any catch of the extension.
  for (let i = 0; i < 1e6; i++);
  throw new ExtensionExit(left);
}

export function abort() {
  return exit(134);
}

export function kill(pid, signal = "SIGTERM") {
  if (typeof pid !== "number") throw invalidArgType("pid", "number", pid);
  const signals = signalNumbers(info.platform);
  if (typeof signal === "string" && !(signal in signals)) throw nodeError(TypeError, "ERR_UNKNOWN_SIGNAL", `Unknown signal: ${signal}`);
  if (pid === info.pid && signal === 0) return true;
  const told = signalChild(pid, signal);
  if (told === "sent") return true;
  if (told === "gone") throw Object.assign(new Error("kill ESRCH"), { errno: -3, code: "ESRCH", syscall: "kill" });
  const error = new Error(`kill EPERM: an extension cannot signal process ${pid}; end children with their own kill(), or run the kill program if the exec capability is granted`);
  throw Object.assign(error, { errno: -1, code: "EPERM", syscall: "kill" });
}

// ---- directory ----

let directory = info.project;
export const cwd = () => directory;
// Only names are resolved against it; what may be read or written is the host's decision at each call.
export function chdir(path) {
  validateString(path, "directory");
  const parts = [];
  for (const part of (path.startsWith("/") ? path : `${directory}/${path}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  const next = `/${parts.join("/")}`;
  let kind;
  try {
    kind = opSync("fs", { op: "stat", path: next }).kind;
  } catch (cause) {
    const code = cause?.code === "denied" ? "EACCES" : cause?.details?.errno ?? "ENOENT";
    const text = `${code}: ${code === "ENOENT" ? "no such file or directory" : cause.message}, chdir ${directory} -> '${path}'`;
    throw Object.assign(new Error(text), { errno: code === "EACCES" ? -13 : -2, code, syscall: "chdir", path: directory, dest: path });
  }
  if (kind !== "dir") {
    throw Object.assign(new Error(`ENOTDIR: not a directory, chdir ${directory} -> '${path}'`), { errno: -20, code: "ENOTDIR", syscall: "chdir", path: directory, dest: path });
  }
  directory = next;
}

// ---- time and resources ----

export function hrtime(previous) {
  const [seconds, nanos] = native("hrtime");
  if (previous === undefined) return [seconds, nanos];
  if (!Array.isArray(previous)) throw invalidArgType("time", "Array", previous);
  const nano = nanos - previous[1];
  return nano < 0 ? [seconds - previous[0] - 1, nano + 1e9] : [seconds - previous[0], nano];
}
hrtime.bigint = () => {
  const [seconds, nanos] = native("hrtime");
  return BigInt(seconds) * 1000000000n + BigInt(nanos);
};
export const uptime = () => native("uptime");
const memory = () => {
  try {
    return native("memory");
  } catch {
    return {};
  }
};
export const memoryUsage = () => {
  const { rss = 16777216, heap_total: heapTotal = 4194304, heap_used: heapUsed = 2097152 } = memory();
  return { rss, heapTotal, heapUsed, external: 0, arrayBuffers: 0 };
};
memoryUsage.rss = () => memoryUsage().rss;
export const cpuUsage = (previous) => {
  const user = Math.round(uptime() * 1000);
  return { user: user - (previous?.user ?? 0), system: 0 - (previous?.system ?? 0) };
};
export const resourceUsage = () => ({
  userCPUTime: cpuUsage().user, systemCPUTime: 0, maxRSS: Math.round(memoryUsage().rss / 1024), sharedMemorySize: 0, unsharedDataSize: 0,
  unsharedStackSize: 0, minorPageFault: 0, majorPageFault: 0, swappedOut: 0, fsRead: 0, fsWrite: 0, ipcSent: 0,
  ipcReceived: 0, signalsCount: 0, voluntaryContextSwitches: 0, involuntaryContextSwitches: 0,
});

// ---- warnings ----

export function emitWarning(warning, typeOrOptions, code, ctor) {
  let type = typeOrOptions;
  let detail;
  let id = code;
  if (type !== null && typeof type === "object") ({ type, code: id, detail } = type);
  else if (typeof type === "function") type = undefined;
  if (typeof id === "function") id = undefined;
  if (type !== undefined) validateString(type, "type");
  let made = warning;
  if (typeof warning === "string") {
    made = new Error(warning);
    made.name = type || "Warning";
    if (id !== undefined) made.code = id;
    if (detail !== undefined) made.detail = detail;
    Error.captureStackTrace?.(made, ctor ?? emitWarning);
  } else if (!(warning instanceof Error)) throw invalidArgType("warning", ["Error", "string"], warning);
  if (made.name === "DeprecationWarning" && target.noDeprecation) return;
  if (made.name === "DeprecationWarning" && target.throwDeprecation) throw made;
  nextTick(() => {
    if (!target.noWarnings) target.stderr.write(`(node:${info.pid}) ${made.code ? `[${made.code}] ` : ""}${made.name}: ${made.message}${made.detail ? `\n${made.detail}` : ""}\n`);
    target.emit("warning", made);
  });
}

// ---- identity ----

let mask = 0o22;
export function umask(value) {
  const before = mask;
  if (value !== undefined) mask = (typeof value === "string" ? Number.parseInt(value, 8) : value) & 0o777;
  return before;
}
const ids = { uid: info.uid ?? 1000, gid: info.gid ?? 1000 };
export const getuid = () => ids.uid;
export const geteuid = () => ids.uid;
export const getgid = () => ids.gid;
export const getegid = () => ids.gid;
export const getgroups = () => [ids.gid];
const refuseIdentity = (name) => () => { throw unsupported("process", `${name}()`, "an extension does not own the process that it runs in"); };

export const argv = [`${info.home}/.jackfield/node`, info.entry];
export const argv0 = "node";
export const execPath = argv[0];
export const execArgv = [];
export const { platform, arch } = info;
/** Another one in every process, and a loaded extension may wake up in any. */
export let pid;
begun(() => { pid = info.pid; });
export const ppid = info.ppid ?? 1;
export const env = environment;
export const versions = engineVersions;
export const release = Object.freeze({ name: "node", lts: "Jod" });
export const config = Object.freeze({ target_defaults: Object.freeze({}), variables: Object.freeze({ napi_build_version: "0" }) });
export const features = Object.freeze({
  inspector: false, debug: false, uv: false, ipv6: true, tls_alpn: false, tls_sni: false, tls_ocsp: false, tls: false, cached_builtins: true,
  require_module: true, typescript: "transform",
});
export const allowedNodeEnvironmentFlags = new Set();

export function getBuiltinModule(id) {
  validateString(id, "id");
  return isBuiltin(id) ? createRequire(info.entry)(id) : undefined;
}
export function loadEnvFile(path = ".env") {
  const full = String(path).startsWith("/") ? String(path) : `${directory}/${path}`;
  const { content } = opSync("fs", { op: "read", path: full, encoding: "utf8" });
  for (const [name, value] of Object.entries(parseEnv(content))) if (!(name in environment)) environment[name] = value;
}

// ---- the object ----

// The EventEmitter is mixed in without running anything at import time that most extensions never need.
const target = Object.create(Object.create(EventEmitter.prototype, {
  constructor: { value: function process() {}, configurable: true, writable: true },
  [Symbol.toStringTag]: { value: "process", configurable: true },
}));
const members = {
  version, versions, arch, platform, release, argv, argv0, execPath, execArgv, env, ppid, features, config,
  allowedNodeEnvironmentFlags, title: "node", debugPort: 9229, exitCode: undefined, _exiting: false, nextTick, exit, reallyExit: exit, abort, kill,
  cwd, chdir, hrtime, uptime, memoryUsage, cpuUsage, resourceUsage, emitWarning, umask, getuid, geteuid, getgid, getegid,
  getgroups, getBuiltinModule, loadEnvFile,
  setuid: refuseIdentity("setuid"), setgid: refuseIdentity("setgid"), seteuid: refuseIdentity("seteuid"),
  setegid: refuseIdentity("setegid"), setgroups: refuseIdentity("setgroups"), initgroups: refuseIdentity("initgroups"),
  binding: refuseIdentity("binding"), dlopen: refuseIdentity("dlopen"),
  constrainedMemory: () => 0, availableMemory: () => 4 * 2 ** 30, getActiveResourcesInfo: () => [],
  _getActiveHandles: () => [], _getActiveRequests: () => [], setSourceMapsEnabled() {}, sourceMapsEnabled: true,
  setUncaughtExceptionCaptureCallback() {}, hasUncaughtExceptionCaptureCallback: () => false, moduleLoadList: [],
  assert(value, message) { if (!value) throw plainError("ERR_ASSERTION", message ?? "assertion error"); },
  report: { getReport: () => ({ header: { nodejsVersion: version, platform, arch }, javascriptHeap: {} }), writeReport: refuseIdentity("report.writeReport") },
};
Object.assign(target, members);
Object.defineProperty(target, "pid", { get: () => pid, enumerable: true, configurable: true });
let streams;
const standard = () => (streams ??= { stdout: output("stdout"), stderr: output("stderr"), stdin: emptyInput() });
for (const name of ["stdout", "stderr", "stdin"]) {
  Object.defineProperty(target, name, { get: () => standard()[name], set(value) { standard()[name] = value; }, enumerable: true, configurable: true });
}
export const stdout = new Proxy({}, forward("stdout"));
export const stderr = new Proxy({}, forward("stderr"));
export const stdin = new Proxy({}, forward("stdin"));
function forward(name) {
  return {
    get: (_, key) => {
      const value = standard()[name][key];
      return typeof value === "function" ? value.bind(standard()[name]) : value;
    },
    set: (_, key, value) => Reflect.set(standard()[name], key, value),
    has: (_, key) => key in standard()[name],
    getPrototypeOf: () => Object.getPrototypeOf(standard()[name]),
  };
}
export const title = "node";
const bound = (name) => (...args) => target[name](...args);
export const on = bound("on");
export const once = bound("once");
export const off = bound("off");
export const emit = bound("emit");
export const addListener = on;
export const removeListener = off;
export const removeAllListeners = bound("removeAllListeners");
export const listeners = bound("listeners");
export const listenerCount = bound("listenerCount");
// The engine takes the global `process` by this name.
export { target as process };
export default target;
