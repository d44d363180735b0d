// node:fs in its sync and callback forms. Expected values and errors were taken from Node 20 on Linux.
import assert from "node:assert";
import { Buffer } from "node:buffer";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "jf-fs-")));
const at = (...parts) => path.join(root, ...parts);
const E = os.constants.errno;

// The shape of a system error: code, number, call, path, dest and message.
function fails(action, code, syscall, where, to) {
  const text = { ENOENT: "no such file or directory", EEXIST: "file already exists", EISDIR: "illegal operation on a directory", ENOTDIR: "not a directory",
    ENOTEMPTY: "directory not empty", EBADF: "bad file descriptor", ELOOP: "too many symbolic links encountered", EINVAL: "invalid argument", EACCES: "permission denied" }[code];
  let message = `${code}: ${text}, ${syscall}`;
  if (where !== undefined) message += ` '${where}'`;
  if (to !== undefined) message += ` -> '${to}'`;
  assert.throws(action, (error) => {
    assert.ok(error instanceof Error);
    assert.deepStrictEqual([error.code, error.errno, error.syscall, error.path, error.dest, error.message], [code, -E[code], syscall, where, to, message]);
    return true;
  });
}
const refused = (action, code, message) => assert.throws(action, (error) => {
  assert.strictEqual(error.code, code, error.stack);
  if (message) assert.strictEqual(error.message, message);
  return true;
});

try {
  // Reading and writing.
  const a = at("a");
  fs.writeFileSync(a, "héllo");
  assert.strictEqual(fs.readFileSync(a, "utf8"), "héllo");
  assert.ok(Buffer.isBuffer(fs.readFileSync(a)));
  assert.strictEqual(fs.readFileSync(a, { encoding: "hex" }), "68c3a96c6c6f");
  assert.strictEqual(fs.readFileSync(pathToFileURL(a), "base64"), "aMOpbGxv");
  assert.strictEqual(fs.readFileSync(Buffer.from(a), "latin1"), "hÃ©llo");
  fs.appendFileSync(a, "!!");
  fs.writeFileSync(a, "XY", { flag: "r+" });
  assert.strictEqual(fs.readFileSync(a, "utf8"), "XY\ufffdllo!!");
  fs.writeFileSync(a, new Uint16Array([1, 2]));
  assert.deepStrictEqual([...fs.readFileSync(a)], [1, 0, 2, 0]);
  fs.writeFileSync(a, "ff00", "hex");
  assert.deepStrictEqual([...fs.readFileSync(a)], [255, 0]);
  fs.writeFileSync(a, "\ufeffmark");
  assert.strictEqual(fs.readFileSync(a, "utf8"), "\ufeffmark");
  fs.writeFileSync(at("x"), "1", { flag: "wx" });
  fails(() => fs.writeFileSync(at("x"), "2", { flag: "wx" }), "EEXIST", "open", at("x"));
  fails(() => fs.readFileSync(at("no")), "ENOENT", "open", at("no"));
  fails(() => fs.writeFileSync(at("no/x"), ""), "ENOENT", "open", at("no/x"));
  fails(() => fs.readFileSync(at("x/y")), "ENOTDIR", "open", at("x/y"));
  fails(() => fs.readFileSync(root), "EISDIR", "read");
  fails(() => fs.writeFileSync(root, "a"), "EISDIR", "open", root);
  refused(() => fs.readFileSync(undefined), "ERR_INVALID_ARG_TYPE", 'The "path" argument must be of type string or an instance of Buffer or URL. Received undefined');
  refused(() => fs.statSync("a\0b"), "ERR_INVALID_ARG_VALUE", "The argument 'path' must be a string, Uint8Array, or URL without null bytes. Received 'a\\x00b'");
  refused(() => fs.readFileSync(a, "foo"), "ERR_INVALID_ARG_VALUE", "The argument 'encoding' is invalid encoding. Received 'foo'");
  refused(() => fs.writeFileSync(a, 5), "ERR_INVALID_ARG_TYPE");
  refused(() => fs.readFile(a), "ERR_INVALID_ARG_TYPE", 'The "cb" argument must be of type function. Received undefined');

  // More than the host moves at once.
  const big = Buffer.alloc(9 * 1024 * 1024 + 7, "0123456789abcdef");
  fs.writeFileSync(at("big"), big);
  fs.appendFileSync(at("big"), big);
  const back = fs.readFileSync(at("big"));
  assert.strictEqual(back.length, 2 * big.length);
  assert.ok(back.subarray(0, big.length).equals(big) && back.subarray(big.length).equals(big));
  fs.unlinkSync(at("big"));

  // Facts.
  fs.writeFileSync(at("s"), "abc");
  fs.chmodSync(at("s"), 0o640);
  const stat = fs.statSync(at("s"));
  assert.deepStrictEqual([stat.size, stat.mode, stat.isFile(), stat.isDirectory(), stat.nlink, stat.constructor.name], [3, 0o100640, true, false, 1, "Stats"]);
  assert.ok(stat.mtime instanceof Date && Math.abs(stat.mtimeMs - Date.now()) < 60000);
  assert.deepStrictEqual(Object.keys(stat).sort(), ["atime", "atimeMs", "birthtime", "birthtimeMs", "blksize", "blocks", "ctime", "ctimeMs", "dev", "gid", "ino", "mode",
    "mtime", "mtimeMs", "nlink", "rdev", "size", "uid"]);
  const exact = fs.statSync(at("s"), { bigint: true });
  assert.deepStrictEqual([exact.size, typeof exact.mtimeNs, exact.isFile()], [3n, "bigint", true]);
  assert.strictEqual(fs.statSync(at("no"), { throwIfNoEntry: false }), undefined);
  fails(() => fs.statSync(at("no")), "ENOENT", "stat", at("no"));
  fs.utimesSync(at("s"), 1000, new Date(2000000));
  assert.deepStrictEqual([fs.statSync(at("s")).atimeMs, fs.statSync(at("s")).mtimeMs], [1000000, 2000000]);

  // Links, broken ones and circles.
  fs.symlinkSync("target", at("broken"));
  assert.ok(fs.lstatSync(at("broken")).isSymbolicLink());
  assert.strictEqual(fs.readlinkSync(at("broken")), "target");
  assert.strictEqual(fs.existsSync(at("broken")), false);
  fails(() => fs.readFileSync(at("broken")), "ENOENT", "open", at("broken"));
  fails(() => fs.readlinkSync(at("s")), "EINVAL", "readlink", at("s"));
  fs.symlinkSync(at("c2"), at("c1"));
  fs.symlinkSync(at("c1"), at("c2"));
  fails(() => fs.statSync(at("c1")), "ELOOP", "stat", at("c1"));
  fs.linkSync(at("s"), at("s2"));
  assert.strictEqual(fs.statSync(at("s2")).nlink, 2);
  fails(() => fs.linkSync(at("no"), at("s3")), "ENOENT", "link", at("no"), at("s3"));
  fails(() => fs.symlinkSync("t", at("s")), "EEXIST", "symlink", "t", at("s"));
  fs.symlinkSync("s", at("good"));
  assert.strictEqual(fs.realpathSync(at("good")), at("s"));
  assert.strictEqual(fs.realpathSync.native(at("good")), at("s"));
  fails(() => fs.realpathSync(at("no/x")), "ENOENT", "lstat", at("no"));
  fails(() => fs.realpathSync.native(at("no/x")), "ENOENT", "realpath", at("no/x"));

  // Directories.
  assert.strictEqual(fs.mkdirSync(at("m")), undefined);
  assert.strictEqual(fs.mkdirSync(at("q/w/e"), { recursive: true }), at("q"));
  assert.strictEqual(fs.mkdirSync(at("q/w/e"), { recursive: true }), undefined);
  assert.strictEqual(fs.mkdirSync(at("q/w/r"), { recursive: true }), at("q/w/r"));
  fails(() => fs.mkdirSync(at("m")), "EEXIST", "mkdir", at("m"));
  fails(() => fs.mkdirSync(at("a1/b")), "ENOENT", "mkdir", at("a1/b"));
  fails(() => fs.mkdirSync(at("s/b"), { recursive: true }), "ENOTDIR", "mkdir", at("s/b"));
  fails(() => fs.mkdirSync(at("s"), { recursive: true }), "EEXIST", "mkdir", at("s"));
  fs.writeFileSync(at("q/f"), "");
  fs.symlinkSync("f", at("q/l"));
  assert.deepStrictEqual(fs.readdirSync(at("q")).sort(), ["f", "l", "w"]);
  assert.deepStrictEqual(fs.readdirSync(at("q"), { recursive: true }).sort(), ["f", "l", "w", "w/e", "w/r"]);
  const entries = fs.readdirSync(at("q"), { withFileTypes: true }).sort((x, y) => (x.name < y.name ? -1 : 1));
  assert.deepStrictEqual(entries.map((e) => [e.name, e.isFile(), e.isDirectory(), e.isSymbolicLink(), e.parentPath]),
    [["f", true, false, false, at("q")], ["l", false, false, true, at("q")], ["w", false, true, false, at("q")]]);
  assert.deepStrictEqual(fs.readdirSync(at("q"), { withFileTypes: true, recursive: true }).map((e) => path.join(e.parentPath, e.name)).sort(),
    [at("q/f"), at("q/l"), at("q/w"), at("q/w/e"), at("q/w/r")]);
  fails(() => fs.readdirSync(at("q/f")), "ENOTDIR", "scandir", at("q/f"));
  const dir = fs.opendirSync(at("q/w"));
  assert.deepStrictEqual([dir.readSync().name, dir.readSync().name].sort(), ["e", "r"]);
  assert.strictEqual(dir.readSync(), null);
  dir.closeSync();
  refused(() => dir.readSync(), "ERR_DIR_CLOSED");
  assert.deepStrictEqual(fs.globSync("q/**/*", { cwd: root }).sort(), ["q/f", "q/l", "q/w", "q/w/e", "q/w/r"]);
  assert.deepStrictEqual(fs.globSync("{s,q/f}*", { cwd: root }).sort(), ["q/f", "s", "s2"]);
  const temporary = fs.mkdtempSync(at("tmp-"));
  assert.ok(temporary.startsWith(at("tmp-")) && fs.statSync(temporary).isDirectory());
  fails(() => fs.mkdtempSync(at("no/x")), "ENOENT", "mkdtemp", `${at("no/x")}XXXXXX`);

  // Moving, copying, removing.
  fs.renameSync(at("x"), at("y"));
  fails(() => fs.renameSync(at("x"), at("z")), "ENOENT", "rename", at("x"), at("z"));
  fs.copyFileSync(at("y"), at("y2"));
  fails(() => fs.copyFileSync(at("y"), at("y2"), fs.constants.COPYFILE_EXCL), "EEXIST", "copyfile", at("y"), at("y2"));
  fails(() => fs.copyFileSync(at("no"), at("y3")), "ENOENT", "copyfile", at("no"), at("y3"));
  fails(() => fs.unlinkSync(at("m")), "EISDIR", "unlink", at("m"));
  fails(() => fs.rmdirSync(at("y")), "ENOTDIR", "rmdir", at("y"));
  fails(() => fs.rmdirSync(at("q")), "ENOTEMPTY", "rmdir", at("q"));
  refused(() => fs.rmSync(at("m")), "ERR_FS_EISDIR", `Path is a directory: rm returned EISDIR (is a directory) ${at("m")}`);
  fails(() => fs.rmSync(at("no")), "ENOENT", "lstat", at("no"));
  fs.rmSync(at("no"), { force: true });
  fs.mkdirSync(at("keep"));
  fs.writeFileSync(at("keep/k"), "");
  fs.symlinkSync(at("keep"), at("q/tolink"));
  fs.rmSync(at("q"), { recursive: true });
  assert.deepStrictEqual([fs.existsSync(at("q")), fs.existsSync(at("keep/k"))], [false, true]);
  fs.mkdirSync(at("src/t"), { recursive: true });
  fs.writeFileSync(at("src/f"), "1");
  fs.writeFileSync(at("src/t/b"), "2");
  fs.cpSync(at("src"), at("dst"), { recursive: true, filter: (from) => !from.endsWith("b") });
  assert.deepStrictEqual(fs.readdirSync(at("dst"), { recursive: true }).sort(), ["f", "t"]);
  refused(() => fs.cpSync(at("src"), at("dst2")), "ERR_FS_EISDIR");
  refused(() => fs.cpSync(at("src"), at("src/t/x"), { recursive: true }), "ERR_FS_CP_EINVAL");
  refused(() => fs.cpSync(at("src/f"), at("dst/f"), { force: false, errorOnExist: true }), "ERR_FS_CP_EEXIST");
  fs.writeFileSync(at("cut"), "12345");
  fs.truncateSync(at("cut"), 2);
  assert.strictEqual(fs.readFileSync(at("cut"), "utf8"), "12");
  fs.accessSync(at("cut"), fs.constants.R_OK);
  fails(() => fs.accessSync(at("no")), "ENOENT", "access", at("no"));

  // Descriptors.
  const fd = fs.openSync(at("fd"), "w+");
  const four = Buffer.alloc(4);
  assert.deepStrictEqual([fs.writeSync(fd, "hello"), fs.writeSync(fd, Buffer.from(" world"), 0, 3), fs.writeSync(fd, "J", 0)], [5, 3, 1]);
  assert.deepStrictEqual([fs.readSync(fd, four, 0, 4, 0), four.toString()], [4, "Jell"]);
  assert.strictEqual(fs.fstatSync(fd).size, 8);
  fs.ftruncateSync(fd, 3);
  fs.fsyncSync(fd);
  assert.strictEqual(fs.writevSync(fd, [Buffer.from("ab"), Buffer.from("cd")], 0), 4);
  assert.strictEqual(fs.readvSync(fd, [Buffer.alloc(2), four], 0), 4);
  fs.renameSync(at("fd"), at("fd2"));
  assert.strictEqual(fs.fstatSync(fd).size, 4);
  fs.closeSync(fd);
  fails(() => fs.readSync(fd, four), "EBADF", "read");
  fails(() => fs.closeSync(fd), "EBADF", "close");
  const reader = fs.openSync(at("fd2"));
  assert.deepStrictEqual([fs.readSync(reader, four, 0, 2), fs.readFileSync(reader, "utf8"), fs.readSync(reader, four)], [2, "cd", 0]);
  fails(() => fs.writeSync(reader, "x"), "EBADF", "write");
  fs.closeSync(reader);
  fails(() => fs.openSync(at("no")), "ENOENT", "open", at("no"));
  fails(() => fs.openSync(at("fd2"), "wx"), "EEXIST", "open", at("fd2"));
  fails(() => fs.openSync(root, "w"), "EISDIR", "open", root);
  refused(() => fs.openSync(at("fd2"), "zz"), "ERR_INVALID_ARG_VALUE", "The argument 'flags' is invalid. Received 'zz'");
  refused(() => fs.closeSync("x"), "ERR_INVALID_ARG_TYPE");
  const folder = fs.openSync(root, "r");
  assert.ok(fs.fstatSync(folder).isDirectory());
  fails(() => fs.readSync(folder, four), "EISDIR", "read");
  fs.closeSync(folder);
  const nowhere = fs.openSync("/dev/null", "w");
  assert.strictEqual(fs.writeSync(nowhere, "gone"), 4);
  fs.closeSync(nowhere);

  // Callbacks.
  const call = (fn, ...args) => new Promise((resolve) => fn(...args, (...answer) => resolve(answer)));
  assert.deepStrictEqual(await call(fs.writeFile, at("cb"), "1"), [null]);
  assert.deepStrictEqual(await call(fs.readFile, at("cb"), "utf8"), [null, "1"]);
  const [missing] = await call(fs.stat, at("no"));
  assert.strictEqual(missing.message, `ENOENT: no such file or directory, stat '${at("no")}'`);
  assert.deepStrictEqual(await call(fs.exists, at("cb")), [true]);
  assert.strictEqual(await promisify(fs.exists)(at("cb")), true);
  const [, opened] = await call(fs.open, at("cb"), "r+");
  assert.strictEqual((await call(fs.write, opened, Buffer.from("xy"), 0, 2, 0))[1], 2);
  const { bytesRead, buffer } = await promisify(fs.read)(opened, Buffer.alloc(3), 0, 3, 0);
  assert.deepStrictEqual([bytesRead, buffer.toString("utf8", 0, 2)], [2, "xy"]);
  assert.deepStrictEqual(await call(fs.close, opened), [null]);
  assert.deepStrictEqual(await call(fs.rm, at("cb")), [null]);
} finally {
  fs.rmSync(root, { recursive: true, force: true });
}
assert.strictEqual(fs.existsSync(root), false);
