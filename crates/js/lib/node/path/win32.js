// node:path/win32: Windows rules for paths that only pass through, such as those of a remote machine.
import win32 from "jackfield:node/internal/path_win32";
import { posix } from "node:path";

export const {
  sep, delimiter, resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename, extname, format,
  parse, matchesGlob,
} = win32;
export { posix, win32, win32 as default };
