// File descriptors, kept in a table here and carried out as positional reads and writes of a path: the host has
// no open files. What follows from that: a file that was renamed by this program is followed, one that was
// replaced or removed by somebody else is not; the directory entry is checked again at each call. Numbers 0, 1 and 2
// are the program's own: writing to 1 and 2 goes to process.stdout and process.stderr, reading 0 gives the end.
import process from "node:process";
import { ask, place, toBytes, toFlags, toMode, toPath, toTime } from "jackfield:node/internal/fs/core";
import { toStats } from "jackfield:node/internal/fs/stats";
import { invalidArgType, invalidArgValue, needInteger, outOfRange, systemError } from "jackfield:node/internal/io_errors";

const table = new Map();
// The host moves at most some megabytes per call.
const PIECE = 4 * 1024 * 1024;

function freeNumber() {
  let fd = 3;
  while (table.has(fd)) fd++;
  return fd;
}

function checkFd(fd) {
  if (typeof fd !== "number") throw invalidArgType("fd", "of type number", fd);
  if (!Number.isInteger(fd)) throw outOfRange("fd", "an integer", fd);
  if (fd < 0 || fd > 2147483647) throw outOfRange("fd", ">= 0 && <= 2147483647", fd);
}

/** The open file behind a number. */
export function entryOf(fd, syscall) {
  checkFd(fd);
  const entry = table.get(fd);
  if (!entry && fd > 2) throw systemError("EBADF", syscall);
  return entry ?? { standard: fd, read: fd === 0, write: fd > 0, at: 0, label: undefined, append: true };
}

export function pathOf(fd, syscall = "open") {
  const entry = entryOf(fd, syscall);
  if (entry.standard !== undefined) throw systemError("EINVAL", syscall);
  return entry.path;
}

export function forget(fd) {
  table.delete(fd);
}

export function isOpen(fd) {
  return table.has(fd);
}

/** Open files follow a rename that this program made. */
export function moved(from, to) {
  for (const entry of table.values()) {
    if (entry.path === from) entry.path = to;
    else if (entry.path.startsWith(`${from}/`)) entry.path = to + entry.path.slice(from.length);
  }
}

function* probe(target, path) {
  try {
    yield ask({ op: "read", path: target, encoding: "base64", offset: 0, length: 0 }, "open", path);
    return "file";
  } catch (error) {
    if (error.code === "EISDIR") return "dir";
    throw error;
  }
}

function* empty(target, path, flags, mode) {
  const params = { op: "write", path: target, content: "", flag: flags.append ? "ax" : "wx" };
  if (mode !== undefined) params.mode = mode;
  if (flags.exclusive) {
    yield ask(params, "open", path);
    return;
  }
  // An existing file keeps its place on disk (links to it stay true), so it is cut and not replaced.
  for (let round = 0; ; round++) {
    try {
      if (flags.truncate) yield ask({ op: "truncate", path: target, length: 0 }, "open", path);
      else if (flags.append) yield ask({ ...params, flag: "a" }, "open", path);
      else yield ask({ op: "stat", path: target }, "open", path);
      return;
    } catch (error) {
      if (error.code !== "ENOENT" || !flags.create || round > 2) throw error;
    }
    try {
      yield ask(params, "open", path);
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
  }
}

export function* open(path, flags, mode) {
  path = toPath(path);
  const wanted = toFlags(flags ?? "r");
  const bits = toMode(mode);
  const target = place(path);
  let kind = "file";
  // Devices are none of the host's files; the one that takes all and gives nothing needs no host.
  const sink = target === "/dev/null";
  if (wanted.nofollow && !sink) {
    const found = yield ask({ op: "stat", path: target, follow: false }, "open", path);
    if (found.kind === "link") throw systemError("ELOOP", "open", path);
  }
  if (sink) {
    // Nothing to look at.
  } else if (wanted.create || wanted.truncate || wanted.append) {
    yield* empty(target, path, wanted, bits);
  } else {
    kind = yield* probe(target, path);
    if (kind === "dir" && wanted.write) throw systemError("EISDIR", "open", path);
    if (wanted.write) yield ask({ op: "access", path: target, mode: "w" }, "open", path);
  }
  if (wanted.directory && kind !== "dir") throw systemError("ENOTDIR", "open", path);
  const fd = freeNumber();
  table.set(fd, { path: target, label: path, read: wanted.read, write: wanted.write, append: wanted.append, directory: kind === "dir", sink, at: 0 });
  return fd;
}

export function* close(fd) {
  checkFd(fd);
  if (!table.delete(fd) && fd > 2) throw systemError("EBADF", "close");
}

function range(buffer, offset, length) {
  offset ??= 0;
  if (typeof offset !== "number") throw invalidArgType("offset", "of type number", offset);
  if (!Number.isInteger(offset)) throw outOfRange("offset", "an integer", offset);
  if (offset < 0 || offset > buffer.byteLength) throw outOfRange("offset", `>= 0 && <= ${buffer.byteLength}`, offset);
  length ??= buffer.byteLength - offset;
  if (typeof length !== "number") throw invalidArgType("length", "of type number", length);
  if (!Number.isInteger(length)) throw outOfRange("length", "an integer", length);
  if (length < 0) throw outOfRange("length", ">= 0", length);
  if (length > buffer.byteLength - offset) throw outOfRange("length", `<= ${buffer.byteLength - offset}`, length);
  return [offset, length];
}

function toPosition(position) {
  if (position == null) return null;
  if (typeof position === "bigint") position = Number(position);
  if (typeof position !== "number") throw invalidArgType("position", "of type bigint or integer", position);
  if (position === -1) return null;
  return needInteger(position, "position", 0);
}

function view(buffer, name = "buffer") {
  if (!ArrayBuffer.isView(buffer)) throw invalidArgType(name, "an instance of Buffer, TypedArray, or DataView", buffer);
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/** Reads up to `length` bytes at `position`, without touching the place of the descriptor. */
function* readAt(entry, position, length) {
  if (entry.standard !== undefined || entry.sink) return new Uint8Array(0);
  if (entry.directory) throw systemError("EISDIR", "read");
  const answer = yield ask({ op: "read", path: entry.path, encoding: "base64", offset: position, length: Math.min(length, PIECE) }, "read");
  return typeof answer.content === "string" ? toBytes(answer.content) : answer.content;
}

export function* read(fd, buffer, offset, length, position) {
  const bytes = view(buffer);
  if (offset !== null && typeof offset === "object") ({ offset, length, position } = offset);
  [offset, length] = range(bytes, offset, length);
  position = toPosition(position);
  const entry = entryOf(fd, "read");
  if (!entry.read) throw systemError("EBADF", "read");
  if (length === 0) return 0;
  const got = yield* readAt(entry, position ?? entry.at, length);
  const count = Math.min(got.length, length);
  bytes.set(count === got.length ? got : got.subarray(0, count), offset);
  if (position === null) entry.at += count;
  return count;
}

/** All from the descriptor's place to the end. */
export function* readRest(fd) {
  const entry = entryOf(fd, "read");
  if (!entry.read) throw systemError("EBADF", "read");
  const parts = [];
  let total = 0;
  for (;;) {
    const part = yield* readAt(entry, entry.at, PIECE);
    if (part.length === 0) break;
    parts.push(part);
    total += part.length;
    entry.at += part.length;
  }
  const bytes = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function* put(entry, bytes, position) {
  if (!entry.write) throw systemError("EBADF", "write");
  if (entry.standard !== undefined) {
    (entry.standard === 2 ? process.stderr : process.stdout).write(bytes);
    return;
  }
  const start = position ?? entry.at;
  for (let at = 0; at < bytes.length && !entry.sink; at += PIECE) {
    const part = { op: "write", path: entry.path, content: bytes.length <= PIECE ? bytes : bytes.subarray(at, at + PIECE) };
    yield ask(entry.append ? { ...part, flag: "a" } : { ...part, flag: "r+", offset: start + at }, "write");
  }
  if (position === null) entry.at += bytes.length;
}

/** write(fd, buffer, offset, length, position) or write(fd, text, position, encoding); gives the bytes written. */
export function* write(fd, data, offset, length, position) {
  checkFd(fd);
  if (typeof data === "string") {
    const encoding = typeof length === "string" ? length : "utf8";
    if (length === "hex" && data.length % 2 !== 0) throw invalidArgValue("encoding", length, `is invalid for data of length ${data.length}`);
    const bytes = toBytes(data, encoding);
    yield* put(entryOf(fd, "write"), bytes, toPosition(offset));
    return bytes.length;
  }
  if (!ArrayBuffer.isView(data)) throw invalidArgType("buffer", "of type string or an instance of Buffer, TypedArray, or DataView", data);
  const bytes = view(data);
  if (offset !== null && typeof offset === "object") ({ offset, length, position } = offset);
  [offset, length] = range(bytes, offset, length);
  yield* put(entryOf(fd, "write"), bytes.subarray(offset, offset + length), toPosition(position));
  return length;
}

export function* writeAll(fd, data) {
  yield* put(entryOf(fd, "write"), toBytes(data), null);
}

export function* readv(fd, buffers, position) {
  let total = 0;
  position = toPosition(position);
  for (const buffer of checkBuffers(buffers)) {
    const count = yield* read(fd, buffer, 0, buffer.byteLength, position === null ? null : position + total);
    total += count;
    if (count < buffer.byteLength) break;
  }
  return total;
}

export function* writev(fd, buffers, position) {
  const parts = checkBuffers(buffers).map((buffer) => view(buffer));
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  yield* put(entryOf(fd, "write"), all, toPosition(position));
  return all.length;
}

function checkBuffers(buffers) {
  if (!Array.isArray(buffers) || !buffers.every((buffer) => ArrayBuffer.isView(buffer))) {
    throw invalidArgType("buffers", "an instance of ArrayBufferView[]", buffers);
  }
  return buffers;
}

export function* fstat(fd, options) {
  const entry = entryOf(fd, "fstat");
  if (entry.standard !== undefined) return toStats({ kind: "other", mode: 0o010600, size: 0 }, options?.bigint);
  return toStats(yield ask({ op: "stat", path: entry.path }, "fstat"), options?.bigint);
}

export function* ftruncate(fd, length) {
  const entry = entryOf(fd, "ftruncate");
  if (!entry.write || entry.standard !== undefined) throw systemError("EINVAL", "ftruncate");
  yield ask({ op: "truncate", path: entry.path, length: length == null ? 0 : Math.max(0, needInteger(length, "len")) }, "ftruncate");
}

export function* fchmod(fd, mode) {
  yield ask({ op: "chmod", path: pathOf(fd, "fchmod"), mode: toMode(mode) }, "fchmod");
}

export function* futimes(fd, accessed, modified) {
  const params = { op: "utimes", path: pathOf(fd, "futime"), accessed_ms: toTime(accessed), modified_ms: toTime(modified) };
  yield ask(params, "futime");
}

/** Every write is with the host when it returned, so there is nothing to push. */
export function* fsync(fd) {
  entryOf(fd, "fsync");
}

export function* fdatasync(fd) {
  entryOf(fd, "fdatasync");
}
