// node:constants: the old flat list of error, signal, priority and file constants.
import { constants } from "node:os";

const files = {
  F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4, O_RDONLY: 0,
  O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_SYNC: 1052672, S_IFMT: 61440,
  S_IFREG: 32768, S_IFDIR: 16384, S_IFCHR: 8192, S_IFBLK: 24576, S_IFIFO: 4096, S_IFLNK: 40960, S_IFSOCK: 49152,
  S_IRWXU: 448, S_IRUSR: 256, S_IWUSR: 128, S_IXUSR: 64, S_IRWXG: 56, S_IRGRP: 32, S_IWGRP: 16, S_IXGRP: 8, S_IRWXO: 7,
  S_IROTH: 4, S_IWOTH: 2, S_IXOTH: 1,
};
const all = { ...constants.dlopen, ...constants.errno, ...constants.priority, ...constants.signals, ...files };

export const {
  F_OK, R_OK, W_OK, X_OK, COPYFILE_EXCL, O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, S_IFMT, S_IFREG,
  S_IFDIR, S_IFLNK, ENOENT, EACCES, EEXIST, EPERM, EINVAL, EISDIR, ENOTDIR, SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM,
} = all;
export default all;
