// node:fs over host calls. The sync functions and their callback forms are here; streams, watching, handles, cp,
// glob and directories are parts that are evaluated when first used. Every call is checked by the host, so a path
// that the extension was not granted gives EACCES with the host's words in the message. Not covered: changing
// owners, statfs, times of links, descriptors of files that others replace meanwhile (see internal/fs/fd.js).
import { callbackForm, runCallback, runSync, toPath, toTime } from "jackfield:node/internal/fs/core";
import { constants } from "jackfield:node/internal/fs/constants";
import { Dirent, Stats } from "jackfield:node/internal/fs/stats";
import * as ops from "jackfield:node/internal/fs/ops";
import * as fds from "jackfield:node/internal/fs/fd";
import { cp as cpSteps } from "jackfield:node/internal/fs/cp";
import { glob as globSteps } from "jackfield:node/internal/fs/glob";
import { Dir, opendir as opendirSteps } from "jackfield:node/internal/fs/dir";
import { ReadStream, WriteStream, createReadStream, createWriteStream } from "jackfield:node/internal/fs/streams";
import { FSWatcher, StatWatcher, unwatchFile, watch, watchFile } from "jackfield:node/internal/fs/watch";
import promises from "node:fs/promises";
import { Blob } from "jackfield:web/blob";
import { needFunction } from "jackfield:node/internal/io_errors";

const { F_OK, R_OK, W_OK, X_OK } = constants;
const custom = Symbol.for("nodejs.util.promisify.custom");

const accessSync = (path, mode) => runSync(ops.access(path, mode));
const appendFileSync = (path, data, options) => runSync(ops.appendFile(path, data, options));
const chmodSync = (path, mode) => runSync(ops.chmod(path, mode));
const chownSync = (path, uid, gid) => runSync(ops.chown(path, uid, gid));
const copyFileSync = (src, dest, mode) => runSync(ops.copyFile(src, dest, mode));
const lchownSync = (path, uid, gid) => runSync(ops.lchown(path, uid, gid));
const linkSync = (existingPath, newPath) => runSync(ops.link(existingPath, newPath));
const lutimesSync = (path, atime, mtime) => runSync(ops.lutimes(path, atime, mtime));
const mkdirSync = (path, options) => runSync(ops.mkdir(path, options));
const mkdtempSync = (prefix, options) => runSync(ops.mkdtemp(prefix, options));
const readFileSync = (path, options) => runSync(ops.readFile(path, options));
const readdirSync = (path, options) => runSync(ops.readdir(path, options));
const readlinkSync = (path, options) => runSync(ops.readlink(path, options));
const renameSync = (oldPath, newPath) => runSync(ops.rename(oldPath, newPath));
const rmSync = (path, options) => runSync(ops.rm(path, options));
const rmdirSync = (path, options) => runSync(ops.rmdir(path, options));
const statfsSync = (path, options) => runSync(ops.statfs(path, options));
const symlinkSync = (target, path, type) => runSync(ops.symlink(target, path, type));
const truncateSync = (path, len) => runSync(ops.truncate(path, len));
const unlinkSync = (path) => runSync(ops.unlink(path));
const utimesSync = (path, atime, mtime) => runSync(ops.utimes(path, atime, mtime));
const writeFileSync = (path, data, options) => runSync(ops.writeFile(path, data, options));
const closeSync = (fd) => runSync(fds.close(fd));
const fchmodSync = (fd, mode) => runSync(fds.fchmod(fd, mode));
const fdatasyncSync = (fd) => runSync(fds.fdatasync(fd));
const fsyncSync = (fd) => runSync(fds.fsync(fd));
const ftruncateSync = (fd, len) => runSync(fds.ftruncate(fd, len));
const futimesSync = (fd, atime, mtime) => runSync(fds.futimes(fd, atime, mtime));
const cpSync = (src, dest, options) => runSync(cpSteps(src, dest, options));
const globSync = (pattern, options) => runSync(globSteps(pattern, options));
const opendirSync = (path, options) => runSync(opendirSteps(path, options));
const openSync = (path, flags, mode) => runSync(fds.open(path, flags, mode));
const readSync = (fd, buffer, offset, length, position) => runSync(fds.read(fd, buffer, offset, length, position));
const writeSync = (fd, buffer, offset, length, position) => runSync(fds.write(fd, buffer, offset, length, position));
const readvSync = (fd, buffers, position) => runSync(fds.readv(fd, buffers, position));
const writevSync = (fd, buffers, position) => runSync(fds.writev(fd, buffers, position));
const statSync = (path, options) => runSync(ops.statMaybe(path, options, "stat"));
const lstatSync = (path, options) => runSync(ops.statMaybe(path, options, "lstat"));
const fstatSync = (fd, options) => runSync(fds.fstat(fd, options));
const fchownSync = (fd, uid, gid) => runSync(ops.chown(fds.pathOf(fd, "fchown"), uid, gid, "fchown", undefined));
const realpathSync = (path, options) => runSync(ops.realpath(path, options));
realpathSync.native = (path, options) => runSync(ops.realpathNative(path, options));

function existsSync(path) {
  try {
    return runSync(ops.exists(toPath(path)));
  } catch {
    return false;
  }
}

const access = callbackForm("access", () => ops.access);
const appendFile = callbackForm("appendFile", () => ops.appendFile);
const chmod = callbackForm("chmod", () => ops.chmod);
const chown = callbackForm("chown", () => ops.chown);
const copyFile = callbackForm("copyFile", () => ops.copyFile);
const lchown = callbackForm("lchown", () => ops.lchown);
const link = callbackForm("link", () => ops.link);
const lutimes = callbackForm("lutimes", () => ops.lutimes);
const mkdir = callbackForm("mkdir", () => ops.mkdir);
const mkdtemp = callbackForm("mkdtemp", () => ops.mkdtemp);
const readFile = callbackForm("readFile", () => ops.readFile);
const readdir = callbackForm("readdir", () => ops.readdir);
const readlink = callbackForm("readlink", () => ops.readlink);
const rename = callbackForm("rename", () => ops.rename);
const rm = callbackForm("rm", () => ops.rm);
const rmdir = callbackForm("rmdir", () => ops.rmdir);
const statfs = callbackForm("statfs", () => ops.statfs);
const symlink = callbackForm("symlink", () => ops.symlink);
const truncate = callbackForm("truncate", () => ops.truncate);
const unlink = callbackForm("unlink", () => ops.unlink);
const utimes = callbackForm("utimes", () => ops.utimes);
const writeFile = callbackForm("writeFile", () => ops.writeFile);
const fchmod = callbackForm("fchmod", () => fds.fchmod);
const fdatasync = callbackForm("fdatasync", () => fds.fdatasync);
const fsync = callbackForm("fsync", () => fds.fsync);
const ftruncate = callbackForm("ftruncate", () => fds.ftruncate);
const futimes = callbackForm("futimes", () => fds.futimes);
const cp = callbackForm("cp", () => cpSteps);
const glob = callbackForm("glob", () => globSteps);
const opendir = callbackForm("opendir", () => opendirSteps);
const open = callbackForm("open", () => fds.open);
const stat = callbackForm("stat", () => ops.stat);
const lstat = callbackForm("lstat", () => ops.lstat);
const fstat = callbackForm("fstat", () => fds.fstat);
const fchown = callbackForm("fchown", () => (fd, uid, gid) => ops.chown(fds.pathOf(fd, "fchown"), uid, gid, "fchown", undefined));
const realpath = callbackForm("realpath", () => ops.realpath);
realpath.native = callbackForm("native", () => ops.realpathNative);

// These three give two values to their callback, and `close` may be called without one.
function close(fd, callback) {
  runCallback(fds.close(fd), callback ?? ((error) => { if (error) throw error; }));
}

function transfer(name, steps, second) {
  const form = function (fd, buffer, ...rest) {
    if (typeof buffer === "function" || (name === "read" && buffer && !ArrayBuffer.isView(buffer))) {
      // read(fd, [options], callback)
      const callback = needFunction(typeof buffer === "function" ? buffer : rest[0]);
      const options = typeof buffer === "function" ? {} : buffer;
      const target = options.buffer ?? new Uint8Array(16384);
      return form(fd, target, options.offset ?? 0, options.length ?? target.byteLength, options.position ?? null, callback);
    }
    const callback = needFunction(rest.pop());
    runCallback(steps()(fd, buffer, ...rest), (error, count) => (error ? callback(error) : callback(null, count ?? 0, buffer)));
    return undefined;
  };
  Object.defineProperty(form, "name", { value: name });
  Object.defineProperty(form, custom, {
    value: (...args) => new Promise((resolve, reject) => {
      form(...args, (error, count, buffer) => (error ? reject(error) : resolve({ [second[0]]: count, [second[1]]: buffer })));
    }),
  });
  return form;
}
const read = transfer("read", () => fds.read, ["bytesRead", "buffer"]);
const write = transfer("write", () => fds.write, ["bytesWritten", "buffer"]);
const readv = transfer("readv", () => fds.readv, ["bytesRead", "buffers"]);
const writev = transfer("writev", () => fds.writev, ["bytesWritten", "buffers"]);

function exists(path, callback) {
  needFunction(callback);
  try {
    toPath(path);
  } catch {
    callback(false);
    return;
  }
  runCallback(ops.exists(path), (error, found) => callback(found === true));
}
Object.defineProperty(exists, custom, { value: (path) => new Promise((resolve) => exists(path, resolve)) });

async function openAsBlob(path, options) {
  return new Blob([await promises.readFile(path)], { type: options?.type ?? "" });
}

const _toUnixTimestamp = (time) => toTime(time) / 1000;

export {
  access, accessSync, appendFile, appendFileSync, chmod, chmodSync, chown, chownSync, copyFile, copyFileSync, lchown,
  lchownSync, link, linkSync, lutimes, lutimesSync, mkdir, mkdirSync, mkdtemp, mkdtempSync, readFile, readFileSync,
  readdir, readdirSync, readlink, readlinkSync, rename, renameSync, rm, rmSync, rmdir, rmdirSync, statfs, statfsSync,
  symlink, symlinkSync, truncate, truncateSync, unlink, unlinkSync, utimes, utimesSync, writeFile, writeFileSync,
  close, closeSync, fchmod, fchmodSync, fdatasync, fdatasyncSync, fsync, fsyncSync, ftruncate, ftruncateSync,
  futimes, futimesSync, cp, cpSync, opendir, opendirSync, open, openSync, read, readSync, write, writeSync, readv,
  readvSync, writev, writevSync, stat, statSync, lstat, lstatSync, fstat, fstatSync, fchown, fchownSync, realpath,
  realpathSync, glob, globSync, exists, existsSync, openAsBlob, constants, F_OK, R_OK, W_OK, X_OK, _toUnixTimestamp,
  Dirent, Stats, Dir, ReadStream, WriteStream, createReadStream, createWriteStream, FSWatcher, StatWatcher, watch,
  watchFile, unwatchFile, promises,
  ReadStream as FileReadStream, WriteStream as FileWriteStream,
};

// A plain object, because packages replace its members; the parts that are not evaluated yet are looked up when asked for.
const fs = {
  access, accessSync, appendFile, appendFileSync, chmod, chmodSync, chown, chownSync, copyFile, copyFileSync, lchown,
  lchownSync, link, linkSync, lutimes, lutimesSync, mkdir, mkdirSync, mkdtemp, mkdtempSync, readFile, readFileSync,
  readdir, readdirSync, readlink, readlinkSync, rename, renameSync, rm, rmSync, rmdir, rmdirSync, statfs, statfsSync,
  symlink, symlinkSync, truncate, truncateSync, unlink, unlinkSync, utimes, utimesSync, writeFile, writeFileSync,
  close, closeSync, fchmod, fchmodSync, fdatasync, fdatasyncSync, fsync, fsyncSync, ftruncate, ftruncateSync,
  futimes, futimesSync, cp, cpSync, opendir, opendirSync, open, openSync, read, readSync, write, writeSync, readv,
  readvSync, writev, writevSync, stat, statSync, lstat, lstatSync, fstat, fstatSync, fchown, fchownSync, realpath,
  realpathSync, glob, globSync, exists, existsSync, openAsBlob, constants, F_OK, R_OK, W_OK, X_OK, _toUnixTimestamp,
};
const later = {
  Dirent: () => Dirent, Stats: () => Stats, Dir: () => Dir, ReadStream: () => ReadStream,
  WriteStream: () => WriteStream, createReadStream: () => createReadStream,
  createWriteStream: () => createWriteStream, FSWatcher: () => FSWatcher, StatWatcher: () => StatWatcher,
  watch: () => watch, watchFile: () => watchFile, unwatchFile: () => unwatchFile, promises: () => promises,
  FileReadStream: () => ReadStream, FileWriteStream: () => WriteStream,
};
for (const [name, get] of Object.entries(later)) {
  Object.defineProperty(fs, name, {
    get, enumerable: true, configurable: true,
    set(value) { Object.defineProperty(fs, name, { value, writable: true, enumerable: true, configurable: true }); },
  });
}
export default fs;
