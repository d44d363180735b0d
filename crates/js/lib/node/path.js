// node:path for POSIX: everything that Node's module has. `win32` is evaluated only when somebody asks for it. The
// current directory comes from the process module, and only when a relative path has to be resolved.
import { native } from "jackfield:host";
import { invalidArgType, validateObject } from "jackfield:node/internal/errors";
import win32Paths from "jackfield:node/internal/path_win32";
import process from "node:process";

export const sep = "/";
export const delimiter = ":";

const check = (value, name = "path") => {
  if (typeof value !== "string") throw invalidArgType(name, "string", value);
};

// The segments of a path without empty ones, "." and what ".." takes back.
function segments(path, rooted) {
  const out = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") out.push(part);
    else if (out.length > 0 && out[out.length - 1] !== "..") out.pop();
    else if (!rooted) out.push(part);
  }
  return out;
}

export function normalize(path) {
  check(path);
  if (path === "") return ".";
  const rooted = path[0] === "/";
  const trailing = path[path.length - 1] === "/";
  const body = segments(path, rooted).join("/");
  if (body === "") return rooted ? "/" : trailing ? "./" : ".";
  return (rooted ? "/" : "") + body + (trailing ? "/" : "");
}

export function join(...parts) {
  let joined = "";
  for (const part of parts) {
    check(part);
    if (part !== "") joined = joined === "" ? part : `${joined}/${part}`;
  }
  return joined === "" ? "." : normalize(joined);
}

export function resolve(...parts) {
  let path = "";
  for (let i = parts.length - 1; i >= 0; i--) {
    check(parts[i], `paths[${i}]`);
    if (parts[i] === "") continue;
    path = path === "" ? parts[i] : `${parts[i]}/${path}`;
    if (parts[i][0] === "/") return `/${segments(path, true).join("/")}`;
  }
  return `/${segments(`${process.cwd()}/${path}`, true).join("/")}`;
}

export function isAbsolute(path) {
  check(path);
  return path[0] === "/";
}

export function relative(from, to) {
  check(from, "from");
  check(to, "to");
  if (from === to) return "";
  const a = segments(resolve(from), true);
  const b = segments(resolve(to), true);
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  const out = new Array(a.length - same).fill("..");
  return out.concat(b.slice(same)).join("/");
}

// Where the last segment begins and ends, trailing slashes left out.
function last(path, from = 0) {
  let end = path.length;
  while (end > from && path[end - 1] === "/") end--;
  const slash = end > from ? path.lastIndexOf("/", end - 1) : -1;
  return [slash < from ? from : slash + 1, end];
}

export function dirname(path) {
  check(path);
  if (path === "") return ".";
  const rooted = path[0] === "/";
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  const slash = path.lastIndexOf("/", end - 1);
  if (slash < 1) return rooted ? (slash === 0 && end > 1 ? "/" : "/") : ".";
  return rooted && slash === 1 ? "//" : path.slice(0, slash);
}

export function basename(path, suffix) {
  if (suffix !== undefined) check(suffix, "suffix");
  check(path);
  const [start, end] = last(path);
  const base = path.slice(start, end);
  if (!suffix || suffix.length > path.length) return base;
  if (suffix === path) return "";
  return base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
}

const dotOf = (base) => {
  const dot = base.lastIndexOf(".");
  return dot <= 0 || base === ".." ? base.length : dot;
};

export function extname(path) {
  check(path);
  const [start, end] = last(path);
  const base = path.slice(start, end);
  return base.slice(dotOf(base));
}

export function parse(path) {
  check(path);
  const rooted = path[0] === "/";
  const [start, end] = last(path, rooted ? 1 : 0);
  const base = path.slice(start, end);
  const dot = dotOf(base);
  let dir = start > (rooted ? 1 : 0) ? path.slice(0, start - 1) : rooted ? "/" : "";
  if (base === "" && rooted) dir = "/";
  return { root: rooted ? "/" : "", dir, base, ext: base.slice(dot), name: base.slice(0, dot) };
}

export function formatWith(separator, parts) {
  validateObject(parts, "pathObject");
  const dir = parts.dir || parts.root;
  const ext = parts.ext ? `${parts.ext[0] === "." ? "" : "."}${parts.ext}` : "";
  const base = parts.base || `${parts.name || ""}${ext}`;
  if (!dir) return base;
  return dir === parts.root ? `${dir}${base}` : `${dir}${separator}${base}`;
}

export const format = (parts) => formatWith("/", parts);

export const toNamespacedPath = (path) => path;

export function matchesGlob(path, pattern) {
  check(path);
  check(pattern, "pattern");
  return native("glob", pattern, path);
}

export const posix = {
  sep, delimiter, resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename, extname, format,
  parse, matchesGlob, _makeLong: toNamespacedPath,
  get win32() { return win32Paths; },
};
posix.posix = posix;

export { win32Paths as win32 };
export const _makeLong = toNamespacedPath;
export default posix;
