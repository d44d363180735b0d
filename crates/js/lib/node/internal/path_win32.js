// Windows path rules (drive letters, UNC roots, both slashes) for node:path's `win32`. There is no current directory
// per drive here: a relative path that has to be resolved starts at C:\ plus the project's path with turned slashes.
import { native } from "jackfield:host";
import { invalidArgType } from "jackfield:node/internal/errors";
import { formatWith, posix } from "node:path";
import process from "node:process";

const check = (value, name = "path") => {
  if (typeof value !== "string") throw invalidArgType(name, "string", value);
};
const slash = (c) => c === "/" || c === "\\";
const letter = (c) => c !== undefined && /^[a-z]$/i.test(c);

// The parts before the segments: the device ("C:" or "\\\\server\\share"), whether a slash follows, and their length.
function rootOf(path) {
  if (slash(path[0])) {
    if (slash(path[1])) {
      const unc = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/.exec(path);
      if (unc !== null && unc[1] !== "." && unc[1] !== "?") {
        const next = slash(path[unc[0].length]);
        return { device: `\\\\${unc[1]}\\${unc[2]}`, rooted: true, length: unc[0].length + (next ? 1 : 0), unc: true };
      }
      if (unc !== null) return { device: `\\\\${unc[1]}`, rooted: true, length: 4, unc: true };
    }
    return { device: "", rooted: true, length: 1, unc: false };
  }
  if (letter(path[0]) && path[1] === ":") {
    const rooted = slash(path[2]);
    return { device: path.slice(0, 2), rooted, length: rooted ? 3 : 2, unc: false };
  }
  return { device: "", rooted: false, length: 0, unc: false };
}

function segments(path, rooted) {
  const out = [];
  for (const part of path.split(/[\\/]/)) {
    if (part === "" || part === ".") continue;
    if (part !== "..") out.push(part);
    else if (out.length > 0 && out[out.length - 1] !== "..") out.pop();
    else if (!rooted) out.push(part);
  }
  return out;
}

function normalize(path) {
  check(path);
  if (path === "") return ".";
  const { device, rooted, length, unc } = rootOf(path);
  const rest = path.slice(length);
  let body = segments(rest, rooted).join("\\");
  if (unc && rest === "") return `${device}\\`;
  if (body === "" && !rooted) body = ".";
  if (body !== "" && rest !== "" && slash(path[path.length - 1])) body += "\\";
  return `${device}${rooted ? "\\" : ""}${body}`;
}

function join(...parts) {
  const used = [];
  for (const part of parts) {
    check(part);
    if (part !== "") used.push(part);
  }
  if (used.length === 0) return ".";
  // Two leading slashes make a UNC root only if the first part itself has exactly two of them.
  const first = /^[\\/]*/.exec(used[0])[0].length;
  let joined = used.join("\\");
  if (!(first === 2 && used[0].length > 2)) joined = joined.replace(/^[\\/]{2,}/, "\\");
  return normalize(joined);
}

const cwd = () => `C:${process.cwd().replaceAll("/", "\\")}`;

function resolve(...parts) {
  let device = "";
  let tail = "";
  let rooted = false;
  for (let i = parts.length - 1; i >= -1 && !(rooted && device !== ""); i--) {
    const path = i >= 0 ? parts[i] : cwd();
    if (i >= 0) check(path, `paths[${i}]`);
    if (path === "") continue;
    const root = rootOf(path);
    if (root.device !== "") {
      if (device === "") device = root.device;
      else if (root.device.toLowerCase() !== device.toLowerCase()) continue;
    }
    if (rooted) continue;
    tail = `${path.slice(root.length)}\\${tail}`;
    rooted = root.rooted;
  }
  return `${device}${rooted ? "\\" : ""}${segments(tail, rooted).join("\\")}` || ".";
}

function isAbsolute(path) {
  check(path);
  return rootOf(path).rooted;
}

function relative(from, to) {
  check(from, "from");
  check(to, "to");
  if (from === to) return "";
  const a = resolve(from);
  const b = resolve(to);
  if (a.toLowerCase() === b.toLowerCase()) return "";
  const rootA = rootOf(a);
  const rootB = rootOf(b);
  if (rootA.device.toLowerCase() !== rootB.device.toLowerCase()) return b;
  const left = segments(a.slice(rootA.length), true);
  const right = segments(b.slice(rootB.length), true);
  let same = 0;
  while (same < left.length && same < right.length && left[same].toLowerCase() === right[same].toLowerCase()) same++;
  return new Array(left.length - same).fill("..").concat(right.slice(same)).join("\\");
}

function last(path, from) {
  let end = path.length;
  while (end > from && slash(path[end - 1])) end--;
  let start = end;
  while (start > from && !slash(path[start - 1])) start--;
  return [start, end];
}

function dirname(path) {
  check(path);
  if (path === "") return ".";
  const { length } = rootOf(path);
  const [start] = last(path, length);
  if (start <= length) return length === 0 ? "." : path.slice(0, length);
  return path.slice(0, start - 1);
}

function basename(path, suffix) {
  if (suffix !== undefined) check(suffix, "suffix");
  check(path);
  const drive = letter(path[0]) && path[1] === ":" ? 2 : 0;
  const [start, end] = last(path, drive);
  const base = path.slice(start, end);
  if (!suffix || suffix.length > path.length) return base;
  if (suffix === path) return "";
  return base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
}

const dotOf = (base) => {
  const dot = base.lastIndexOf(".");
  return dot <= 0 || base === ".." ? base.length : dot;
};

function extname(path) {
  check(path);
  const base = basename(path);
  return base.slice(dotOf(base));
}

function parse(path) {
  check(path);
  const { length } = rootOf(path);
  const root = path.slice(0, length);
  const [start, end] = last(path, length);
  const base = path.slice(start, end);
  const dot = dotOf(base);
  const dir = start > length ? path.slice(0, start - 1) : root;
  return { root, dir, base, ext: base.slice(dot), name: base.slice(0, dot) };
}

function toNamespacedPath(path) {
  if (typeof path !== "string" || path === "") return path;
  const full = resolve(path);
  if (/^\\\\[^\\.?]/.test(full)) return `\\\\?\\UNC\\${full.slice(2)}`;
  return /^[a-z]:\\/i.test(full) ? `\\\\?\\${full}` : path;
}

const win32 = {
  sep: "\\", delimiter: ";", resolve, normalize, isAbsolute, join, relative, toNamespacedPath, dirname, basename, extname,
  format: (parts) => formatWith("\\", parts),
  parse,
  matchesGlob: (path, pattern) => native("glob", pattern.replaceAll("\\", "/"), path.replaceAll("\\", "/")),
  _makeLong: toNamespacedPath,
  get posix() { return posix; },
};
win32.win32 = win32;
export default win32;
