// How a file operation runs: each is a generator that yields host calls, so that one text serves the sync, the
// callback and the promise form. Also here: what a path, an encoding, a flag and a time may be. Relative paths
// count from the current directory of `process`. A path given as bytes has to be UTF-8.
import { op, opSync, native } from "jackfield:host";
import process, { nextTick } from "node:process";
import { Buffer } from "node:buffer";
import { fileURLToPath } from "node:url";
import { constants } from "jackfield:node/internal/fs/constants";
import { abortError, fromHost, invalidArgType, invalidArgValue, needFunction } from "jackfield:node/internal/io_errors";

/** A host call to make: what is asked, and what Node would call it in an error. */
export function ask(params, syscall, path, dest) {
  return { params, syscall, path, dest };
}

/** A promise to wait for (only in the asynchronous forms). */
export function waitFor(promise) {
  return { wait: promise };
}

export function runSync(steps) {
  let step = steps.next();
  while (!step.done) {
    const { params, syscall, path, dest, wait } = step.value;
    let result;
    try {
      if (wait) throw invalidArgType("filter", "a function that answers at once in the sync form", wait);
      result = opSync("fs", params);
    } catch (error) {
      step = steps.throw(fromHost(error, syscall, path, dest));
      continue;
    }
    step = steps.next(result);
  }
  return step.value;
}

async function drive(steps, step, signal) {
  while (!step.done) {
    if (signal?.aborted) throw abortError(signal);
    const { params, syscall, path, dest, wait } = step.value;
    let result;
    try {
      result = wait ? await wait : await op("fs", params, signal ? { signal } : undefined);
    } catch (error) {
      if (signal?.aborted) throw abortError(signal);
      step = steps.throw(fromHost(error, syscall, path, dest));
      continue;
    }
    step = steps.next(result);
  }
  return step.value;
}

export async function run(steps, signal) {
  return drive(steps, steps.next(), signal);
}

/** The callback form. Wrong arguments throw at once, as in Node; all else arrives in the callback. */
export function runCallback(steps, callback, signal) {
  let first;
  try {
    first = steps.next();
  } catch (error) {
    if (typeof error?.code === "string" && error.code.startsWith("ERR_") && !error.code.startsWith("ERR_FS_")) throw error;
    nextTick(callback, error);
    return;
  }
  drive(steps, first, signal).then(
    (value) => (value === undefined ? nextTick(callback, null) : nextTick(callback, null, value)),
    (error) => nextTick(callback, error),
  );
}

/** Makes the callback form of an operation, which is looked up at the call: the callback is the last argument. */
export function callbackForm(name, find) {
  const form = function (...args) {
    const callback = needFunction(typeof args[args.length - 1] === "function" ? args.pop() : undefined);
    runCallback(find()(...args), callback, args.find((arg) => arg?.signal)?.signal);
  };
  Object.defineProperty(form, "name", { value: name });
  return form;
}

/** A path argument as text. */
export function toPath(value, name = "path") {
  let path = value;
  if (typeof value !== "string") {
    if (value instanceof Uint8Array) path = native("utf8_decode", value, false, true);
    else if (value !== null && typeof value === "object" && typeof value.href === "string" && typeof value.protocol === "string") path = fileURLToPath(value);
    else throw invalidArgType(name, "of type string or an instance of Buffer or URL", value);
  }
  if (path.includes("\0")) throw invalidArgValue(name, value, "must be a string, Uint8Array, or URL without null bytes");
  return path;
}

/** The path as the host gets it. */
export function place(path) {
  if (path.charCodeAt(0) === 47) return path;
  if (path === "") return "";
  const cwd = process.cwd();
  return cwd === "/" ? `/${path}` : `${cwd}/${path}`;
}

export function checkEncoding(encoding) {
  if (encoding == null || encoding === "utf8" || encoding === "utf-8" || encoding === "buffer") return encoding;
  if (typeof encoding !== "string" || !Buffer.isEncoding(encoding)) throw invalidArgValue("encoding", encoding, "is invalid encoding");
  return encoding;
}

/** Options that may be an object, an encoding or nothing. */
export function toOptions(options, defaults = {}) {
  if (options == null || typeof options === "function") return defaults;
  if (typeof options === "string") {
    checkEncoding(options);
    return { ...defaults, encoding: options };
  }
  if (typeof options !== "object") throw invalidArgType("options", "one of type string or object", options);
  checkEncoding(options.encoding);
  if (options.signal != null && (typeof options.signal !== "object" || !("aborted" in options.signal))) {
    throw invalidArgType("options.signal", "an instance of AbortSignal", options.signal);
  }
  return { ...defaults, ...options };
}

/** Bytes from the host in the form that was asked for. */
export function decode(bytes, encoding) {
  if (encoding === "utf8" || encoding === "utf-8") return typeof bytes === "string" ? bytes : native("utf8_decode", bytes, false, true);
  const buffer = typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return encoding && encoding !== "buffer" ? buffer.toString(encoding) : buffer;
}

/** A name or path in the encoding that was asked for. */
export function encodeName(name, encoding) {
  if (!encoding || encoding === "utf8" || encoding === "utf-8") return name;
  const buffer = Buffer.from(name);
  return encoding === "buffer" ? buffer : buffer.toString(encoding);
}

/** What is to be written, as text (UTF-8) or bytes. */
export function toData(data, encoding, name = "data") {
  if (typeof data === "string") {
    return !encoding || encoding === "utf8" || encoding === "utf-8" ? data : Buffer.from(data, encoding);
  }
  if (data instanceof Uint8Array) return data;
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw invalidArgType(name, "of type string or an instance of Buffer, TypedArray, or DataView", data);
}

export function toBytes(data, encoding) {
  const value = toData(data, encoding, "buffer");
  return typeof value === "string" ? native("utf8_encode", value) : value;
}

const FLAGS = {
  r: constants.O_RDONLY, rs: constants.O_RDONLY | constants.O_SYNC, "r+": constants.O_RDWR, "rs+": constants.O_RDWR | constants.O_SYNC,
  w: constants.O_TRUNC | constants.O_CREAT | constants.O_WRONLY, wx: constants.O_TRUNC | constants.O_CREAT | constants.O_WRONLY | constants.O_EXCL,
  "w+": constants.O_TRUNC | constants.O_CREAT | constants.O_RDWR, "wx+": constants.O_TRUNC | constants.O_CREAT | constants.O_RDWR | constants.O_EXCL,
  a: constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, ax: constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_EXCL,
  as: constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_SYNC,
  "a+": constants.O_APPEND | constants.O_CREAT | constants.O_RDWR, "ax+": constants.O_APPEND | constants.O_CREAT | constants.O_RDWR | constants.O_EXCL,
  "as+": constants.O_APPEND | constants.O_CREAT | constants.O_RDWR | constants.O_SYNC,
};
for (const [alias, name] of [["sr", "rs"], ["sr+", "rs+"], ["xw", "wx"], ["xw+", "wx+"], ["xa", "ax"], ["xa+", "ax+"], ["sa", "as"], ["sa+", "as+"]]) FLAGS[alias] = FLAGS[name];

/** Open flags, taken apart. */
export function toFlags(flags, name = "flags") {
  const bits = flags == null ? constants.O_RDONLY : typeof flags === "number" ? flags : Object.hasOwn(FLAGS, flags) ? FLAGS[flags] : undefined;
  if (bits === undefined) throw invalidArgValue(name, flags);
  const access = bits & 3;
  return {
    read: access === constants.O_RDONLY || access === constants.O_RDWR,
    write: access === constants.O_WRONLY || access === constants.O_RDWR,
    create: (bits & constants.O_CREAT) !== 0,
    exclusive: (bits & constants.O_EXCL) !== 0,
    truncate: (bits & constants.O_TRUNC) !== 0,
    append: (bits & constants.O_APPEND) !== 0,
    directory: (bits & constants.O_DIRECTORY) !== 0,
    nofollow: (bits & constants.O_NOFOLLOW) !== 0,
  };
}

/** A file mode given as a number or an octal text. */
export function toMode(value, name = "mode") {
  if (value == null) return undefined;
  let mode = value;
  if (typeof value === "string") {
    if (!/^[0-7]+$/.test(value)) throw invalidArgValue(name, value, "must be a 32-bit unsigned integer or an octal string");
    mode = Number.parseInt(value, 8);
  }
  if (typeof mode !== "number") throw invalidArgType(name, "of type number", value);
  if (!Number.isInteger(mode) || mode < 0 || mode > 0xffffffff) throw invalidArgValue(name, value, "must be a 32-bit unsigned integer or an octal string");
  return mode;
}

/** A time in milliseconds from seconds, a numeric text or a Date. */
export function toTime(value) {
  if (typeof value === "string" && +value == value) return +value * 1000;
  if (Number.isFinite(value)) return value < 0 ? Date.now() : value * 1000;
  if (value instanceof Date) return value.getTime();
  throw invalidArgType("time", "an instance of Date or an Time in seconds", value);
}
