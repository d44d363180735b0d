// The operations on paths, each as a generator over host calls (see core.js). What the host cannot do is answered
// with the error that a system without it gives: changing owners (EPERM), times of a link itself and statfs (ENOSYS).
import { ask, checkEncoding, decode, encodeName, place, toBytes, toData, toFlags, toMode, toOptions, toPath, toTime } from "jackfield:node/internal/fs/core";
import { constants } from "jackfield:node/internal/fs/constants";
import { toDirent, toStats } from "jackfield:node/internal/fs/stats";
import * as fds from "jackfield:node/internal/fs/fd";
import { invalidArgType, needInteger, nodeError, outOfRange, systemError, errnoOf } from "jackfield:node/internal/io_errors";
import { info } from "jackfield:host";

export function* access(path, mode) {
  path = toPath(path);
  if (mode != null) {
    if (typeof mode !== "number") throw invalidArgType("mode", "of type number", mode);
    if (!Number.isInteger(mode)) throw outOfRange("mode", "an integer", mode);
    if (mode < 0 || mode > 7) throw outOfRange("mode", ">= 0 && <= 7", mode);
  }
  const bits = mode ?? 0;
  yield ask({ op: "access", path: place(path), mode: (bits & 4 ? "r" : "") + (bits & 2 ? "w" : "") + (bits & 1 ? "x" : "") }, "access", path);
}

export function* exists(path) {
  try {
    yield* access(path);
    return true;
  } catch {
    return false;
  }
}

// The host moves at most some megabytes per call.
const PIECE = 4 * 1024 * 1024;

/** The whole of a file, as bytes; in pieces when it is more than the host gives at once. */
export function* readAll(path, label) {
  const parts = [];
  let total = 0;
  let size = Infinity;
  try {
    const answer = yield ask({ op: "read", path, encoding: "base64" }, "open", label);
    parts.push(asBytes(answer.content));
    total = parts[0].length;
    size = total === 0 ? 0 : answer.size;
  } catch (error) {
    if (error.code === "EISDIR") throw systemError("EISDIR", "read");
    if (error.code !== "EFBIG") throw error;
  }
  while (total < size) {
    const next = yield ask({ op: "read", path, encoding: "base64", offset: total, length: PIECE }, "read", label);
    const part = asBytes(next.content);
    if (part.length === 0) break;
    parts.push(part);
    total += part.length;
  }
  return joinBytes(parts, total);
}

function joinBytes(parts, total) {
  if (parts.length === 1) return parts[0];
  const bytes = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function asBytes(content) {
  return typeof content === "string" ? decode(content, "buffer") : content;
}

export function* readFile(path, options) {
  const { encoding, flag } = toOptions(options);
  if (typeof path === "number") return decode(yield* fds.readRest(path), encoding);
  path = toPath(path);
  const flags = toFlags(flag ?? "r", "flag");
  if (!flags.read || flags.create || flags.truncate) {
    const fd = yield* fds.open(path, flag);
    try {
      return decode(yield* fds.readRest(fd), encoding);
    } finally {
      fds.forget(fd);
    }
  }
  return decode(yield* readAll(place(path), path), encoding);
}

// Flags of writing as the host names them; `null` needs a descriptor.
function hostFlag(flags) {
  if (!flags.write) return null;
  if (flags.append) return flags.create ? (flags.exclusive ? "ax" : "a") : null;
  if (flags.create && flags.truncate) return flags.exclusive ? "wx" : "w";
  return !flags.create && !flags.truncate ? "r+" : null;
}

export function* writeFile(path, data, options) {
  const { encoding, flag = "w", mode } = toOptions(options, { encoding: "utf8" });
  const content = toData(data, encoding);
  if (typeof path === "number") {
    yield* fds.writeAll(path, content);
    return;
  }
  path = toPath(path);
  const flags = toFlags(flag, "flag");
  const name = hostFlag(flags);
  if (name === null) {
    const fd = yield* fds.open(path, flag, mode);
    try {
      yield* fds.writeAll(fd, content);
    } finally {
      fds.forget(fd);
    }
    return;
  }
  const params = { op: "write", path: place(path), content, flag: name };
  const bits = toMode(mode);
  if (bits !== undefined) params.mode = bits;
  if (name === "r+") params.offset = 0;
  if (content.length <= PIECE / 4) {
    yield ask(params, "open", path);
    return;
  }
  const bytes = toBytes(content);
  yield ask({ ...params, content: bytes.subarray(0, PIECE) }, "open", path);
  for (let at = PIECE; at < bytes.length; at += PIECE) {
    const rest = { op: "write", path: params.path, content: bytes.subarray(at, at + PIECE) };
    yield ask(flags.append ? { ...rest, flag: "a" } : { ...rest, flag: "r+", offset: at }, "write");
  }
}

export function* appendFile(path, data, options) {
  const settings = toOptions(options, { encoding: "utf8" });
  yield* writeFile(path, data, { ...settings, flag: settings.flag ?? "a" });
}

function* statWith(path, options, syscall) {
  path = toPath(path);
  const answer = yield ask({ op: "stat", path: place(path), follow: syscall === "stat" }, syscall, path);
  return toStats(answer, options?.bigint);
}

export function* stat(path, options) {
  return yield* statWith(path, options, "stat");
}

export function* lstat(path, options) {
  return yield* statWith(path, options, "lstat");
}

/** The sync forms may answer undefined instead of throwing. */
export function* statMaybe(path, options, syscall) {
  try {
    return yield* statWith(path, options, syscall);
  } catch (error) {
    if (options?.throwIfNoEntry === false && (error.code === "ENOENT" || error.code === "ENOTDIR")) return undefined;
    throw error;
  }
}

function* kindOf(place_, label, syscall) {
  return (yield ask({ op: "stat", path: place_, follow: false }, syscall, label)).kind;
}

export function* mkdir(path, options) {
  path = toPath(path);
  const recursive = typeof options === "object" && options !== null ? options.recursive ?? false : false;
  if (typeof recursive !== "boolean") throw invalidArgType("options.recursive", "of type boolean", recursive);
  const mode = toMode(typeof options === "number" || typeof options === "string" ? options : options?.mode);
  const target = place(path);
  let first;
  if (recursive) {
    first = yield* firstMissing(target, path);
    if (first === undefined) return undefined;
  }
  const params = { op: "mkdir", path: target, recursive };
  if (mode !== undefined) params.mode = mode;
  const answer = yield ask(params, "mkdir", path);
  return recursive && answer?.created !== false ? first : undefined;
}

// What mkdir will create first, which is what Node returns; undefined if all is there.
function* firstMissing(target, label) {
  let first;
  let current = target.length > 1 ? target.replace(/\/+$/, "") : target;
  for (;;) {
    try {
      const { kind } = yield ask({ op: "stat", path: current }, "mkdir", label);
      if (kind !== "dir") throw systemError(first === undefined ? "EEXIST" : "ENOTDIR", "mkdir", label);
      return first;
    } catch (error) {
      // What may not be looked at may still be made; that is judged on its own.
      if (error.code === "EACCES") return first ?? current;
      if (error.code !== "ENOENT") throw error;
    }
    first = current;
    const cut = current.lastIndexOf("/");
    if (cut <= 0) return first;
    current = current.slice(0, cut);
  }
}

export function* mkdtemp(prefix, options) {
  const { encoding } = toOptions(options);
  prefix = toPath(prefix, "prefix");
  const { path } = yield ask({ op: "mkdtemp", path: place(prefix) }, "mkdtemp", `${prefix}XXXXXX`);
  const name = path.slice(path.lastIndexOf("/") + 1);
  return encodeName(prefix.slice(0, prefix.lastIndexOf("/") + 1) + name, encoding);
}

export function* readdir(path, options) {
  const { encoding, withFileTypes, recursive } = toOptions(options);
  if (recursive != null && typeof recursive !== "boolean") throw invalidArgType("options.recursive", "of type boolean", recursive);
  path = toPath(path);
  const root = place(path);
  const found = [];
  const queue = [{ at: root, label: path, prefix: "" }];
  for (let i = 0; i < queue.length; i++) {
    const { at, label, prefix } = queue[i];
    const { entries, truncated } = yield ask({ op: "list", path: at }, "scandir", label);
    if (truncated) throw systemError("EOVERFLOW", "scandir", label, undefined, "the directory has more entries than the host lists");
    for (const entry of entries) {
      const name = entry.name;
      if (withFileTypes) {
        if (entry.kind === "other") entry.mode ??= (yield ask({ op: "stat", path: `${at}/${name}`, follow: false }, "lstat", `${label}/${name}`)).mode;
        found.push(toDirent(encodeName(name, encoding), entry, label));
      } else {
        found.push(encodeName(prefix + name, encoding));
      }
      // Links are not followed: a link to a parent would never end.
      if (recursive && entry.kind === "dir") {
        const below = label.endsWith("/") ? label + name : `${label}/${name}`;
        queue.push({ at: `${at}/${name}`, label: below.replace(/^\.\//, ""), prefix: `${prefix}${name}/` });
      }
    }
  }
  return found;
}

export function* readlink(path, options) {
  const { encoding } = toOptions(options);
  path = toPath(path);
  const { target } = yield ask({ op: "readlink", path: place(path) }, "readlink", path);
  return encodeName(target, encoding);
}

export function* realpathNative(path, options) {
  const { encoding } = toOptions(options);
  path = toPath(path);
  const answer = yield ask({ op: "realpath", path: place(path) }, "realpath", path);
  return encodeName(answer.path, encoding);
}

export function* realpath(path, options) {
  checkEncoding(typeof options === "string" ? options : options?.encoding);
  try {
    return yield* realpathNative(path, options);
  } catch (error) {
    if (error.code !== "ENOENT" || error.syscall !== "realpath") throw error;
    // Node walks the path itself and names the part that is missing.
    const parts = place(error.path).split("/").filter((part) => part !== "" && part !== ".");
    let at = "";
    for (const part of parts) {
      at = part === ".." ? at.slice(0, at.lastIndexOf("/")) : `${at}/${part}`;
      yield ask({ op: "stat", path: at || "/", follow: false }, "lstat", at || "/");
    }
    throw systemError("ENOENT", "stat", at);
  }
}

export function* rename(from, to) {
  from = toPath(from, "oldPath");
  to = toPath(to, "newPath");
  yield ask({ op: "rename", path: place(from), to: place(to) }, "rename", from, to);
  fds.moved(place(from), place(to));
}

export function* copyFile(from, to, mode) {
  from = toPath(from, "src");
  to = toPath(to, "dest");
  const bits = mode == null ? 0 : needInteger(mode, "mode", 0, 7);
  if (bits & constants.COPYFILE_FICLONE_FORCE) throw systemError("ENOSYS", "copyfile", from, to);
  yield ask({ op: "copy", path: place(from), to: place(to), exclusive: (bits & constants.COPYFILE_EXCL) !== 0 }, "copyfile", from, to);
}

export function* link(existing, path) {
  existing = toPath(existing, "existingPath");
  path = toPath(path, "newPath");
  yield ask({ op: "link", path: place(path), target: place(existing), symbolic: false }, "link", existing, path);
}

export function* symlink(target, path, type) {
  if (type != null && !["dir", "file", "junction"].includes(type)) {
    throw nodeError(Error, "ERR_FS_INVALID_SYMLINK_TYPE", `Symlink type must be one of "dir", "file", or "junction". Received "${type}"`);
  }
  target = toPath(target, "target");
  path = toPath(path);
  yield ask({ op: "link", path: place(path), target, symbolic: true }, "symlink", target, path);
}

export function* unlink(path) {
  path = toPath(path);
  const target = place(path);
  if ((yield* kindOf(target, path, "unlink")) === "dir") throw systemError(info.platform === "darwin" ? "EPERM" : "EISDIR", "unlink", path);
  yield ask({ op: "remove", path: target }, "unlink", path);
}

export function* rmdir(path, options) {
  path = toPath(path);
  if (options?.recursive) {
    yield* rm(path, { recursive: true, force: false }, "rmdir");
    return;
  }
  const target = place(path);
  if ((yield* kindOf(target, path, "rmdir")) !== "dir") throw systemError("ENOTDIR", "rmdir", path);
  yield ask({ op: "remove", path: target }, "rmdir", path);
}

export function* rm(path, options, syscall = "rm") {
  path = toPath(path);
  if (options != null && typeof options !== "object") throw invalidArgType("options", "of type object", options);
  for (const name of ["force", "recursive"]) {
    if (options?.[name] !== undefined && typeof options[name] !== "boolean") throw invalidArgType(`options.${name}`, "of type boolean", options[name]);
  }
  const { force = false, recursive = false } = options ?? {};
  const target = place(path);
  let kind;
  try {
    kind = yield* kindOf(target, path, "lstat");
  } catch (error) {
    if (force && error.code === "ENOENT") return;
    throw error;
  }
  if (kind === "dir" && !recursive) {
    const error = nodeError(Error, "ERR_FS_EISDIR", `Path is a directory: ${syscall} returned EISDIR (is a directory) ${path}`);
    Object.defineProperty(error, "name", { value: "SystemError", enumerable: false, writable: true, configurable: true });
    error.info = { code: "EISDIR", message: "is a directory", path, syscall, errno: -errnoOf("EISDIR") };
    Object.assign(error, { errno: -errnoOf("EISDIR"), syscall, path });
    throw error;
  }
  yield ask({ op: "remove", path: target, recursive: recursive && kind === "dir", force }, syscall, path);
}

export function* truncate(path, length) {
  if (typeof path === "number") {
    yield* fds.ftruncate(path, length);
    return;
  }
  path = toPath(path);
  const size = length == null ? 0 : Math.max(0, needInteger(length, "len"));
  yield ask({ op: "truncate", path: place(path), length: size }, "open", path);
}

export function* chmod(path, mode) {
  path = toPath(path);
  if (mode == null) throw invalidArgType("mode", "of type number", mode);
  yield ask({ op: "chmod", path: place(path), mode: toMode(mode) }, "chmod", path);
}

/** Owners cannot be changed; asking for the present ones is fine. */
export function* chown(path, uid, gid, syscall = "chown", label = path) {
  path = toPath(path);
  needInteger(uid, "uid", -1, 0xffffffff);
  needInteger(gid, "gid", -1, 0xffffffff);
  const now = yield ask({ op: "stat", path: place(path), follow: syscall !== "lchown" }, syscall, label);
  const same = (value, present) => value === -1 || value === 0xffffffff || value === present;
  if (!same(uid, now.uid) || !same(gid, now.gid)) throw systemError("EPERM", syscall, label);
}

export function* lchown(path, uid, gid) {
  yield* chown(path, uid, gid, "lchown");
}

export function* utimes(path, accessed, modified) {
  path = toPath(path);
  const params = { op: "utimes", path: place(path), accessed_ms: toTime(accessed), modified_ms: toTime(modified) };
  yield ask(params, "utime", path);
}

export function* lutimes(path, accessed, modified) {
  path = toPath(path);
  toTime(accessed);
  toTime(modified);
  if ((yield* kindOf(place(path), path, "lutime")) === "link") throw systemError("ENOSYS", "lutime", path, undefined, "the host sets the times of files, not of links");
  yield* utimes(path, accessed, modified);
}

export function* statfs(path) {
  path = toPath(path);
  yield ask({ op: "stat", path: place(path) }, "statfs", path);
  throw systemError("ENOSYS", "statfs", path, undefined, "the host does not tell about file systems");
}
