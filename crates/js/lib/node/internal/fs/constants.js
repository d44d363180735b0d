// fs.constants: the numbers of the platform that the extension runs on.
import { info } from "jackfield:host";

const mac = info.platform === "darwin";

export const constants = Object.freeze(Object.assign(Object.create(null), {
  UV_FS_SYMLINK_DIR: 1, UV_FS_SYMLINK_JUNCTION: 2,
  O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2,
  UV_DIRENT_UNKNOWN: 0, UV_DIRENT_FILE: 1, UV_DIRENT_DIR: 2, UV_DIRENT_LINK: 3, UV_DIRENT_FIFO: 4, UV_DIRENT_SOCKET: 5, UV_DIRENT_CHAR: 6, UV_DIRENT_BLOCK: 7,
  S_IFMT: 0o170000, S_IFREG: 0o100000, S_IFDIR: 0o040000, S_IFCHR: 0o020000, S_IFBLK: 0o060000, S_IFIFO: 0o010000, S_IFLNK: 0o120000, S_IFSOCK: 0o140000,
  O_CREAT: mac ? 0x200 : 0o100, O_EXCL: mac ? 0x800 : 0o200, UV_FS_O_FILEMAP: 0, O_NOCTTY: mac ? 0x20000 : 0o400,
  O_TRUNC: mac ? 0x400 : 0o1000, O_APPEND: mac ? 0x8 : 0o2000, O_DIRECTORY: mac ? 0x100000 : 0o200000,
  ...(mac ? { O_SYMLINK: 0x200000 } : { O_NOATIME: 0o1000000 }),
  O_NOFOLLOW: mac ? 0x100 : 0o400000, O_SYNC: mac ? 0x80 : 0o4010000, O_DSYNC: mac ? 0x400000 : 0o10000,
  ...(mac ? {} : { O_DIRECT: 0o40000 }), O_NONBLOCK: mac ? 0x4 : 0o4000,
  S_IRWXU: 0o700, S_IRUSR: 0o400, S_IWUSR: 0o200, S_IXUSR: 0o100, S_IRWXG: 0o70, S_IRGRP: 0o40, S_IWGRP: 0o20, S_IXGRP: 0o10,
  S_IRWXO: 0o7, S_IROTH: 0o4, S_IWOTH: 0o2, S_IXOTH: 0o1,
  F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1,
  UV_FS_COPYFILE_EXCL: 1, COPYFILE_EXCL: 1, UV_FS_COPYFILE_FICLONE: 2, COPYFILE_FICLONE: 2, UV_FS_COPYFILE_FICLONE_FORCE: 4, COPYFILE_FICLONE_FORCE: 4,
}));
