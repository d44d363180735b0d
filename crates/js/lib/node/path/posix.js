// node:path/posix: the same functions as node:path, which is always the POSIX one here.
export {
  sep, delimiter, resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename, extname, format,
  parse, matchesGlob, posix, win32, default,
} from "node:path";
