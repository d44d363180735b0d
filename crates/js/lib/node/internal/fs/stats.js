// Stats, BigIntStats and Dirent from what the host says of a file. The host does not tell the device number of a
// special file nor the blocks on disk: rdev is 0, blksize 4096, and blocks is computed from the size.
import { constants } from "jackfield:node/internal/fs/constants";

const { S_IFMT, S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK } = constants;
const KIND_BITS = { file: S_IFREG, dir: S_IFDIR, link: S_IFLNK };

class StatsBase {
  #is(bits) {
    return (Number(this.mode) & S_IFMT) === bits;
  }
  isDirectory() { return this.#is(S_IFDIR); }
  isFile() { return this.#is(S_IFREG); }
  isBlockDevice() { return this.#is(S_IFBLK); }
  isCharacterDevice() { return this.#is(S_IFCHR); }
  isSymbolicLink() { return this.#is(S_IFLNK); }
  isFIFO() { return this.#is(S_IFIFO); }
  isSocket() { return this.#is(S_IFSOCK); }
}

export class Stats extends StatsBase {
  constructor(dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks, atimeMs, mtimeMs, ctimeMs, birthtimeMs) {
    super();
    Object.assign(this, { dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks, atimeMs, mtimeMs, ctimeMs, birthtimeMs });
    addDates(this, atimeMs, mtimeMs, ctimeMs, birthtimeMs);
  }
}

export class BigIntStats extends StatsBase {
  constructor(found) {
    super();
    const ns = (ms) => BigInt(Math.round(ms * 1000)) * 1000n;
    for (const key of ["dev", "mode", "nlink", "uid", "gid", "rdev", "blksize", "ino", "size", "blocks"]) this[key] = BigInt(found[key]);
    for (const key of ["atimeMs", "mtimeMs", "ctimeMs", "birthtimeMs"]) this[key] = BigInt(Math.floor(found[key]));
    for (const key of ["atime", "mtime", "ctime", "birthtime"]) this[`${key}Ns`] = ns(found[`${key}Ms`]);
    addDates(this, found.atimeMs, found.mtimeMs, found.ctimeMs, found.birthtimeMs);
  }
}

// Dates are made when asked for: most callers never do.
function addDates(target, ...times) {
  ["atime", "mtime", "ctime", "birthtime"].forEach((name, index) => {
    Object.defineProperty(target, name, {
      enumerable: true,
      configurable: true,
      get() {
        const value = new Date(Math.round(times[index] ?? 0));
        Object.defineProperty(this, name, { value, enumerable: true, writable: true, configurable: true });
        return value;
      },
      set(value) {
        Object.defineProperty(this, name, { value, enumerable: true, writable: true, configurable: true });
      },
    });
  });
}

export function toStats(answer, bigint) {
  let mode = answer.mode ?? 0;
  if ((mode & S_IFMT) === 0) mode |= KIND_BITS[answer.kind] ?? 0;
  const size = answer.size ?? 0;
  const modified = answer.modified_ms ?? 0;
  const changed = answer.changed_ms ?? modified;
  const stats = new Stats(answer.dev ?? 0, mode, answer.nlink ?? 1, answer.uid ?? 0, answer.gid ?? 0, 0, 4096, answer.ino ?? 0, size,
    answer.blocks ?? Math.ceil(size / 4096) * 8, answer.accessed_ms ?? modified, modified, changed, answer.created_ms ?? changed);
  return bigint ? new BigIntStats(stats) : stats;
}

const TYPE_OF_KIND = { file: constants.UV_DIRENT_FILE, dir: constants.UV_DIRENT_DIR, link: constants.UV_DIRENT_LINK };
const TYPE_OF_BITS = { [S_IFIFO]: constants.UV_DIRENT_FIFO, [S_IFSOCK]: constants.UV_DIRENT_SOCKET, [S_IFCHR]: constants.UV_DIRENT_CHAR, [S_IFBLK]: constants.UV_DIRENT_BLOCK };
const kType = Symbol("type");

export class Dirent {
  constructor(name, type, path) {
    this.name = name;
    this.parentPath = path;
    Object.defineProperty(this, "path", { value: path, enumerable: true, writable: true, configurable: true });
    Object.defineProperty(this, kType, { value: type, enumerable: false });
  }
  isDirectory() { return this[kType] === constants.UV_DIRENT_DIR; }
  isFile() { return this[kType] === constants.UV_DIRENT_FILE; }
  isBlockDevice() { return this[kType] === constants.UV_DIRENT_BLOCK; }
  isCharacterDevice() { return this[kType] === constants.UV_DIRENT_CHAR; }
  isSymbolicLink() { return this[kType] === constants.UV_DIRENT_LINK; }
  isFIFO() { return this[kType] === constants.UV_DIRENT_FIFO; }
  isSocket() { return this[kType] === constants.UV_DIRENT_SOCKET; }
}

export function toDirent(name, entry, parent) {
  return new Dirent(name, TYPE_OF_KIND[entry.kind] ?? TYPE_OF_BITS[entry.mode & S_IFMT] ?? constants.UV_DIRENT_UNKNOWN, parent);
}
