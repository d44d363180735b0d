// What all ways to start a program share: arguments, shell, environment, signals and stdio as the caller gave them.
import { constants } from "node:os";
import process from "node:process";
import { toPath } from "jackfield:node/internal/fs/core";
import { invalidArgType, invalidArgValue, nodeError, outOfRange, unsupported } from "jackfield:node/internal/io_errors";

export function signalName(signal) {
  if (signal === undefined || signal === null) return "SIGTERM";
  const { signals } = constants;
  if (typeof signal === "number") {
    if (signal === 0) return 0;
    const name = Object.keys(signals).find((key) => signals[key] === signal);
    if (name) return name;
  } else if (typeof signal === "string") {
    const upper = signal.toUpperCase();
    if (upper in signals) return upper;
  } else {
    throw invalidArgType("signal", "one of type string or number", signal);
  }
  throw nodeError(TypeError, "ERR_UNKNOWN_SIGNAL", `Unknown signal: ${signal}`);
}

function noNul(value, name) {
  if (value.includes("\0")) throw invalidArgValue(name, value, "must be a string without null bytes");
}

/** Sorts out (file, args, options) into what the host is asked, and Node's view of it. */
export function normalize(file, args, options) {
  if (typeof file !== "string") throw invalidArgType("file", "of type string", file);
  noNul(file, "file");
  if (file.length === 0) throw invalidArgValue("file", file, "cannot be empty");
  if (Array.isArray(args)) args = args.map((arg) => `${arg}`);
  else if (args == null) args = [];
  else if (typeof args !== "object") throw invalidArgType("args", "of type object", args);
  else {
    options = args;
    args = [];
  }
  args.forEach((arg, index) => noNul(arg, `args[${index}]`));
  if (options === undefined) options = {};
  else if (options === null || typeof options !== "object") throw invalidArgType("options", "of type object", options);
  let cwd = options.cwd;
  if (cwd != null) cwd = toPath(cwd, "options.cwd");
  for (const name of ["detached", "windowsHide"]) {
    if (options[name] != null && typeof options[name] !== "boolean") throw invalidArgType(`options.${name}`, "of type boolean", options[name]);
  }
  if (options.shell != null && typeof options.shell !== "boolean" && typeof options.shell !== "string") {
    throw invalidArgType("options.shell", "of type boolean or string", options.shell);
  }
  if (options.timeout != null && !(Number.isInteger(options.timeout) && options.timeout >= 0)) {
    throw typeof options.timeout === "number" ? outOfRange("timeout", "an unsigned integer", options.timeout) : invalidArgType("timeout", "of type number", options.timeout);
  }
  if (options.uid != null || options.gid != null) throw unsupported("starting a program as another user (options.uid, options.gid)");
  const spawnargs = [options.argv0 ?? file, ...args];
  let command = file;
  let list = args;
  if (options.shell) {
    command = typeof options.shell === "string" ? options.shell : "/bin/sh";
    list = ["-c", [file, ...args].join(" ")];
    spawnargs.splice(0, spawnargs.length, options.argv0 ?? command, ...list);
  }
  const params = { command, args: list, encoding: "base64", raw: true };
  if (cwd != null && cwd !== "") params.cwd = cwd;
  else if (process.cwd) params.cwd = process.cwd();
  params.env = environment(options.env ?? process.env);
  if (options.env != null) params.clear_env = true;
  if (options.detached) params.detached = true;
  return { params, options, spawnfile: command, spawnargs };
}

function environment(source) {
  const env = {};
  for (const key in source) {
    const value = source[key];
    if (value === undefined) continue;
    noNul(`${key}${value}`, `options.env['${key}']`);
    env[key] = `${value}`;
  }
  return env;
}

const WORDS = new Set(["pipe", "overlapped", "ignore", "inherit"]);

/** stdio as a list of "pipe", "ignore", "inherit", a descriptor number or a stream. */
export function toStdio(stdio) {
  if (stdio === undefined || stdio === null) stdio = "pipe";
  if (typeof stdio === "string") {
    if (!WORDS.has(stdio)) throw invalidArgValue("stdio", stdio);
    return [stdio, stdio, stdio].map((word) => (word === "overlapped" ? "pipe" : word));
  }
  if (!Array.isArray(stdio)) throw invalidArgValue("stdio", stdio);
  const list = stdio.map((item, index) => {
    if (item === undefined || item === null) return index < 3 ? "pipe" : "ignore";
    if (item === "ipc") throw unsupported("a channel between programs (stdio 'ipc')");
    if (typeof item === "string" && WORDS.has(item)) item = item === "overlapped" ? "pipe" : item;
    else if (typeof item === "number" && Number.isInteger(item) && item >= 0) return item === index && index < 3 ? "inherit" : item;
    else if (item !== null && typeof item === "object") {
      if (typeof item.fd === "number" && item.fd === index && index < 3) return "inherit";
      if (index === 0 ? typeof item.pipe === "function" : typeof item.write === "function") return item;
      throw invalidArgValue("stdio", item);
    } else throw invalidArgValue("stdio", item);
    if (index > 2 && item === "pipe") throw unsupported(`a pipe as descriptor ${index} of a child`, "only 0, 1 and 2 are passed on");
    return item;
  });
  while (list.length < 3) list.push("pipe");
  return list;
}

/** Where output goes that the caller does not read himself. */
export function outlet(target, index, writeSync) {
  if (target === "ignore" || target === "pipe") return null;
  if (target === "inherit") target = index;
  if (target === 1) return (bytes) => process.stdout.write(bytes);
  if (target === 2) return (bytes) => process.stderr.write(bytes);
  if (typeof target === "number") return (bytes) => writeSync(target, bytes);
  return (bytes) => target.write(bytes);
}
