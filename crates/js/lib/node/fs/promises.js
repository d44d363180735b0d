// node:fs/promises. Each function runs the same steps as its sync form, without blocking.
import { run, toOptions, toPath } from "jackfield:node/internal/fs/core";
import { constants } from "jackfield:node/internal/fs/constants";
import * as ops from "jackfield:node/internal/fs/ops";
import { cp as cpSteps } from "jackfield:node/internal/fs/cp";
import { glob as globSteps } from "jackfield:node/internal/fs/glob";
import { opendir as opendirSteps } from "jackfield:node/internal/fs/dir";
import { FileHandle, openHandle, pieces } from "jackfield:node/internal/fs/handle";
import { watchIterator } from "jackfield:node/internal/fs/watch";

const access = async (path, mode) => run(ops.access(path, mode));
const chmod = async (path, mode) => run(ops.chmod(path, mode));
const chown = async (path, uid, gid) => run(ops.chown(path, uid, gid));
const copyFile = async (src, dest, mode) => run(ops.copyFile(src, dest, mode));
const cp = async (src, dest, options) => run(cpSteps(src, dest, options));
const lchown = async (path, uid, gid) => run(ops.lchown(path, uid, gid));
const link = async (existingPath, newPath) => run(ops.link(existingPath, newPath));
const lstat = async (path, options) => run(ops.lstat(path, options));
const lutimes = async (path, atime, mtime) => run(ops.lutimes(path, atime, mtime));
const mkdir = async (path, options) => run(ops.mkdir(path, options));
const mkdtemp = async (prefix, options) => run(ops.mkdtemp(prefix, options));
const open = async (path, flags, mode) => run(openHandle(path, flags ?? "r", mode));
const opendir = async (path, options) => run(opendirSteps(path, options));
const readdir = async (path, options) => run(ops.readdir(path, options));
const readlink = async (path, options) => run(ops.readlink(path, options));
const realpath = async (path, options) => run(ops.realpathNative(path, options));
const rename = async (oldPath, newPath) => run(ops.rename(oldPath, newPath));
const rm = async (path, options) => run(ops.rm(path, options));
const rmdir = async (path, options) => run(ops.rmdir(path, options));
const stat = async (path, options) => run(ops.stat(path, options));
const statfs = async (path, options) => run(ops.statfs(path, options));
const symlink = async (target, path, type) => run(ops.symlink(target, path, type));
const truncate = async (path, len) => run(ops.truncate(path, len));
const unlink = async (path) => run(ops.unlink(path));
const utimes = async (path, atime, mtime) => run(ops.utimes(path, atime, mtime));

async function readFile(path, options) {
  if (path instanceof FileHandle) return path.readFile(options);
  return run(ops.readFile(path, options), options?.signal);
}

async function writeFile(path, data, options) {
  if (path instanceof FileHandle) return path.writeFile(data, options);
  const settings = toOptions(options, { encoding: "utf8" });
  if (typeof data === "string" || ArrayBuffer.isView(data)) return run(ops.writeFile(path, data, options), settings.signal);
  toPath(path);
  const handle = await open(path, settings.flag ?? "w", settings.mode);
  try {
    for await (const piece of pieces(data, settings.encoding, settings.signal)) await handle.write(piece);
  } finally {
    await handle.close();
  }
  return undefined;
}

async function appendFile(path, data, options) {
  if (path instanceof FileHandle) return path.appendFile(data, options);
  const settings = toOptions(options, { encoding: "utf8" });
  return writeFile(path, data, { ...settings, flag: settings.flag ?? "a" });
}

async function* glob(pattern, options) {
  yield* await run(globSteps(pattern, options));
}

const watch = (path, options) => watchIterator(path, options);

export {
  access, appendFile, chmod, chown, constants, copyFile, cp, glob, lchown, link, lstat, lutimes, mkdir, mkdtemp, open, opendir, readFile, readdir,
  readlink, realpath, rename, rm, rmdir, stat, statfs, symlink, truncate, unlink, utimes, watch, writeFile, FileHandle,
};
export default {
  access, appendFile, chmod, chown, constants, copyFile, cp, glob, lchown, link, lstat, lutimes, mkdir, mkdtemp, open, opendir, readFile, readdir,
  readlink, realpath, rename, rm, rmdir, stat, statfs, symlink, truncate, unlink, utimes, watch, writeFile,
};
