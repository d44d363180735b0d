// Errors of the I/O modules in Node's shape: system errors (code, errno, syscall, path, dest, message) made from
// what a host call threw, and the ERR_* errors of the argument checks. The numbers are those of the platform that
// the extension runs on. Only the codes that file, process and network calls can give are listed; another name
// keeps its code and gets the number -4094, which is what libuv uses for an unknown one.
import { info } from "jackfield:host";
import { inspect } from "node:util";

// name: [number on Linux, number on macOS, text]
const CODES = {
  E2BIG: [7, 7, "argument list too long"],
  EACCES: [13, 13, "permission denied"],
  EADDRINUSE: [98, 48, "address already in use"],
  EADDRNOTAVAIL: [99, 49, "address not available"],
  EAFNOSUPPORT: [97, 47, "address family not supported"],
  EAGAIN: [11, 35, "resource temporarily unavailable"],
  EAI_AGAIN: [3001, 3001, "temporary failure"],
  ENOTFOUND: [3008, 3008, "unknown node or service"],
  EALREADY: [114, 37, "connection already in progress"],
  EBADF: [9, 9, "bad file descriptor"],
  EBUSY: [16, 16, "resource busy or locked"],
  ECANCELED: [125, 89, "operation canceled"],
  ECONNABORTED: [103, 53, "software caused connection abort"],
  ECONNREFUSED: [111, 61, "connection refused"],
  ECONNRESET: [104, 54, "connection reset by peer"],
  EDESTADDRREQ: [89, 39, "destination address required"],
  EEXIST: [17, 17, "file already exists"],
  EFAULT: [14, 14, "bad address in system call argument"],
  EFBIG: [27, 27, "file too large"],
  EHOSTUNREACH: [113, 65, "host is unreachable"],
  EINTR: [4, 4, "interrupted system call"],
  EINVAL: [22, 22, "invalid argument"],
  EIO: [5, 5, "i/o error"],
  EISCONN: [106, 56, "socket is already connected"],
  EISDIR: [21, 21, "illegal operation on a directory"],
  ELOOP: [40, 62, "too many symbolic links encountered"],
  EMFILE: [24, 24, "too many open files"],
  EMLINK: [31, 31, "too many links"],
  EMSGSIZE: [90, 40, "message too long"],
  ENAMETOOLONG: [36, 63, "name too long"],
  ENETDOWN: [100, 50, "network is down"],
  ENETUNREACH: [101, 51, "network is unreachable"],
  ENFILE: [23, 23, "file table overflow"],
  ENOBUFS: [105, 55, "no buffer space available"],
  ENODEV: [19, 19, "no such device"],
  ENOENT: [2, 2, "no such file or directory"],
  ENOEXEC: [8, 8, "exec format error"],
  ENOMEM: [12, 12, "not enough memory"],
  ENOSPC: [28, 28, "no space left on device"],
  ENOSYS: [38, 78, "function not implemented"],
  ENOTCONN: [107, 57, "socket is not connected"],
  ENOTDIR: [20, 20, "not a directory"],
  ENOTEMPTY: [39, 66, "directory not empty"],
  ENOTSUP: [95, 45, "operation not supported on socket"],
  ENXIO: [6, 6, "no such device or address"],
  EOVERFLOW: [75, 84, "value too large for defined data type"],
  EPERM: [1, 1, "operation not permitted"],
  EPIPE: [32, 32, "broken pipe"],
  EPROTO: [71, 100, "protocol error"],
  ERANGE: [34, 34, "result too large"],
  EROFS: [30, 30, "read-only file system"],
  ESPIPE: [29, 29, "invalid seek"],
  ESRCH: [3, 3, "no such process"],
  ETIMEDOUT: [110, 60, "connection timed out"],
  ETXTBSY: [26, 26, "text file is busy"],
  EXDEV: [18, 18, "cross-device link not permitted"],
};

/** The negative number that Node puts in `errno` for a code. */
export function errnoOf(code) {
  const row = CODES[code];
  if (!row) return -4094;
  return -(info.platform === "darwin" ? row[1] : row[0]);
}

export function messageOf(code) {
  return CODES[code]?.[2] ?? "unknown error";
}

/** A system error as file calls throw it. */
export function systemError(code, syscall, path, dest, extra) {
  let message = `${code}: ${messageOf(code)}, ${syscall}`;
  if (path !== undefined) message += ` '${path}'`;
  if (dest !== undefined) message += ` -> '${dest}'`;
  if (extra) message += ` (${extra})`;
  const error = new Error(message);
  error.errno = errnoOf(code);
  error.code = code;
  error.syscall = syscall;
  if (path !== undefined) error.path = path;
  if (dest !== undefined) error.dest = dest;
  return error;
}

// What the host's own error codes mean to a program that only knows Node's.
const HOST_CODES = {
  denied: "EACCES", not_found: "ENOENT", timeout: "ETIMEDOUT", cancelled: "ECANCELED",
  invalid_request: "EINVAL", unsupported: "ENOSYS", internal: "EIO", io: "EIO",
};

/** The system code (`ENOENT`) of an error that a host call threw. */
export function codeOf(error) {
  const errno = error?.details?.errno;
  if (typeof errno === "string" && errno) return errno;
  return HOST_CODES[error?.code] ?? "EIO";
}

/** Turns what a host call threw into Node's error for `syscall`; other errors pass through. */
export function fromHost(error, syscall, path, dest) {
  if (!error || typeof error !== "object" || !(error.code in HOST_CODES)) return error;
  const code = codeOf(error);
  const known = typeof error.details?.errno === "string" && error.code === "io" && code in CODES;
  const result = systemError(code, syscall, path, dest, known ? undefined : error.message);
  if (error.code === "denied") {
    const capability = error.capability ?? error.details?.capability;
    if (capability !== undefined) result.capability = capability;
    result.denied = true;
  }
  result.cause = error;
  Object.defineProperty(result, "cause", { enumerable: false });
  return result;
}

/** A system error as sockets and children throw it: `connect ECONNREFUSED 127.0.0.1:1`. */
export function callError(code, syscall, rest, fields) {
  const error = new Error(`${syscall} ${code}${rest ? ` ${rest}` : ""}`);
  error.errno = errnoOf(code);
  error.code = code;
  error.syscall = syscall;
  return Object.assign(error, fields);
}

/** An error of Node's own: `new TypeError` with a code, shown as `TypeError [CODE]: message`. */
export function nodeError(Base, code, message) {
  const error = new Base(message);
  Object.defineProperty(error, "toString", {
    value() { return `${this.name} [${code}]: ${this.message}`; },
    enumerable: false, writable: true, configurable: true,
  });
  error.code = code;
  return error;
}

function received(value) {
  if (value == null) return ` Received ${value}`;
  if (typeof value === "function") return ` Received function ${value.name}`;
  if (typeof value === "object") {
    if (value.constructor?.name) return ` Received an instance of ${value.constructor.name}`;
    return ` Received ${inspect(value, { depth: -1 })}`;
  }
  let text = inspect(value, { colors: false });
  if (text.length > 28) text = `${text.slice(0, 25)}...`;
  return ` Received type ${typeof value} (${text})`;
}

/** ERR_INVALID_ARG_TYPE; `expected` is the finished wording ("of type string", "one of type …"). */
export function invalidArgType(name, expected, value) {
  const what = name.endsWith(" argument") ? name : `"${name}" ${name.includes(".") ? "property" : "argument"}`;
  const must = /^(of type|an instance of|one of)/.test(expected) ? expected : `of type ${expected}`;
  return nodeError(TypeError, "ERR_INVALID_ARG_TYPE", `The ${what} must be ${must}.${received(value)}`);
}

export function invalidArgValue(name, value, reason = "is invalid") {
  const what = name.includes(".") ? "property" : "argument";
  let text = inspect(value);
  if (text.length > 128) text = `${text.slice(0, 128)}...`;
  return nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The ${what} '${name}' ${reason}. Received ${text}`);
}

export function outOfRange(name, range, value) {
  let text = typeof value === "bigint" ? `${value}n` : inspect(value);
  if (Number.isInteger(value) && Math.abs(value) > 2 ** 32) text = String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "_");
  return nodeError(RangeError, "ERR_OUT_OF_RANGE",
    `The value of "${name}" is out of range. It must be ${range}. Received ${text}`);
}

export function needFunction(value, name = "cb") {
  if (typeof value !== "function") throw invalidArgType(name, "of type function", value);
  return value;
}

export function needInteger(value, name, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) {
  if (typeof value !== "number") throw invalidArgType(name, "of type number", value);
  if (!Number.isInteger(value)) throw outOfRange(name, "an integer", value);
  if (value < min || value > max) throw outOfRange(name, `>= ${min} && <= ${max}`, value);
  return value;
}

export function abortError(signal) {
  const error = new Error("The operation was aborted");
  error.name = "AbortError";
  error.code = "ABORT_ERR";
  if (signal && signal.reason !== undefined) {
    Object.defineProperty(error, "cause", { value: signal.reason, enumerable: false, writable: true, configurable: true });
  }
  return error;
}

/** What a module or function that cannot be given throws. */
export function unsupported(what, why) {
  const error = new Error(`${what} is not available to extensions here${why ? `: ${why}` : ""}`);
  error.code = "ERR_JACKFIELD_UNSUPPORTED";
  return error;
}
