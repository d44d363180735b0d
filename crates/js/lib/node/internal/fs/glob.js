// fs.glob: `*`, `**`, `?`, `[…]`, `{a,b}` and `!(…)`-free patterns below a directory, with `exclude` as a function
// or a list of patterns and `withFileTypes`. Only directories that a pattern can still reach are listed; links to
// directories are matched but not entered by `**`.
import { ask, place, toPath } from "jackfield:node/internal/fs/core";
import { toDirent } from "jackfield:node/internal/fs/stats";
import process from "node:process";
import { invalidArgType } from "jackfield:node/internal/io_errors";

/** `a{b,c}` as two patterns; nested braces too. */
export function expandBraces(pattern) {
  let depth = 0;
  let start = -1;
  const cuts = [];
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i];
    if (c === "\\") i++;
    else if (c === "{") {
      if (depth++ === 0) start = i;
    } else if (c === "," && depth === 1) cuts.push(i);
    else if (c === "}" && depth > 0 && --depth === 0) {
      const head = pattern.slice(0, start);
      const tail = pattern.slice(i + 1);
      const body = pattern.slice(start + 1, i);
      const range = /^(-?\d+)\.\.(-?\d+)$/.exec(body);
      if (range) {
        const [low, high] = [Number(range[1]), Number(range[2])];
        const many = Math.min(Math.abs(high - low), 9999);
        const numbers = Array.from({ length: many + 1 }, (_, n) => String(low + (high >= low ? n : -n)));
        return numbers.flatMap((n) => expandBraces(head + n + tail));
      }
      if (cuts.length === 0) return expandBraces(tail).map((rest) => `${head}\\{${body}\\}${rest}`);
      const edges = [start, ...cuts, i];
      const parts = edges.slice(0, -1).map((edge, n) => pattern.slice(edge + 1, edges[n + 1]));
      return parts.flatMap((part) => expandBraces(head + part + tail));
    }
  }
  return [pattern];
}

const MAGIC = /[*?[\]\\]/;

/** One part of a path as a test. A leading dot has to be written out. */
function partTest(part) {
  if (part === "**") return "**";
  if (!MAGIC.test(part)) return (name) => name === part;
  let source = part.startsWith(".") ? "" : "(?!\\.)";
  for (let i = 0; i < part.length; i++) {
    const c = part[i];
    if (c === "*") {
      while (part[i + 1] === "*") i++;
      source += "[^/]*";
    } else if (c === "?") source += "[^/]";
    else if (c === "\\" && i + 1 < part.length) source += part[++i].replace(/[^\w\s]/g, "\\$&");
    else if (c === "[") {
      const end = part.indexOf("]", i + 2);
      if (end === -1) source += "\\[";
      else {
        let body = part.slice(i + 1, end).replace(/\\/g, "\\\\");
        if (body[0] === "!" || body[0] === "^") body = `^${body.slice(1)}`;
        source += `[${body.replace(/\[/g, "\\[")}]`;
        i = end;
      }
    } else source += c.replace(/[^\w\s]/g, "\\$&");
  }
  const expression = new RegExp(`^${source}$`, "s");
  return (name) => expression.test(name);
}

function compile(patterns) {
  return patterns.flatMap((pattern) => expandBraces(pattern)).map((pattern) => {
    const absolute = pattern.startsWith("/");
    return { absolute, parts: pattern.split("/").filter((part) => part !== "" && part !== ".").map((part) => (part === ".." ? ".." : partTest(part))) };
  });
}

function matches(parts, names, i = 0, j = 0) {
  while (i < parts.length) {
    if (parts[i] === "**") {
      for (let k = j; k <= names.length; k++) if (matches(parts, names, i + 1, k)) return true;
      return false;
    }
    if (j >= names.length || parts[i] === ".." || !parts[i](names[j])) return false;
    i++;
    j++;
  }
  return j === names.length;
}

export function* glob(pattern, options) {
  const patterns = Array.isArray(pattern) ? pattern : [pattern];
  for (const one of patterns) if (typeof one !== "string") throw invalidArgType("patterns", "of type string or string[]", one);
  const cwd = options?.cwd === undefined ? process.cwd() : place(toPath(options.cwd, "options.cwd"));
  const excluded = Array.isArray(options?.exclude) ? compile(options.exclude) : null;
  const skip = (path, entry) => {
    if (typeof options?.exclude === "function") return options.exclude(options.withFileTypes ? entry : path);
    return excluded?.some(({ parts }) => matches(parts, path.split("/").filter(Boolean))) ?? false;
  };
  const seen = new Set();
  const found = [];
  const lists = new Map();
  const list = function* (dir) {
    if (!lists.has(dir)) {
      let entries = [];
      try {
        entries = (yield ask({ op: "list", path: dir || "/" }, "scandir", dir)).entries;
      } catch (error) {
        if (error.denied) throw error;
      }
      lists.set(dir, [...entries].sort((a, b) => (a.name < b.name ? -1 : 1)));
    }
    return lists.get(dir);
  };
  const add = (path, entry, parent) => {
    if (seen.has(path)) return;
    seen.add(path);
    found.push(options?.withFileTypes ? toDirent(entry.name, entry, parent) : path);
  };
  const join = (a, b) => (a === "" ? b : a === "/" ? `/${b}` : `${a}/${b}`);
  const walk = function* (dir, shown, parts) {
    const [part, ...rest] = parts;
    if (part === undefined) return;
    if (part === "..") {
      const up = dir.slice(0, dir.lastIndexOf("/")) || "/";
      const label = join(shown, "..");
      if (rest.length === 0) add(label, { name: "..", kind: "dir" }, dir);
      else yield* walk(up, label, rest);
      return;
    }
    if (part === "**") {
      if (rest.length === 0) add(shown || ".", { name: shown || ".", kind: "dir" }, dir);
      else yield* walk(dir, shown, rest);
      for (const entry of yield* list(dir)) {
        if (entry.name.startsWith(".")) continue;
        const path = join(shown, entry.name);
        if (skip(path, toDirent(entry.name, entry, dir))) continue;
        if (entry.kind === "dir") yield* walk(join(dir, entry.name), path, parts);
        else if (rest.length === 0) add(path, entry, dir);
      }
      return;
    }
    for (const entry of yield* list(dir)) {
      if (!part(entry.name)) continue;
      const path = join(shown, entry.name);
      if (skip(path, toDirent(entry.name, entry, dir))) continue;
      if (rest.length === 0 || (rest.length === 1 && rest[0] === "**" && entry.kind !== "dir")) add(path, entry, dir);
      else if (entry.kind === "dir" || entry.kind === "link") yield* walk(join(dir, entry.name), path, rest);
    }
  };
  for (const { absolute, parts } of compile(patterns)) yield* walk(absolute ? "/" : cwd, absolute ? "/" : "", parts);
  return found;
}
